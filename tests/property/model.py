"""What should happen in a seat, computed from the whole history of what was heard.

This is not a state machine and shares no code with one. It keeps every event with its arrival
and answers each question by looking through all of them again: slow, short, and written from
``disconnection-policy.txt``, ``reading.md``, ``rooms.md`` and ``contract.md`` alone. A room's keys
are those of its file, and read here as they stand there. Instants are integers,
in microseconds. It forgets nothing, so it is right only within the contract's bounds of memory
(16 turns and 8 sessions of a seat, 16 hands of a table).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

SECOND = 1_000_000
MILLISECOND = 1_000
STALE = 600 * SECOND


ADDA52: Mapping[str, Any] = {
    "covers_formats": ["cash"],
    "covers_bring_ins": False,
    "covers_draws": False,
    "grace": [{"pot_below_big_blinds": 5, "seconds": 15}, {"seconds": 25}],
    "grace_needs": "any_chip",
    "pot_that_counts": "total",
    "grace_counts_from": "turn_end",
    "grace_uses_per_turn": None,
    "grace_uses_per_hand": None,
    "budget": None,
    "all_in_protection": None,
    "buffer_seconds": 3,
    "buffer_for": "everyone",
    "free_check": "at_turn_end",
    "time_bank_while_away": "in_grace_branch",
    "min_seconds_after_return": 0,
    "max_seconds_after_return": None,
    "away_before_turn": "same",
    "away_status": "not_offered",
    "connected_but_silent": "check_else_fold",
    "advice": [],
}
"""What is asked for everything that a room's file leaves out."""


PLAIN = {"bring_in": ("post", "bring-in-posted"), "draw": ("stand_pat", "stood-pat")}
ENDS = ("seat.vacated", "table.closed")


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
class Session:
    """What is known of a session: if it is live, and when and why it was lost."""

    is_live: bool
    since: int
    reason: str | None


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
    advice: tuple[tuple[str, int, int], ...] = ()  # on a decision: what, after how many of them
    heard: int | None = None  # the event that caused it; None: a deadline


@dataclass(frozen=True)
class Entry:
    """One thing that a turn leaves in the account of its player."""

    order: tuple[int, int]  # after which event, and how soon after it
    what: str  # "time", "all in", "decided", "acted"
    player: str
    hand: str
    cost: int = 0
    end: int = 0  # until when the time was, or when the protection was used


@dataclass
class Account:
    """What is counted of a player at a table: sums of all that has happened until an instant."""

    spent: int = 0
    hands: int = 0  # that have ended since the budget was full, or refilled
    charged_to: int = 0
    in_hand: Counter[str] = field(default_factory=Counter)
    turns_in_hand: Counter[str] = field(default_factory=Counter)
    protected: list[int] = field(default_factory=list)
    decided: list[str] = field(default_factory=list)  # the hands of the decisions
    advised: set[int] = field(default_factory=set)


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
            if "to_call" in told.data and told.data.get("stack") == 0:
                return "no-decision-to-make"
        if told.type == "card.chosen" and told.data["card"] is not None:
            for turn in self.opened(told.table, told.seat):
                mine = turn.told.data["hand_id"] == told.data["hand_id"]
                discard = turn.told.data.get("kind") == "discard"
                undecided = at <= self._discard_end(turn)
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
        return [turn for turn in starts if self._is_covered(turn.told.data)]

    def _is_covered(self, d: Mapping[str, Any]) -> bool:
        kinds = {"bring_in": "covers_bring_ins", "draw": "covers_draws"}
        kind = kinds.get(d.get("kind", "betting"))
        return d["format"] in self.key("covers_formats") and (kind is None or self.key(kind))

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
        if said.type in ("turn.acted", "turn.cancelled"):
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

    def sessions(
        self, turn: Heard, known: list[Heard], instant: int | None = None
    ) -> list[Session]:
        """Return the sessions of the player on turn by these words, at this instant or last."""
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

        found = []
        for name, heard in words.items():
            past = [w for w in heard if instant is None or w.time <= instant]
            if not past:
                continue
            word = max(past, key=self._order)
            ends = [
                r
                for r in self._ends(past, resets)
                if r.told.stamp > word.told.stamp and (instant is None or r.time <= instant)
            ]
            was_live = word.told.type == "player.connected"
            last = max([word, *ends], key=self._order)
            killed = any(
                other == name and last.n < by.n and (instant is None or by.time <= instant)
                for by, other in kills
            )
            # By a reset it was lost when the first one of them came, or had come before the word.
            first = min(ends, key=lambda r: max(r.n, word.n) * 10**20 + r.told.stamp, default=word)
            since = first.time if was_live else word.time
            reason = None if was_live else word.told.data.get("reason")
            found.append(Session(was_live and not ends and not killed, since, reason))
        return found

    def connected(self, turn: Heard, known: list[Heard], instant: int | None = None) -> bool:
        """Say whether the player on turn is connected by these words, at this instant or last."""
        found = self.sessions(turn, known, instant)
        if found:
            return any(session.is_live for session in found)
        return bool(turn.told.data.get("connected", True))

    @staticmethod
    def _order(h: Heard) -> tuple[int, bool]:
        return h.told.stamp, h.told.type == "player.connected"

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
            if its and stands and choice.at > self._discard_end(turn):
                return True
        return False

    def _discard_end(self, turn: Heard) -> float:
        """Return when the time of a discard is over; for ever, if its clock stands still."""
        course = self._course(turn, self.closing(turn))
        while (h := course.next()) is not None:
            for _ in course.take(h):
                pass
        over = course.until()
        return float("inf") if over is None else over

    def _is_left(self, discard: Heard) -> bool:
        """Whether a discard whose player was connected at its end is the engine's."""
        if self.key("connected_but_silent") != "engine":
            return False
        end = self._discard_end(discard)
        if end == float("inf"):
            return False
        known = [h for h in self.history if h.n <= discard.n or h.at <= end]
        return self.connected(discard, known, int(end))

    # A turn's life

    def steps(self, table: str, seat: int, fired: int) -> list[Step]:
        """Return every change of this seat, deadlines strictly before ``fired`` included."""
        found: list[Step] = []
        ledger: list[Entry] = []
        for turn in self.opened(table, seat):
            end = self.closing(turn)
            course = self._course(turn, end)
            course.limit = fired if end is None else min(end.at, fired)
            found += self._life(course, ledger)
            if end is None or course.state == "idle":
                continue
            left = None if course.state == "auto_action" else course.bank_used(end.at)
            if end.told.type == "turn.acted" and end.told.data.get("by", "player") == "player":
                ledger.append(Entry((end.n, 1), "acted", course.player, course.hand))
            if left is not None:
                ledger.extend(course.charge((end.n, 1), end.at))
            found.append(Step(end.at, course.name, "idle", bank_used=left, heard=end.n))
        return found

    def _course(self, turn: Heard, closed: Heard | None) -> Course:
        """Return the course of a turn, of which nothing has run yet."""
        mine = [h for h in self.history if closed is None or h.n < closed.n]
        d = turn.told.data
        begins, known = self.begins(turn), mine[: turn.n + 1]
        state = "discarding" if d.get("kind") == "discard" else "acting"
        longer = sum(seconds(h.told.data["seconds"]) for h in known if self.extends(h, turn))
        course = Course(self, turn, mine, mine[turn.n + 1 :], state)
        course.end = begins + seconds(d["turn_seconds"]) + longer
        course.bank = seconds(d.get("time_bank_seconds", 0))
        paused = self.paused(turn, known)
        course.standing = None if paused is None else max(paused, begins)
        course.answer = begins if self.says_he_is_away(turn, known) else None
        return course

    def _life(self, c: Course, ledger: list[Entry]) -> Iterator[Step]:
        d = c.turn.told.data
        kind = d.get("kind", "betting")
        yield c.step(c.turn.at, c.turn)
        if (at := (yield from self._waited(c, ledger))) is None:
            return
        if kind == "discard":
            yield self._left(c, at) if self._is_left(c.turn) else self._thrown(c, at, ledger)
            return
        away = not self.connected(c.turn, c.known(at), at)
        if c.bank and (not away or self._bank_runs_while_away(d)):
            c.state, c.banked, c.end = "time_bank", c.end, c.end + c.bank
            yield c.step(at)
            if (at := (yield from self._waited(c, ledger))) is None:
                return
            away = not self.connected(c.turn, c.known(at), at)
        if kind != "betting":
            is_left = not away and self.key("connected_but_silent") == "engine"
            yield self._left(c, at) if is_left else self._decided(c, at, ledger, *PLAIN[kind])
            return
        follows = self._grace_follows(d)
        waits = seconds(self.key("buffer_seconds")) > 0 and self.key("buffer_for") == "everyone"
        if not away and not (follows and waits):
            yield self._silent(c, at, ledger, left=True)
        elif away and not (follows and not self._was_away_before(c, at)):
            yield self._decided(c, at, ledger, *self._at_once(c, at, ledger))
        elif away and self._is_used_up(c, at, ledger):
            yield self._over(c, at, ledger, "grace-used-up")
        else:
            yield from self._after(c, at, ledger)

    def _waited(self, c: Course, ledger: list[Entry]) -> Generator[Step, None, int | None]:
        """Run to the end of a state; return when it is over, None if something else ended it."""
        while (h := c.next()) is not None:
            yield from c.take(h)
        at = c.until()
        if at is None or at >= c.limit:
            return None
        if c.answer is None:
            return at
        yield self._answered(c, at, ledger)
        return None

    def _answered(self, c: Course, at: int, ledger: list[Entry]) -> Step:
        """Return what is done for one who says that he is away."""
        d = c.turn.told.data
        kind = d.get("kind", "betting")
        if kind == "discard":
            return self._thrown(c, at, ledger)
        if kind != "betting":
            return self._decided(c, at, ledger, *PLAIN[kind])
        checks = not money(d["to_call"]) and self.key("away_status") == "check_else_fold"
        return self._decided(c, at, ledger, "check" if checks else "fold", "away-status")

    def _thrown(self, c: Course, at: int, ledger: list[Entry]) -> Step:
        card = self._choice(c.turn, c.known(at))
        rule = "rightmost-card" if card is None else "chosen-card"
        thrown = c.turn.told.data["cards"][-1] if card is None else card
        return self._decided(c, at, ledger, "discard", rule, thrown)

    def _left(self, c: Course, at: int) -> Step:
        """Nothing is decided: the turn is the engine's."""
        used, c.state = c.bank_used(at), "idle"
        return Step(at, c.name, "idle", bank_used=used)

    def _decided(
        self, c: Course, at: int, ledger: list[Entry], what: str, rule: str,
        card: str | None = None,
    ) -> Step:  # fmt: skip
        """Return a decision, and enter in the account what goes with it."""
        known = c.known(at)
        order = (known[-1].n, 3)
        connected, used = self.connected(c.turn, known), c.bank_used(at)
        c.state = "auto_action"
        ledger += c.charge(order, at)
        if what == "all_in":
            ledger.append(Entry(order, "all in", c.player, c.hand, end=at))
        advice: tuple[tuple[str, int, int], ...] = ()
        if not connected or rule == "away-status":
            account = self._account(c, order[0], ledger)
            advice = tuple(self._advise(account, c.hand))
            ledger.append(Entry(order, "decided", c.player, c.hand))
        return Step(at, c.name, "auto_action", None, (what, rule, card), connected, used, advice)

    # The clock of a turn, and what the player says of himself

    @staticmethod
    def extends(h: Heard, turn: Heard) -> bool:
        said, begun = h.told, turn.told
        return (
            said.type == "turn.extended"
            and (said.table, said.seat) == (begun.table, begun.seat)
            and said.data["turn_id"] == begun.data["turn_id"]
        )

    @staticmethod
    def paused(turn: Heard, known: list[Heard]) -> int | None:
        """Return since when the table is paused by these words; None if it is not."""
        latest: dict[str, tuple[int, bool]] = {}
        paused: int | None = None
        for h in known:
            said = h.told
            if said.table != turn.told.table:
                continue
            if said.type == "table.closed":
                paused = None
            elif said.type in ("table.paused", "table.resumed"):
                word = (said.stamp, said.type == "table.resumed")
                if word > latest.get(said.source, (word[0] - 1, False)):
                    latest[said.source] = word
                    paused = None if word[1] else h.time
        return paused

    def says_he_is_away(self, turn: Heard, known: list[Heard]) -> bool:
        """Whether by the latest of these words, his own actions among them, he is away."""
        if self.key("away_status") == "not_offered":
            return False
        begun = turn.told
        said: dict[str, tuple[int, bool]] = {}  # by source: stamp, and if he is back
        is_away = False
        for h in known:
            if self._empties(h.told, begun) and not self._is_old_news(h, turn):
                said, is_away = {source: (word[0], True) for source, word in said.items()}, False
            if h.told.type == "turn.acted" and (
                self._is_his_own(h, begun) or (is_away and self._is_his_elsewhere(h, begun))
            ):
                word = (h.told.stamp, True)
            elif (
                h.told.type in ("player.away", "player.back")
                and (h.told.table, h.told.seat) == (begun.table, begun.seat)
                and h.told.data["player_id"] == begun.data["player_id"]
            ):
                word = (h.told.stamp, h.told.type == "player.back")
            else:
                continue
            if h.told.source not in said or word > said[h.told.source]:
                said[h.told.source], is_away = word, not word[1]
        return is_away

    def _is_his_elsewhere(self, acted: Heard, begun: Told) -> bool:
        """Whether this is an action in no open turn, and he was the last to begin one."""
        return (
            acted.told.data.get("by", "player") == "player"
            and (acted.told.table, acted.told.seat) == (begun.table, begun.seat)
            and not any(
                self._puts_off(acted, turn) and self.closing(turn) is acted
                for turn in self.opened(begun.table, begun.seat)
                if turn.n < acted.n
            )
            and self._whose(acted, begun) == begun.data["player_id"]
        )

    def _whose(self, acted: Heard, begun: Told) -> str | None:
        """Return who was heard of last in a seat: by a start, or else by what he said."""
        before = self.history[: acted.n]
        here = [h for h in before if (h.told.table, h.told.seat) == (begun.table, begun.seat)]
        starts = [h for h in self._new_starts(begun.table, begun.seat) if h.n < acted.n]
        said = [h for h in here if h.told.type in ("player.away", "player.back")]
        last = (starts or said)[-1:]
        return str(last[0].told.data["player_id"]) if last else None

    def _is_his_own(self, acted: Heard, begun: Told) -> bool:
        """Whether this is an action of the same player's, which has closed a turn of his here."""
        return acted.told.data.get("by", "player") == "player" and any(
            turn.told.data["player_id"] == begun.data["player_id"]
            and turn.n < acted.n
            and self._puts_off(acted, turn)
            and (end := self.closing(turn)) is not None
            and end.n == acted.n
            for turn in self.opened(begun.table, begun.seat)
        )

    # What is counted over his turns

    def _account(  # noqa: C901 - one branch for each thing that is counted
        self, c: Course, n: int, ledger: list[Entry]
    ) -> Account:
        """Return the account of the player on turn after the n-th event."""
        order: list[tuple[tuple[int, int], Heard | Entry]] = [
            ((h.n, 2 if h.told.type in ENDS else 0), h)
            for h in self.history[: n + 1]
            if h.told.table == c.turn.told.table
        ]
        order += [(entry.order, entry) for entry in ledger if entry.player == c.player]
        account, over, resets = Account(), set[str](), dict[tuple[str | None, str], int]()
        for _, thing in sorted(order, key=lambda pair: pair[0]):
            if isinstance(thing, Entry):
                self._enter(account, thing)
                continue
            d = thing.told.data
            if thing.told.type == "hand.ended" and d["hand_id"] not in over:
                over.add(d["hand_id"])
                if c.player in d.get("players", [c.player]):
                    self._hand_over(account)
            elif thing.told.type == "protection.reset":
                whose = (d.get("player_id"), thing.told.source)
                if resets.get(whose, thing.told.stamp - 1) < thing.told.stamp:
                    resets[whose] = thing.told.stamp
                    if whose[0] in (None, c.player):
                        account.protected = [at for at in account.protected if at >= thing.time]
            elif thing.told.type == "table.closed":
                account = Account()
            elif self._empties(thing.told, c.turn.told) and not self._is_old_news(thing, c.turn):
                account.decided, account.advised = [], set()
                if (self.key("budget") or {}).get("per") == "session":
                    account.spent = account.hands = 0
        return account

    def _enter(self, account: Account, entry: Entry) -> None:
        match entry.what:
            case "time":
                account.turns_in_hand[entry.hand] += 1
                if (budget := self.key("budget")) is not None:
                    cost = min(entry.cost, self._budget_left(account, entry.hand))
                    if budget["per"] == "hand":
                        account.in_hand[entry.hand] += cost
                    else:
                        account.spent += cost
                    account.charged_to = max(account.charged_to, entry.end)
            case "all in":
                account.protected.append(entry.end)
            case "decided":
                self._advise(account, entry.hand)
            case "acted":
                account.decided, account.advised = [], set()

    def _budget_left(self, account: Account, hand: str) -> int:
        budget = self.key("budget")
        spent = account.in_hand[hand] if budget["per"] == "hand" else account.spent
        return max(0, seconds(budget["seconds"]) - spent)

    def _hand_over(self, account: Account) -> None:
        budget = self.key("budget")
        if budget is None or not budget.get("refill_every_hands") or not account.spent:
            return
        account.hands += 1
        if account.hands == budget["refill_every_hands"]:
            more = budget.get("refill_seconds") or budget["seconds"]
            account.spent, account.hands = max(0, account.spent - seconds(more)), 0

    def _advise(self, account: Account, hand: str) -> list[tuple[str, int, int]]:
        """Count a decision, and return the advice that is due with it."""
        account.decided.append(hand)
        decisions, hands = len(account.decided), len({*account.decided})
        given = []
        for number, one in enumerate(self.key("advice")):
            after = one.get("after_decisions")
            reached = hands >= one["after_hands"] if after is None else decisions >= after
            if reached and number not in account.advised:
                account.advised.add(number)
                given.append((one["advise"], decisions, hands))
        return given

    # What the room says of a turn

    def _mine(self, d: Mapping[str, Any]) -> Fraction:
        """Return his money in the pot, as the room counts it."""
        if self.key("grace_needs") == "voluntary_chip" and "contributed_voluntarily" in d:
            return money(d["contributed_voluntarily"])
        return money(d.get("contributed", 0))

    def _grace_follows(self, d: Mapping[str, Any]) -> bool:
        """Whether the room gives its extra time to one who is away at the turn end."""
        if not self.key("grace") or d.get("kind", "betting") != "betting":
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

    def _silent(self, c: Course, at: int, ledger: list[Entry], *, left: bool) -> Step:
        """Return what becomes of one who is connected; `left`: it may be the engine's affair."""
        if left and self.key("connected_but_silent") == "engine":
            return self._left(c, at)
        what = "fold" if money(c.turn.told.data["to_call"]) else "check"
        return self._decided(c, at, ledger, what, "turn-timeout")

    def _after(  # noqa: C901, PLR0912 - his comings and goings, from the turn end to the decision
        self, c: Course, at: int, ledger: list[Entry]
    ) -> Iterator[Step]:
        """The buffer and, if he was away at the turn end, the grace."""
        turn_end, has_returned, times_away = at, False, 0
        c.settled = c.end + seconds(self.key("buffer_seconds"))
        c.last = c.settled + self._length(c, at, ledger)
        c.state = "buffer" if c.settled > c.end else "disconnection_grace"
        if c.state != "buffer":
            self._begin(c, at, turn_end, ledger)
            times_away = 1
        c.end = c.settled if c.state == "buffer" else c.last
        yield c.step(at)
        while True:
            while (h := c.next()) is not None:
                yield from c.take(h)
                if h.told.type == "table.resumed":
                    continue
                new = self._where(c, h, turn_end)
                if new == c.state:
                    continue
                if new != "buffer":
                    self._begin(c, h.at, turn_end, ledger)
                if new == "returned" and not has_returned:
                    c.last, has_returned = self._after_return(c.clock(h.at), c.last), True
                if new == "disconnection_grace":
                    most = self.key("grace_uses_per_turn")
                    if most is not None and times_away >= most:
                        c.last = c.clock(h.at)
                    times_away += 1
                c.state, c.end = new, c.settled if new == "buffer" else c.last
                yield c.step(h.at, h)
            over = c.until()
            if over is None or over >= c.limit:
                return
            if c.answer is not None:
                yield self._answered(c, over, ledger)
            elif c.state == "returned":
                yield self._silent(c, over, ledger, left=False)
            elif c.state == "disconnection_grace":
                yield self._over(c, over, ledger, "grace-expired")
            elif self.connected(c.turn, c.known(over), turn_end):
                yield self._silent(c, over, ledger, left=True)
            else:
                self._begin(c, over, turn_end, ledger)
                c.state, c.end, times_away = "disconnection_grace", c.last, 1
                yield c.step(over)
                continue
            return

    def _where(self, c: Course, h: Heard, turn_end: int) -> str:
        """Return in which state he is after a word that comes when his turn time is over."""
        words = c.mine[: c.mine.index(h) + 1]
        if c.clock(h.at) <= c.settled and self.connected(c.turn, words, turn_end):
            return "buffer"
        if self.connected(c.turn, words):
            return "returned"
        return "buffer" if c.state == "buffer" else "disconnection_grace"

    def _length(self, c: Course, at: int, ledger: list[Entry]) -> int:
        """Return how long the grace is that counts from the turn end."""
        account = self._account(c, c.known(at)[-1].n, ledger)
        ladder, most = self._grace(c.turn.told.data), self.key("grace_uses_per_hand")
        if most is not None and account.turns_in_hand[c.hand] >= most:
            return 0
        return ladder if self.key("budget") is None else min(
            ladder, self._budget_left(account, c.hand)
        )  # fmt: skip

    def _from_loss(
        self, c: Course, words: list[Heard], turn_end: int, ledger: list[Entry]
    ) -> tuple[int, int]:
        """Return from when and until when a grace lasts that counts from the loss."""
        lost = [one.since for one in self.sessions(c.turn, words, turn_end)]
        loss = max(lost, default=self.begins(c.turn))
        account = self._account(c, words[-1].n, ledger)
        start = c.clock_at(max(loss, account.charged_to))
        end = c.clock_at(loss) + self._grace(c.turn.told.data)
        if self.key("budget") is not None:
            end = min(end, start + self._budget_left(account, c.hand))
        return start, end

    def _begin(self, c: Course, at: int, turn_end: int, ledger: list[Entry]) -> None:
        """The grace is his, if it was not before: from when it counts, and its end."""
        if c.charged_from is not None:
            return
        c.charged_from = c.settled
        if self.key("grace_counts_from") == "loss":
            start, end = self._from_loss(c, c.known(at), turn_end, ledger)
            c.charged_from, c.last = start, max(end, c.clock(at))

    def _is_used_up(self, c: Course, at: int, ledger: list[Entry]) -> bool:
        """Whether nothing of the grace is left at the turn end."""
        account = self._account(c, c.known(at)[-1].n, ledger)
        most = self.key("grace_uses_per_hand")
        if most is not None and account.turns_in_hand[c.hand] >= most:
            return True
        if self.key("grace_counts_from") == "loss":
            return self._from_loss(c, c.known(at), at, ledger)[1] <= at
        return self.key("budget") is not None and not self._budget_left(account, c.hand)

    def _was_away_before(self, c: Course, at: int) -> bool:
        """Whether he gets no grace because nothing was heard of him since his turn began."""
        heard = [one.since for one in self.sessions(c.turn, c.known(at))]
        is_since = max(heard, default=0) > self.begins(c.turn)
        return self.key("away_before_turn") == "no_grace" and not is_since

    def _at_once(self, c: Course, at: int, ledger: list[Entry]) -> tuple[str, str]:
        """Return what becomes of one who is away at the turn end and gets no grace."""
        d = c.turn.told.data
        if not money(d["to_call"]):
            takes = self.key("free_check") != "never"
            return ("check", "check-available") if takes else ("fold", "no-free-check")
        if self._grace_follows(d):
            return "fold", "away-before-turn"
        if self.key("grace"):
            return "fold", "nothing-in-pot"
        is_protected = self._is_protected(c, at, ledger)
        return ("all_in", "all-in-protected") if is_protected else ("fold", "no-grace")

    def _over(self, c: Course, at: int, ledger: list[Entry], rule: str) -> Step:
        """Return what becomes of one who is away when his grace is over, or was used up before."""
        what = ("check", "check-after-grace")
        if money(c.turn.told.data["to_call"]):
            is_protected = self._is_protected(c, at, ledger)
            what = ("all_in", "all-in-protected") if is_protected else ("fold", rule)
        elif self.key("free_check") == "never":
            what = ("fold", "no-free-check")
        return self._decided(c, at, ledger, *what)

    def _is_protected(self, c: Course, at: int, ledger: list[Entry]) -> bool:
        """Whether one who faces a bet and is away plays on for what he has paid."""
        d, protection = c.turn.told.data, self.key("all_in_protection")
        if protection is None or not self._mine(d):
            return False
        known = c.known(at)
        lost = max(self.sessions(c.turn, known), key=lambda one: one.since, default=None)
        if lost is not None and lost.reason in protection.get("not_for_reasons", ()):
            return False
        used = len(self._account(c, known[-1].n, ledger).protected)
        return bool(d.get("protection_left", protection["uses"] - used) > 0)


@dataclass
class Course:
    """The course of one turn, by a clock that stands still while the table is paused."""

    model: Model
    turn: Heard
    mine: list[Heard]  # all that is heard until it is closed
    rest: list[Heard]  # of them, what is still to come
    state: str
    limit: int = 0  # deadlines from then on do not come
    end: int = 0  # of the state, by its clock
    bank: int = 0
    banked: int | None = None  # from when the bank runs
    answer: int | None = None  # when it is answered for one who says that he is away
    standing: int | None = None  # since when the clock stands still
    stood: int = 0  # how long it has, before
    pauses: list[tuple[int, int]] = field(default_factory=list)  # and when
    settled: int = 0  # the end of the buffer, and of the grace
    last: int = 0
    charged_from: int | None = None

    @property
    def name(self) -> str:
        return str(self.turn.told.data["turn_id"])

    @property
    def player(self) -> str:
        return str(self.turn.told.data["player_id"])

    @property
    def hand(self) -> str:
        return str(self.turn.told.data["hand_id"])

    def clock(self, instant: int) -> int:
        """Return what the clock shows at an instant since it was last stopped or started."""
        return (instant if self.standing is None else min(instant, self.standing)) - self.stood

    def clock_at(self, instant: int) -> int:
        """Return what the clock has shown at an instant."""
        if self.standing is not None:
            instant = min(instant, self.standing)
        return instant - sum(max(0, min(end, instant) - start) for start, end in self.pauses)

    def until(self) -> int | None:
        """Return when the state is over; None while the clock stands still."""
        if self.standing is not None:
            return None
        return (self.end if self.answer is None else self.answer) + self.stood

    def known(self, at: int) -> list[Heard]:
        return [h for h in self.mine if h.n <= self.turn.n or h.at <= at]

    def next(self) -> Heard | None:
        """Return what is heard next, if that is not after the end of the state."""
        until = self.until()
        if self.rest and (until is None or self.rest[0].at <= until):
            return self.rest.pop(0)
        return None

    def step(self, at: int, heard: Heard | None = None) -> Step:
        n = None if heard is None else heard.n
        return Step(at, self.name, self.state, self.until(), heard=n)

    def take(self, h: Heard) -> Iterator[Step]:
        """Stop the clock or start it, or move the end."""
        model, turn = self.model, self.turn
        known = self.mine[: self.mine.index(h) + 1]
        paused = model.paused(turn, known)
        away = model.says_he_is_away(turn, known)
        if paused is not None and self.standing is None:
            self.standing = max(paused, model.begins(turn))
        elif paused is None and self.standing is not None:
            self.pauses.append((self.standing, max(self.standing, h.at)))
            self.stood += max(0, h.at - self.standing)
            self.standing = None
        elif model.extends(h, turn) and self.state in ("acting", "time_bank", "discarding"):
            self.end += seconds(h.told.data["seconds"])
            if self.state == "time_bank":
                self.bank += seconds(h.told.data["seconds"])
        elif away == (self.answer is None):
            self.answer = self.clock(h.at) if away else None
        else:
            return
        yield self.step(h.at, h)

    def bank_used(self, at: int) -> int:
        """Return how much of the time bank has run by then, in whole milliseconds."""
        ran = 0 if self.banked is None else max(0, self.clock(at) - self.banked)
        return min(self.bank, ran) // MILLISECOND * MILLISECOND

    def charge(self, order: tuple[int, int], until: int) -> list[Entry]:
        """Return what is taken of his time when the turn is closed, if the grace was his."""
        if self.charged_from is None:
            return []
        end = min(self.clock(until), self.last)
        cost, real = max(0, end - self.charged_from), min(until, self.last + self.stood)
        return [Entry(order, "time", self.player, self.hand, cost, real)]


def seconds(value: float) -> int:
    """Return seconds as microseconds."""
    return round(Fraction(str(value)) * SECOND)


def money(value: int | str) -> Fraction:
    """Return an amount, exactly."""
    return Fraction(value)
