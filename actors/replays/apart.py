"""A turn that is carried on by itself, since the record goes on without it.

What was recorded after a decision has followed from that decision: the engine has played it, the
next turn has begun, the hand has ended.  Under a policy that waits longer the turn would still be
open then.  So it is taken out of its table, hears only what does not follow from the decision (his
connections, his choice of a card), and runs to its own end.
"""

from __future__ import annotations

from collections.abc import Iterator

from actors.replays.endings import Met
from actors.replays.recorded import Stimulus
from actors.shards.deadlines import SeatKey
from actors.shards.pictures import Picture
from actors.shards.shard import Shard
from statecharts.decisions import Output
from statecharts.digests import short
from statecharts.events import Event
from statecharts.lines import Trigger
from statecharts.payloads import TurnActed
from statecharts.policy import Policies
from statecharts.presence import is_connected

_OF_HIM = (
    Trigger.PLAYER_CONNECTED,
    Trigger.PLAYER_DISCONNECTED,
    Trigger.CARD_CHOSEN,
)


class Apart:
    """One turn, in a shard of its own.

    What he would have done after the record's end of his turn nobody knows.  Who comes back is
    taken to act `acts_after` (microseconds) later if he is still there then; with None he is
    silent.  For who came back before that end, and had so long without acting, the record says
    that he is silent.
    """

    def __init__(
        self, met: Met, before: Picture, known: Policies, cut: int, acts_after: int | None
    ) -> None:
        """`before` is his seat and table just before the record went on, at `cut`."""
        self.met = met
        self._acts_after = acts_after
        self._shard = Shard(known)
        self._shard.restore(before)
        acts = None if met.returned is None else self._after(met.returned)
        self._acts = None if acts is None or acts <= cut else acts

    def until(self, instant: int) -> Iterator[Output]:
        """Run to just before an instant."""
        if self._acts is not None and self._acts < instant:
            yield from self._act(self._acts)
        yield from self._shard.fire(instant)
        if self._shard.faults:
            raise self._shard.faults[0]

    def hear(self, stimulus: Stimulus) -> Iterator[Output]:
        """Take an event of the record, if it is about him and follows from no decision."""
        if not self._concerns(stimulus.event):
            return
        yield from self._shard.apply(stimulus.event, stimulus.arrival).outputs
        connected = connection(self._shard, self._seat)
        if connected is None or connected == self.met.presence[-1][1]:
            return
        self.met.presence.append((stimulus.arrival, connected))
        self._acts = self._after(stimulus.arrival) if connected else None

    def _after(self, returned: int) -> int | None:
        return None if self._acts_after is None else returned + self._acts_after

    def _act(self, at: int) -> Iterator[Output]:
        self._acts = None
        start = self.met.event
        acted = TurnActed(hand_id=start.data.hand_id, turn_id=start.data.turn_id)
        event = Event(
            f"{start.id}/acts", start.source, Trigger.TURN_ACTED, at, start.table_id, start.seat,
            acted,
        )  # fmt: skip
        yield from self._shard.fire(at)
        yield from self._shard.apply(event, at).outputs

    @property
    def _seat(self) -> SeatKey:
        return seat_of(self.met.event)

    def _concerns(self, event: Event) -> bool:
        if event.name is Trigger.GATEWAY_RESET:
            return True
        if (event.table_id, event.seat) != self._seat:
            return False
        return event.name in _OF_HIM or (
            is_his_own(event) and event.data.turn_id == self.met.data.turn_id
        )


def is_his_own(event: Event) -> bool:
    """Say whether an event is the player's own action: it ends his turn under any policy."""
    return event.name is Trigger.TURN_ACTED and event.data.by == "player"


def seat_of(event: Event) -> SeatKey:
    """Return the seat that an event is about; it must be about one."""
    assert event.seat is not None  # noqa: S101 - decoded so for what is asked here
    return event.table_id, event.seat


def connection(shard: Shard, key: SeatKey) -> bool | None:
    """Say whether the player on turn in a seat is connected; None if no turn is there."""
    known = shard.entries([key]).seats[key]
    turn = known.value.turn if known else None
    if known is None or turn is None:
        return None
    return is_connected(known.value.sessions, short(turn.player_id), turn.told_connected)
