"""What should happen in a seat, computed from the whole history of what was heard.

This is not a state machine and shares no code with one. It keeps every event with its arrival
and answers each question by looking through all of them again: slow, short, and written from
``disconnection-policy.txt``, ``reading.md`` and ``contract.md`` alone. Instants are integers,
in microseconds. It forgets nothing, so it is right only within the contract's bounds of memory
(16 turns and 8 sessions of a seat, 16 hands of a table).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

SECOND = 1_000_000
MILLISECOND = 1_000
BUFFER = 3 * SECOND
AS_BUILT = {"overtaken starts do not count"}
STALE = 600 * SECOND


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
    bank_used: int | None = None  # on the step that closes a turn
    heard: int | None = None  # the event that caused it; None: a deadline


@dataclass
class Model:
    """All that was heard in one shard."""

    max_clock_lag: int | None = None
    history: list[Heard] = field(default_factory=list)

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
        """Of the same emptying told twice by one clock, the earlier one is no news."""
        of_old = told.type in ("seat.vacated", "table.closed") and told.stamp < known.stamp
        return of_old and replace(known, id=told.id, stamp=told.stamp) == told

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

    def _is_new(self, turn: Heard) -> bool:
        """Not overtaken, no repetition, not older than an earlier start from the same source."""
        if any(self._puts_off(h, turn) for h in self.history[: turn.n]):
            return False
        earlier = [h for h in self._starts(turn.told.table, turn.told.seat) if h.n < turn.n]
        earlier = [h for h in earlier if self._counts(h)]
        return all(
            h.told.data["turn_id"] != turn.told.data["turn_id"]
            and not (h.told.source == turn.told.source and h.told.stamp > turn.told.stamp)
            for h in earlier
        )

    def _counts(self, start: Heard) -> bool:
        return not any(self._puts_off(h, start) for h in self.history[: start.n])

    def opened(self, table: str, seat: int) -> Iterator[Heard]:
        """Yield the starts that have opened a turn."""
        for turn in self._starts(table, seat):
            if self._is_new(turn) and turn.told.data["format"] == "cash":
                yield turn

    def closing(self, turn: Heard) -> Heard | None:
        """Return the first event that closes this turn."""
        here = (turn.told.table, turn.told.seat)
        for h in self.history[turn.n + 1 :]:
            another = h.told.type == "turn.started" and (h.told.table, h.told.seat) == here
            if self._puts_off(h, turn) or (another and self._is_new(h)):
                return h
        return None

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
            start.n < h.n
            and start.told.source == h.told.source
            and start.told.stamp > h.told.stamp
            and self._counts(start)
            for start in self._starts(turn.told.table, turn.told.seat)
        )

    # Presence

    def connected(self, turn: Heard, known: list[Heard], instant: int | None = None) -> bool:
        """Say whether the player on turn is connected by these words, at this instant or last."""
        t = turn.told
        player, sessions = t.data["player_id"], dict[str, list[tuple[int, bool, int]]]()
        sources: dict[str, str] = {}
        kills: list[tuple[int, int, str]] = []
        forgotten: dict[str, int] = {}
        resets: list[tuple[str, int]] = []
        for h in known:
            w = h.told
            if w.type == "gateway.reset":
                resets.append((w.data["gateway"], h.time))
            if w.table != t.table or w.data.get("player_id", player) != player:
                continue
            if self._empties(w, t) and not self._is_old_news(h, turn):
                for name, words in sessions.items():
                    forgotten[name] = max(time for time, _, _ in words)
                sessions.clear()
            if w.seat != t.seat or w.type not in ("player.connected", "player.disconnected"):
                continue
            name, live = w.data["session_id"], w.type == "player.connected"
            if forgotten.get(name, -1) >= h.time:
                continue
            newest = all(time <= h.time for time, _, _ in sessions.get(name, []))
            if live and newest and w.data.get("sole"):
                kills += [(h.n, h.time, other) for other in sessions if other != name]
            sessions.setdefault(name, []).append((h.time, live, h.n))
            sources[name] = w.source
        states = []
        for name, words in sessions.items():
            first = min(time for time, _, _ in words)
            lost = [(at, False, -1) for g, at in resets if g == sources[name] and at > first]
            past = [w for w in words + lost if instant is None or w[0] <= instant]
            if past:
                _, live, n = max(past)
                killed = any(
                    other == name and n < by and (instant is None or at <= instant)
                    for by, at, other in kills
                )
                states.append(live and not killed)
        return any(states) if states else bool(t.data.get("connected", True))

    # Cards

    def _choice(self, turn: Heard, known: list[Heard]) -> str | None:
        """Return the choice of the latest stamp; of another source, the later arrival."""
        best: tuple[str, int] | None = None
        card: str | None = None
        t = turn.told
        for h in known:
            made: str | None
            if h.n < turn.n and self._empties(h.told, t) and not self._is_old_news(h, turn):
                best, card = None, None
            if h.n == turn.n and t.data.get("chosen") is not None:
                made = t.data["chosen"]
            elif (
                h.told.type == "card.chosen"
                and (h.told.table, h.told.seat) == (t.table, t.seat)
                and h.told.data["hand_id"] == t.data["hand_id"]
            ):
                made = h.told.data["card"]
            else:
                continue
            if made is not None and made not in t.data["cards"]:
                continue
            if best is None or best[0] != h.told.source or best[1] <= h.time:
                best, card = (h.told.source, h.time), made
        return card

    # A turn's life

    def steps(self, table: str, seat: int, fired: int) -> list[Step]:
        """Return every change of this seat, deadlines strictly before ``fired`` included."""
        found: list[Step] = []
        for turn in self.opened(table, seat):
            end = self.closing(turn)
            mine = [h for h in self.history if end is None or h.n < end.n]
            limit = fired if end is None else min(end.at, fired)
            life = [s for s in self._life(turn, mine) if s.heard is not None or s.at < limit]
            if life[-1].decision:
                life[-1] = replace(life[-1], bank_used=self._bank_used(life, life[-1].at))
            found += life
            if end is not None:
                decided = any(s.decision for s in life)
                used = None if decided else self._bank_used(life, end.at)
                name = turn.told.data["turn_id"]
                found.append(Step(end.at, name, "idle", bank_used=used, heard=end.n))
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
            card = self._choice(turn, known(end))
            rule = "rightmost-card" if card is None else "chosen-card"
            thrown = d["cards"][-1] if card is None else card
            yield Step(end, name, "auto_action", None, ("discard", rule, thrown))
            return

        yield Step(turn.at, name, "acting", end, heard=turn.n)
        facing, invested = money(d["to_call"]) > 0, money(d["contributed"]) > 0
        away = not self.connected(turn, known(end), end)
        bank = seconds(d.get("time_bank_seconds", 0))
        if bank and (not away or (facing and invested)):
            yield Step(end, name, "time_bank", end + bank)
            end += bank
            away = not self.connected(turn, known(end), end)
        if not facing:
            rule = "check-available" if away else "turn-timeout"
            yield Step(end, name, "auto_action", None, ("check", rule, None))
        elif not invested:
            rule = "nothing-in-pot" if away else "turn-timeout"
            yield Step(end, name, "auto_action", None, ("fold", rule, None))
        else:
            yield from self._after(turn, mine, end)

    def _after(self, turn: Heard, mine: list[Heard], end: int) -> Iterator[Step]:
        """Facing a bet with money in the pot: the buffer and, if he was away, the grace."""
        name = turn.told.data["turn_id"]
        pot = sum((money(p) for p in turn.told.data["pots"]), Fraction(0))
        grace = 15 if pot < 5 * money(turn.told.data["big_blind"]) else 25
        settled, last = end + BUFFER, end + BUFFER + grace * SECOND
        yield Step(end, name, "buffer", settled)
        at_end = [h for h in mine if h.n <= turn.n or h.at <= end]
        state = "buffer"
        for count in range(len(at_end), len(mine) + 1):
            words = mine[:count]
            now = words[-1].at if count > len(at_end) else end
            if now > last:
                break
            if state == "buffer" and now > settled:
                # The buffer ended before this word: what counts is what was known until then.
                if self.connected(turn, mine[: count - 1], end):
                    break
                state = "disconnection_grace"
                yield Step(settled, name, state, last)
            back = self.connected(turn, words)
            if state == "buffer" and (self.connected(turn, words, end) or not back):
                continue
            new = "returned" if back else "disconnection_grace"
            if new != state:
                state = new
                cause = words[-1].n if count > len(at_end) else None
                yield Step(now, name, state, last, heard=cause)
        known = [h for h in mine if h.n <= turn.n or h.at <= settled]
        if state == "buffer" and self.connected(turn, known, end):
            yield Step(settled, name, "auto_action", None, ("fold", "turn-timeout", None))
            return
        if state == "buffer":
            yield Step(settled, name, "disconnection_grace", last)
        known = [h for h in mine if h.n <= turn.n or h.at <= last]
        rule = "turn-timeout" if self.connected(turn, known) else "grace-expired"
        yield Step(last, name, "auto_action", None, ("fold", rule, None))


def seconds(value: float) -> int:
    """Return seconds as microseconds."""
    return round(Fraction(str(value)) * SECOND)


def money(value: int | str) -> Fraction:
    """Return an amount, exactly."""
    return Fraction(value)
