"""What should happen in a seat, computed from the whole history of what was heard.

This is not a state machine and shares no code with one. It keeps every event with its arrival
and answers each question by looking through all of them again: slow, short, and written from
``disconnection-policy.txt``, ``reading.md``, ``rooms.md`` and ``contract.md`` alone. A room's keys
are those of its file, and read here as they stand there. Instants are integers,
in microseconds. It forgets nothing, so it is right only within the contract's bounds of memory
(16 turns and 8 sessions of a seat, 16 hands of a table).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

SECOND = 1_000_000
MILLISECOND = 1_000
STALE = 600 * SECOND


ADDA52: Mapping[str, Any] = {
    "covers_formats": ["cash"],
    "grace": [{"pot_below_big_blinds": 5, "seconds": 15}, {"seconds": 25}],
    "grace_needs": "any_chip",
    "pot_that_counts": "total",
    "buffer_seconds": 3,
    "buffer_for": "everyone",
    "free_check": "at_turn_end",
    "time_bank_while_away": "in_grace_branch",
    "min_seconds_after_return": 0,
    "max_seconds_after_return": None,
    "connected_but_silent": "check_else_fold",
}
"""What is asked for everything that a room's file leaves out."""


@dataclass(frozen=True)
class Told:
    """What somebody said, and when by his clock."""

    type: str
    stamp: int
    data: Mapping[str, Any]
    table: str = "t1"
    seat: int = 0  # 0: the whole table, or every table
    source: str = "/engine"
    id: str = ""


@dataclass(frozen=True)
class Heard:
    """The same, as the n-th thing that we took note of, and when it reached the broker."""

    n: int
    at: int
    told: Told

    @property
    def time(self) -> int:
        """Its reference time: what the sender says, but never later than the arrival."""
        return min(self.told.stamp, self.at)


@dataclass(frozen=True)
class Step:
    """One change of a seat's state, with the decision that it carries, if any."""

    at: int
    turn_id: str
    state: str
    until: int | None = None
    decision: tuple[str, str, str | None] | None = None  # action, rule, card
    connected: bool | None = None  # on a decision
    bank_used: int | None = None  # on the step that closes a turn
    heard: int | None = None  # the event that caused it; None: a deadline


@dataclass
class Model:
    """All that was heard in one shard."""

    max_clock_lag: int | None = None
    room: Mapping[str, Any] = field(default_factory=dict)
    history: list[Heard] = field(default_factory=list)

    def key(self, name: str) -> Any:
        """Return what the room says, or else adda52."""
        return self.room.get(name, ADDA52[name])

    def hear(self, told: Told, at: int) -> str | None:
        """Take note of an event, unless it is refused: then return the code.

        Applying an event twice is applying it once, whatever its id.
        """
        code = self._refusal(told, at)
        known = any(
            replace(h.told, id=told.id) == told or self._same_but_later(h.told, told)
            for h in self.history
        )
        if code is None and not known:
            self.history.append(Heard(len(self.history), at, told))
        return code

    @staticmethod
    def _same_but_later(known: Told, told: Told) -> bool:
        """Of the same end told twice by one clock, the earlier one is no news after the later."""
        ends = ("seat.vacated", "table.closed")
        older = told.type in ends and told.stamp < known.stamp
        return older and replace(known, id=told.id, stamp=told.stamp) == told

    def _refusal(self, told: Told, at: int) -> str | None:
        if told.type == "turn.started":
            if at - told.stamp > STALE:
                return "stale"
            if told.data.get("kind") != "discard" and told.data.get("stack") == 0:
                return "no-decision-to-make"
        if told.type == "card.chosen" and told.data["card"] is not None:
            for turn in self.opened(told.table, told.seat):
                mine = turn.told.data["hand_id"] == told.data["hand_id"]
                discard = turn.told.data.get("kind") == "discard"
                undecided = at <= self.begins(turn) + seconds(turn.told.data["turn_seconds"])
                if mine and discard and undecided and self.closing(turn) is None:
                    return None if told.data["card"] in turn.told.data["cards"] else "unknown-card"
        return None

    # Which turns there are, and what ends them

    def begins(self, turn: Heard) -> int:
        """The instant from which a turn's deadline counts."""
        lag = self.max_clock_lag
        return turn.time if lag is None else max(turn.time, turn.at - lag)

    def _starts(self, table: str, seat: int) -> Iterator[Heard]:
        for h in self.history:
            if h.told.type == "turn.started" and (h.told.table, h.told.seat) == (table, seat):
                yield h

    def _new_starts(self, table: str, seat: int) -> list[Heard]:
        """Return the starts that are neither overtaken, nor repeated, nor out of date."""
        found: list[Heard] = []
        for turn in self._starts(table, seat):
            overtaken = any(self._puts_off(h, turn) for h in self.history[: turn.n])
            if not overtaken and all(self._follows(turn, earlier) for earlier in found):
                found.append(turn)
        return found

    @staticmethod
    def _follows(turn: Heard, earlier: Heard) -> bool:
        """Whether this is another turn, and not one that its own clock puts before that one."""
        one, other = turn.told, earlier.told
        older = one.source == other.source and one.stamp < other.stamp
        return one.data["turn_id"] != other.data["turn_id"] and not older

    def opened(self, table: str, seat: int) -> list[Heard]:
        """Return the starts that have opened a turn."""
        starts = self._new_starts(table, seat)
        covered = self.key("covers_formats")
        return [turn for turn in starts if turn.told.data["format"] in covered]

    def closing(self, turn: Heard) -> Heard | None:
        """Return the first event that closes this turn."""
        starts = {h.n for h in self._new_starts(turn.told.table, turn.told.seat)}
        later = self.history[turn.n + 1 :]
        return next((h for h in later if h.n in starts or self._puts_off(h, turn)), None)

    @staticmethod
    def _puts_off(h: Heard, turn: Heard) -> bool:
        """Whether an event ends this turn, or has ended it before it was heard of."""
        said, begun = h.told, turn.told
        if said.type == "gateway.reset" or said.table != begun.table:
            return False
        if said.type == "turn.acted":
            return said.seat == begun.seat and said.data["turn_id"] == begun.data["turn_id"]
        if said.type == "hand.ended":
            return bool(said.data["hand_id"] == begun.data["hand_id"])
        if not Model._empties(said, begun):
            return False
        # One clock says which was first; of two, or at equal times, the order of arrival does.
        if said.source == begun.source and said.stamp != begun.stamp:
            return said.stamp > begun.stamp
        return h.n > turn.n

    @staticmethod
    def _empties(said: Told, begun: Told) -> bool:
        """Whether this player's seat, or the whole table, is forgotten."""
        here = (said.seat, said.data.get("player_id")) == (begun.seat, begun.data["player_id"])
        return said.table == begun.table and (
            said.type == "table.closed" or (said.type == "seat.vacated" and here)
        )

    def _is_old_news(self, h: Heard, turn: Heard) -> bool:
        """Whether its own clock puts an emptying before a start of this seat that came first."""
        return any(
            start.n < h.n and start.told.source == h.told.source and start.told.stamp > h.told.stamp
            for start in self._new_starts(turn.told.table, turn.told.seat)
        )

    # Presence

    def connected(self, turn: Heard, known: list[Heard], instant: int | None = None) -> bool:
        """Say whether the player on turn is connected by these words, at this instant or last."""
        words: dict[str, list[Heard]] = {}
        kills: list[tuple[Heard, str]] = []
        forgotten: dict[str, int] = {}
        resets = [h for h in known if h.told.type == "gateway.reset"]
        for h in known:
            said = h.told
            # What is forgotten after the turn end changes nothing of how it was then.
            if self._empties(said, turn.told) and (instant is None or h.at <= instant):
                is_old = self._is_old_news(h, turn)
                for name, heard in [*words.items()]:
                    gone = [w for w in heard + self._ends(heard, resets) if w.n < h.n]
                    latest = max(w.told.stamp for w in gone)
                    same_clock = heard[0].told.source == said.source
                    if latest <= said.stamp if same_clock else not is_old:
                        forgotten[name] = latest
                        del words[name]
            if not self._is_word(said, turn.told):
                continue
            name = said.data["session_id"]
            if forgotten.get(name, said.stamp - 1) >= said.stamp:
                continue
            own = words.setdefault(name, [])
            own.append(h)
            before = [w for w in own + self._ends(own, resets) if w.n < h.n]
            if said.data.get("sole") and all(self._precedes(w, h) for w in before):
                kills += [(h, other) for other in words if other != name]

        live = []
        for name, heard in words.items():
            past = [w for w in heard if instant is None or w.time <= instant]
            if past:
                ends = self._ends(past, resets)
                past += [r for r in ends if instant is None or r.time <= instant]
                last = max(past, key=lambda w: (w.told.stamp, w.told.type == "player.connected"))
                killed = any(
                    other == name and last.n < by.n and (instant is None or by.time <= instant)
                    for by, other in kills
                )
                live.append(last.told.type == "player.connected" and not killed)
        return any(live) if live else bool(turn.told.data.get("connected", True))

    @staticmethod
    def _precedes(earlier: Heard, later: Heard) -> bool:
        """Whether the one yields to the other, both of one session: by the stamps of one clock."""
        pair = [(h.told.stamp, h.told.type == "player.connected") for h in (earlier, later)]
        return pair[0] < pair[1]

    @staticmethod
    def _ends(words: list[Heard], resets: list[Heard]) -> list[Heard]:
        """Return the resets that speak of a session: its gateway's, later than its first word."""
        first = min(w.told.stamp for w in words)
        gateway = words[0].told.source
        return [r for r in resets if r.told.data["gateway"] == gateway and r.told.stamp > first]

    @staticmethod
    def _is_word(said: Told, begun: Told) -> bool:
        """Whether this is a word on the presence of the player on turn."""
        return said.type in ("player.connected", "player.disconnected") and (
            (said.table, said.seat, said.data["player_id"])
            == (begun.table, begun.seat, begun.data["player_id"])
        )

    # Cards

    def _choice(self, turn: Heard, known: list[Heard]) -> str | None:
        """Return the last choice to arrive that its own source had not taken back before."""
        card: str | None = None
        latest: dict[str, int] = {}
        for h in known:
            if not self._is_choice(h, turn) or self._is_too_late(h) or self._is_gone(h, turn):
                continue
            if latest.get(h.told.source, h.told.stamp) > h.told.stamp:
                continue
            latest[h.told.source] = h.told.stamp
            card = h.told.data["chosen" if h.n == turn.n else "card"]
        return card

    @staticmethod
    def _is_choice(h: Heard, turn: Heard) -> bool:
        """Whether this is a choice for this discard, or taking one back."""
        said, begun = h.told, turn.told
        if h.n == turn.n:
            return said.data.get("chosen") is not None
        return (
            said.type == "card.chosen"
            and (said.table, said.seat) == (begun.table, begun.seat)
            and said.data["hand_id"] == begun.data["hand_id"]
            and said.data["card"] in (None, *begun.data["cards"])
        )

    def _is_gone(self, choice: Heard, turn: Heard) -> bool:
        """Whether whoever made this choice had left before the turn, be it told early or late."""
        here = (turn.told.table, turn.told.seat)
        return choice.n < turn.n and any(
            h.time >= choice.time
            and (
                (h.told.type == "seat.vacated" and (h.told.table, h.told.seat) == here)
                or (h.told.type == "table.closed" and h.told.table == here[0])
            )
            and not self._is_old_news(h, turn)
            for h in self.history[: turn.n]
        )

    def _is_too_late(self, choice: Heard) -> bool:
        """Whether it arrived when a discard of that hand was decided and not yet closed."""
        said = choice.told
        if said.type != "card.chosen":
            return False
        for turn in self.opened(said.table, said.seat):
            end, data = self.closing(turn), turn.told.data
            its = data.get("kind") == "discard" and data["hand_id"] == said.data["hand_id"]
            stands = turn.n < choice.n and (end is None or end.n > choice.n)
            if self._is_left(turn):
                continue
            if its and stands and choice.at > self.begins(turn) + seconds(data["turn_seconds"]):
                return True
        return False

    def _is_left(self, discard: Heard) -> bool:
        """Whether a discard whose player was connected at its end is the engine's."""
        if self.key("connected_but_silent") != "engine":
            return False
        end = self.begins(discard) + seconds(discard.told.data["turn_seconds"])
        known = [h for h in self.history if h.n <= discard.n or h.at <= end]
        return self.connected(discard, known, end)

    # A turn's life

    def steps(self, table: str, seat: int, fired: int) -> list[Step]:
        """Return every change of this seat, deadlines strictly before ``fired`` included."""
        found: list[Step] = []
        for turn in self.opened(table, seat):
            end = self.closing(turn)
            mine = [h for h in self.history if end is None or h.n < end.n]
            limit = fired if end is None else min(end.at, fired)
            life = [s for s in self._life(turn, mine) if s.heard is not None or s.at < limit]
            is_left = life[-1].state == "idle"
            if life[-1].decision or is_left:
                at = life[-1].at
                known = [h for h in mine if h.n <= turn.n or h.at <= at]
                connected, used = self.connected(turn, known), self._bank_used(life, at)
                said = None if is_left else connected
                life[-1] = replace(life[-1], connected=said, bank_used=used)
            found += life
            if end is not None and not is_left:
                decided = any(s.decision for s in life)
                left = None if decided else self._bank_used(life, end.at)
                name = turn.told.data["turn_id"]
                found.append(Step(end.at, name, "idle", bank_used=left, heard=end.n))
        return found

    @staticmethod
    def _bank_used(life: list[Step], until: int) -> int:
        """Return how much of the time bank had run by then, in whole milliseconds."""
        for s in life:
            if s.state == "time_bank" and s.until is not None:
                return (min(s.until, until) - s.at) // MILLISECOND * MILLISECOND
        return 0

    def _life(self, turn: Heard, mine: list[Heard]) -> Iterator[Step]:
        d = turn.told.data
        name = d["turn_id"]

        def known(instant: int) -> list[Heard]:
            return [h for h in mine if h.n <= turn.n or h.at <= instant]

        end = self.begins(turn) + seconds(d["turn_seconds"])
        if d.get("kind") == "discard":
            yield Step(turn.at, name, "discarding", end, heard=turn.n)
            if self._is_left(turn):
                yield Step(end, name, "idle")
                return
            card = self._choice(turn, known(end))
            rule = "rightmost-card" if card is None else "chosen-card"
            thrown = d["cards"][-1] if card is None else card
            yield Step(end, name, "auto_action", None, ("discard", rule, thrown))
            return

        yield Step(turn.at, name, "acting", end, heard=turn.n)
        facing = money(d["to_call"]) > 0
        away = not self.connected(turn, known(end), end)
        bank = seconds(d.get("time_bank_seconds", 0))
        if bank and (not away or self._bank_runs_while_away(d)):
            yield Step(end, name, "time_bank", end + bank)
            end += bank
            away = not self.connected(turn, known(end), end)
        follows = self._grace_follows(d)
        waits = seconds(self.key("buffer_seconds")) > 0 and self.key("buffer_for") == "everyone"
        if follows and (away or waits):
            yield from self._after(turn, mine, end)
        elif not away:
            yield self._silent(turn, end, left=True)
        elif not facing:
            takes = self.key("free_check") != "never"
            what = ("check", "check-available") if takes else ("fold", "no-free-check")
            yield Step(end, name, "auto_action", None, (*what, None))
        else:
            rule = "nothing-in-pot" if self.key("grace") else "no-grace"
            yield Step(end, name, "auto_action", None, ("fold", rule, None))

    # What the room says of a turn

    def _mine(self, d: Mapping[str, Any]) -> Fraction:
        """Return his money in the pot, as the room counts it."""
        if self.key("grace_needs") == "voluntary_chip" and "contributed_voluntarily" in d:
            return money(d["contributed_voluntarily"])
        return money(d["contributed"])

    def _grace_follows(self, d: Mapping[str, Any]) -> bool:
        """Whether the room gives its extra time to one who is away at the turn end."""
        if not self.key("grace"):
            return False
        if self.key("grace_needs") != "nothing" and not self._mine(d):
            return False
        return money(d["to_call"]) > 0 or self.key("free_check") != "at_turn_end"

    def _bank_runs_while_away(self, d: Mapping[str, Any]) -> bool:
        match self.key("time_bank_while_away"):
            case "always":
                return True
            case "in_grace_branch":
                return self._grace_follows(d)
            case "with_money_in_pot":
                return self._mine(d) > 0
        return False

    def _grace(self, d: Mapping[str, Any]) -> int:
        """Return the extra time: that of the first step into which the pot fits."""
        pots = [money(p) for p in d["pots"]]
        pot = sum(pots, Fraction(0)) if self.key("pot_that_counts") == "total" else pots[0]
        size = pot / money(d["big_blind"])
        for step in self.key("grace"):
            below, most = step.get("pot_below_big_blinds"), step.get("pot_at_most_big_blinds")
            if (below is None or size < below) and (most is None or size <= most):
                if "seconds" in step:
                    return seconds(step["seconds"])
                return round(seconds(d["turn_seconds"]) * Fraction(str(step["turn_time_factor"])))
        raise AssertionError

    def _after_return(self, at: int, last: int) -> int:
        """Return until when he may act who is back for the first time."""
        least, most = self.key("min_seconds_after_return"), self.key("max_seconds_after_return")
        last = max(last, at + seconds(least)) if least else last
        return last if most is None else min(last, at + seconds(most))

    def _silent(self, turn: Heard, at: int, *, left: bool) -> Step:
        """Return what becomes of one who is connected; `left`: it may be the engine's affair."""
        d = turn.told.data
        if left and self.key("connected_but_silent") == "engine":
            return Step(at, d["turn_id"], "idle")
        what = "fold" if money(d["to_call"]) else "check"
        return Step(at, d["turn_id"], "auto_action", None, (what, "turn-timeout", None))

    def _after(self, turn: Heard, mine: list[Heard], end: int) -> Iterator[Step]:
        """The buffer and, if he was away at the turn end, the grace."""
        name = turn.told.data["turn_id"]
        settled = end + seconds(self.key("buffer_seconds"))
        last = settled + self._grace(turn.told.data)
        before = [h for h in mine if h.n <= turn.n or h.at <= end]

        has_buffer, has_returned = settled > end, False
        state = "buffer" if has_buffer else "disconnection_grace"
        yield Step(end, name, state, settled if has_buffer else last)
        for h in (*([None] if has_buffer else []), *mine[len(before) :]):
            at = end if h is None else h.at
            if state == "buffer" and at > settled:
                yield (step := self._settled(turn, mine, end, settled, last))
                state = step.state
            if state in ("auto_action", "idle") or (state != "buffer" and at > last):
                break
            words = before if h is None else mine[: mine.index(h) + 1]
            new = "buffer" if state == "buffer" else "disconnection_grace"
            new = "returned" if self.connected(turn, words) else new
            if at <= settled and self.connected(turn, words, end):
                new = "buffer"
            if new != state:
                state = new
                if state == "returned" and not has_returned:
                    last, has_returned = self._after_return(at, last), True
                until = settled if state == "buffer" else last
                yield Step(at, name, state, until, heard=None if h is None else h.n)
        if state == "buffer":
            yield (step := self._settled(turn, mine, end, settled, last))
            state = step.state
        if state not in ("auto_action", "idle"):
            yield self._over(turn, state, last)

    def _settled(self, turn: Heard, mine: list[Heard], end: int, settled: int, last: int) -> Step:
        """Return what the end of the buffer comes to."""
        known = [h for h in mine if h.n <= turn.n or h.at <= settled]
        if self.connected(turn, known, end):
            return self._silent(turn, settled, left=True)
        return Step(settled, turn.told.data["turn_id"], "disconnection_grace", last)

    def _over(self, turn: Heard, state: str, last: int) -> Step:
        """Return what the end of the grace comes to."""
        if state == "returned":
            return self._silent(turn, last, left=False)
        what = ("check", "check-after-grace")
        if money(turn.told.data["to_call"]):
            what = ("fold", "grace-expired")
        elif self.key("free_check") == "never":
            what = ("fold", "no-free-check")
        return Step(last, turn.told.data["turn_id"], "auto_action", None, (*what, None))


def seconds(value: float) -> int:
    """Return seconds as microseconds."""
    return round(Fraction(str(value)) * SECOND)


def money(value: int | str) -> Fraction:
    """Return an amount, exactly."""
    return Fraction(value)
