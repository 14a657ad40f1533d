"""What is counted over a player's turns, as the model counts it: whatever he and the engine do."""

from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.property.model import SECOND, Told, seconds
from tests.property.rooms import asks_for_the_loss, rooms
from tests.property.test_seat import is_left_out
from tests.property.world import World

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
STEPS = st.lists(
    st.tuples(
        st.sampled_from(WHAT),
        st.sampled_from([0, 0.5, 1, 1, 2, 4, "end", "end", "end"]),  # later
        st.sampled_from([0, 0, 0, 0, 0, 0, 1, 2]),  # late
        st.integers(0, 5),
    ),
    min_size=15,
    max_size=40,
)
LIMITED = rooms(
    ["grace", "grace_needs", "grace_counts_from", "grace_uses_per_turn", "grace_uses_per_hand",
     "budget.per", "budget.seconds", "budget.refill_every_hands", "budget.refill_seconds",
     "all_in_protection.uses", "all_in_protection.not_for_reasons", "buffer_seconds", "buffer_for",
     "free_check", "min_seconds_after_return", "max_seconds_after_return", "away_before_turn",
     "away_status", "connected_but_silent", "advice.after"]
)  # fmt: skip


@dataclass
class Play:
    """One player at one table: what he does, as gateways and engines tell it."""

    world: World
    turn: int = 0
    hand: int = 1
    paused: bool = False

    def do(self, what: str, later: float | str, late: float, number: int) -> None:
        world = self.world
        last = world.model.steps("t1", 1, world.now)[-1:]
        end = last[0].until if last else None
        now = world.now
        world.wait(max(now, end or 0) if isinstance(later, str) else now + seconds(later))
        if what == "restart":
            world.restart()
            return
        told = self._told(what, world.now - seconds(late), number)
        if told is not None and not is_left_out(world, told):
            world.tell(told)
        world.check()

    def _told(  # noqa: C901, PLR0911, PLR0912 - one case for each event
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
            case "reset" if not asks_for_the_loss(self.world.room):
                return Told("gateway.reset", stamp, {"gateway": "/gateway"}, source="/gateway")
            case "closed":
                return Told("table.closed", stamp, {}) if number == 0 else None
            case "protect":
                return Told("protection.reset", stamp, player if number % 2 else {})
            # What a pause is to a loss before it, from which a grace counts, is left open.
            case "pause" | "resume" if self.world.room.get("grace_counts_from") != "loss":
                return Told(f"table.{what}d", stamp, {})
        return None


@given(steps=STEPS, room=LIMITED, lag=st.sampled_from([None, None, 2 * SECOND]))
def test_what_is_counted_over_turns_is_as_the_documents_say(
    steps: list[tuple[str, float | str, float, int]], room: dict[str, Any], lag: int | None
) -> None:
    play = Play(World(lag, room))
    for step in steps:
        play.do(*step)
    play.world.end()
