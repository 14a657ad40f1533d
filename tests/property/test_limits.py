"""What is counted over a player's turns, as the model counts it: whatever he and the engine do."""

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actors.shards.pictures import dump, load
from actors.shards.shard import Shard
from statecharts.decisions import DecisionMade, Output, SeatAdvice, SeatChanged
from tests.property.model import SECOND, Told, seconds
from tests.property.rooms import asks_for_the_loss, rooms
from tests.property.test_seat import is_left_out
from tests.property.world import FOR_EVER, START, World, policies_of, tell

FACING = {"to_call": 100, "contributed": 50, "pots": [150], "big_blind": 100}
MONEY: list[dict[str, Any]] = [
    FACING,
    FACING,
    FACING | {"pots": [600], "time_bank_seconds": 2},
    FACING | {"contributed_voluntarily": 0},
    FACING | {"to_call": 0},
    FACING | {"protection_left": 1},
]
WHAT = ["turn", "turn", "turn", "lost", "lost", "lost", "up", "up", "sole", "acted", "acted",
        "played", "hand", "hand", "off", "away", "back", "left", "closed", "protect", "extend",
        "pause", "resume", "resume", "reset", "restart"]  # fmt: skip
Course = list[tuple[str, float | str, float, int]]
ANYTHING: st.SearchStrategy[Course] = st.lists(
    st.tuples(
        st.sampled_from(WHAT),
        st.sampled_from([0, 0.5, 1, 1, 2, 4, "end", "end", "end"]),  # later
        st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2]),  # late
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=3,
)
# He is lost in his turn and not back before its end; what comes then, and how the turn is closed.
IN_THE_GRACE = st.lists(
    st.tuples(
        st.sampled_from(["lost", "up", "up", "away", "restart", "pause", "resume"]),
        st.sampled_from([0, 1, 2, 4, 8]),
        st.just(0),
        st.just(0),
    ),
    max_size=3,
)
ROUND: st.SearchStrategy[Course] = st.builds(
    lambda number, session, then, close, after: [
        ("turn", 0, 0, number),
        ("lost", 1, 0, session),
        ("wait", "end", 0, 0),
        ("wait", "end", 0, 0),
        *then,
        (close, after, 0, 1),
    ],
    st.sampled_from([0, 0, 0, 1, 2, 3, 4, 5]),
    st.integers(0, 1),
    IN_THE_GRACE,
    st.sampled_from(["acted", "played", "played", "hand", "hand", "left", "off"]),
    st.sampled_from([0, 1, 3, 5, "end", "end"]),
)
COURSES: st.SearchStrategy[Course] = st.lists(
    st.one_of(ROUND, ROUND, ANYTHING), min_size=2, max_size=8
).map(lambda parts: [step for part in parts for step in part])
LIMITED = rooms(
    ["grace", "grace_needs", "grace_counts_from", "grace_uses_per_turn", "grace_uses_per_hand",
     "budget.per", "budget.seconds", "budget.refill_every_hands", "budget.refill_seconds",
     "all_in_protection.uses", "all_in_protection.not_for_reasons", "buffer_seconds", "buffer_for",
     "free_check", "min_seconds_after_return", "max_seconds_after_return", "away_before_turn",
     "away_status", "connected_but_silent", "advice.after"]
)  # fmt: skip
BUDGETED = rooms(
    ["grace", "grace_needs", "grace_counts_from", "grace_uses_per_turn", "grace_uses_per_hand",
     "budget.per", "budget.seconds", "budget.refill_every_hands", "budget.refill_seconds",
     "all_in_protection.uses", "buffer_seconds", "buffer_for", "free_check",
     "max_seconds_after_return", "away_before_turn", "advice.after", "advice.advise"]
)  # fmt: skip


@dataclass
class Script:
    """One player at one table: what he does, as gateways and engines tell it."""

    room: dict[str, Any]
    turn: int = 0
    hand: int = 1

    def told(  # noqa: C901, PLR0911, PLR0912 - one case for each event
        self, what: str, stamp: int, number: int
    ) -> Told | None:
        ids = {"hand_id": f"h{self.hand}", "turn_id": f"u{self.turn}"}
        player = {"player_id": "p"}
        word = {**player, "session_id": f"s{number % 2}"}
        reason = {"reason": "closed"} if stamp // SECOND % 3 == 0 else {}
        match what:
            case "turn":
                self.turn += 1
                ids |= {"turn_id": f"u{self.turn}"}
                data = {**ids, **player, "turn_seconds": 5, "format": "cash", **MONEY[number]}
                return Told("turn.started", stamp, data, seat=1)
            case "hand":
                self.hand += 1
                players = {"players": ["q"]} if number == 0 else {}
                return Told("hand.ended", stamp, {"hand_id": ids["hand_id"], **players})
            case "lost":
                return Told("player.disconnected", stamp, word | reason, seat=1, source="/gateway")
            case "up" | "sole":
                word |= {"sole": what == "sole"}  # type: ignore[dict-item]
                return Told("player.connected", stamp, word, seat=1, source="/gateway")
            case "acted" | "played":
                by = "player" if what == "acted" else "decision"
                return Told("turn.acted", stamp, {**ids, "by": by}, seat=1)
            case "off":
                return Told("turn.cancelled", stamp, ids, seat=1)
            case "away" | "back":
                return Told(f"player.{what}", stamp, player, seat=1)
            case "left":
                return Told("seat.vacated", stamp, player, seat=1)
            case "extend":
                return Told("turn.extended", stamp, {**ids, "seconds": number + 1}, seat=1)
            case "reset" if not asks_for_the_loss(self.room):
                return Told("gateway.reset", stamp, {"gateway": "/gateway"}, source="/gateway")
            case "closed":
                return Told("table.closed", stamp, {}) if number == 0 else None
            case "protect":
                return Told("protection.reset", stamp, player if number % 2 else {})
            case "pause" | "resume":
                return Told(f"table.{what}d", stamp, {})
        return None


@given(course=COURSES, room=LIMITED, lag=st.sampled_from([None, None, 2 * SECOND]))
def test_what_is_counted_over_turns_is_as_the_documents_say(
    course: Course, room: dict[str, Any], lag: int | None
) -> None:
    world, script = World(lag, room), Script(room)
    for what, later, late, number in course:
        last = world.model.steps("t1", 1, world.now)[-1:]
        end, now = last[0].until if last else None, world.now
        world.wait(max(now, end or 0) if isinstance(later, str) else now + seconds(later))
        if what == "restart":
            world.restart()
            continue
        told = script.told(what, world.now - seconds(late), number)
        if told is not None and not is_left_out(world, told):
            world.tell(told)
        world.check()
    world.end()


# -- Dropping and returning never gets more than the policy says: from what is published alone


@dataclass
class Used:
    """What a turn has given beyond its end, as its changes of state tell it."""

    hand: str
    beyond: int = 0
    """From the turn end, or the end of the buffer, until it was closed, if he was away in it."""
    times_away: int = 0
    counts_from: int | None = None


@dataclass
class Ledger:
    """What has been given since it was last full, or new."""

    room: dict[str, Any]
    turns: dict[str, Used] = field(default_factory=dict)
    given: int = 0
    hands: int = 0
    by_hand: Counter[str] = field(default_factory=Counter)
    turns_by_hand: Counter[str] = field(default_factory=Counter)
    protected: int = 0
    advised: Counter[str] = field(default_factory=Counter)

    def see(self, output: Output) -> None:
        if isinstance(output, SeatChanged):
            self._see_change(output)
        elif isinstance(output, DecisionMade) and output.action == "all_in":
            self.protected += 1
            if output.turn_id not in self.room["engine counts"]:
                assert self.protected <= self.room["all_in_protection"]["uses"]
        elif isinstance(output, SeatAdvice):
            self.advised[output.advice] += 1
            assert self.advised[output.advice] == 1

    def _see_change(self, one: SeatChanged) -> None:
        used = self.turns.setdefault(one.turn_id, Used(one.hand_id))
        if one.to == "buffer":
            used.counts_from = one.until
        elif one.to in ("disconnection_grace", "returned"):
            if used.counts_from is None:
                used.counts_from = one.at
            is_shorter = one.until is not None and one.until > one.at
            used.times_away += (
                one.to == "disconnection_grace" and one.from_ != one.to and is_shorter
            )
            most = self.room.get("grace_uses_per_turn")
            assert most is None or used.times_away <= most
        elif one.from_ in ("disconnection_grace", "returned"):
            assert used.counts_from is not None
            self._close(used, max(0, one.at - used.counts_from))

    def _close(self, used: Used, beyond: int) -> None:
        if not beyond:
            return
        self.given += beyond
        self.by_hand[used.hand] += beyond
        self.turns_by_hand[used.hand] += 1
        most = self.room.get("grace_uses_per_hand")
        assert most is None or self.turns_by_hand[used.hand] <= most
        if (budget := self.room.get("budget")) is None:
            return
        full = seconds(budget["seconds"])
        if budget["per"] == "hand":
            assert self.by_hand[used.hand] <= full
            return
        every, each = budget.get("refill_every_hands"), budget.get("refill_seconds")
        refilled = self.hands // every * (seconds(each) if each else full) if every else 0
        assert self.given <= full + refilled

    def hear(self, told: Told) -> None:
        """Take what makes something whole again."""
        if told.type == "protection.reset":
            self.protected = 0
        elif told.type == "turn.acted" and told.data["by"] == "player":
            self.advised.clear()
        elif told.type == "table.closed":
            self.protected = self.given = 0
            self.by_hand.clear()
            self.turns_by_hand.clear()
            self.advised.clear()
        elif told.type == "seat.vacated":
            self.advised.clear()
            if (self.room.get("budget") or {}).get("per") == "session":
                self.given = 0


@given(course=COURSES, room=BUDGETED)
def test_dropping_and_returning_never_gets_more_than_the_policy_says(
    course: Course, room: dict[str, Any]
) -> None:
    policies = policies_of(room)
    shard, now, script = Shard(policies), START, Script(room)
    ledger = Ledger({**room, "engine counts": set()})
    for step, (what, later, late, number) in enumerate(course):
        next_ = shard.deadlines.next()
        due = now if next_ is None else max(now, next_[0])
        now = due if isinstance(later, str) else now + seconds(later)
        for output in shard.fire(now):
            ledger.see(output)
        if what == "restart":
            picture = load(json.loads(json.dumps(dump(shard.picture()))), policies.by_digest)
            shard = Shard(policies)
            shard.restore(picture)
        if what in ("pause", "resume", "extend", "restart"):
            continue
        told = script.told(what, now - seconds(late), number)
        if told is None:
            continue
        if "protection_left" in told.data:
            ledger.room["engine counts"].add(told.data["turn_id"])
        ledger.hands += told.type == "hand.ended"  # it counts before the turn that it ends
        for output in tell(shard, replace(told, id=f"e{step}"), now).outputs:
            ledger.see(output)
        ledger.hear(told)
    for output in shard.fire(FOR_EVER):
        ledger.see(output)
