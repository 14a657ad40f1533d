"""The truth that a run is compared with: a shard without a broker, fed with a queue's messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from actors.shards.shard import Shard, Verdict
from actors.transport import Message
from actors.work import messages
from statecharts.decisions import EventRefused, Output
from statecharts.events import Event
from statecharts.instants import MILLISECOND, from_seconds
from tests.simulation.plan import Plan
from tests.simulation.traces import Act, Fired, Noticed, Took

FOR_EVER = 1 << 62


@dataclass(slots=True)
class Arrived:
    """A message that stands in a shard's queue, as the shard must understand it."""

    message: Message
    at: int
    """Its arrival in milliseconds."""
    event: Event | None
    """None if it is refused unread, or moved."""
    is_moved: bool = False


class Replay:
    """Feeds a new shard with arrivals; interruptions stand where they do among the acts of a run.

    Where an interruption is still to come, deadlines fire no further than the run's ticks had them.
    """

    def __init__(self, plan: Plan, acts: Iterable[Act] = ()) -> None:
        self.shard = Shard(plan.policies, max_clock_lag=from_seconds(plan.options.max_clock_lag))
        self.outputs: list[Output] = []
        self.refused: set[bytes] = set()
        self._all_changes = plan.options.all_changes
        self._acts = list(acts)
        self._to_come = sum(isinstance(act, Noticed) for act in self._acts)
        self._position = 0
        self._took: set[Took] = set()
        self._taken = {act for act in self._acts if isinstance(act, Took)}

    def feed(self, arrived: Iterable[Arrived]) -> list[Output]:
        """Feed all; returns what is to be published, notices of refusals aside."""
        for one in arrived:
            self._follow()
            if one.event is not None:
                self._apply(one, one.event)
            elif not one.is_moved:
                self.refused.add(one.message.body)
        self._follow()
        self.outputs += self.shard.fire(FOR_EVER)
        return [
            one
            for one in self.outputs
            if not isinstance(one, EventRefused)
            and messages.is_told(one, all_changes=self._all_changes)
        ]

    def _apply(self, one: Arrived, event: Event) -> None:
        at = one.at * MILLISECOND
        if self._to_come and Took(event.id, at) not in self._taken:
            return  # a copy of what was known: passed over, it fires nothing
        if not self._to_come:
            self.outputs += self.shard.fire(at)
        self._took.add(Took(event.id, at))
        applied = self.shard.apply(event, at)
        self.outputs += applied.outputs
        if applied.verdict is Verdict.REFUSED:
            self.refused.add(one.message.body)

    def _follow(self) -> None:
        """Go on among the acts up to the last interruption, or what was not applied yet."""
        while self._to_come:
            act = self._acts[self._position]
            if isinstance(act, Took) and act not in self._took:
                return
            if isinstance(act, Fired):
                self.outputs += self.shard.fire(act.before)
            elif isinstance(act, Noticed):
                self.outputs += self.shard.interrupt(act.interruption, act.at)
                self._to_come -= 1
            self._position += 1
