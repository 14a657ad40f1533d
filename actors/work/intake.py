"""What one shard makes of its queue: for each delivery one verdict, and messages that follow.

No I/O: the deliveries in their order, and the instants at which they are taken, decide everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from structlog.typing import FilteringBoundLogger

from actors.broker.slots import is_addressed_right
from actors.journal import Record
from actors.observing.figures import UNREAD, Figures, Taken, Total
from actors.shards.pictures import Picture
from actors.shards.shard import Shard, Verdict, refused
from actors.transport import Delivery, Message
from actors.work import messages, ticks
from actors.work.arrivals import Arrivals
from actors.work.options import Options
from statecharts.decisions import ConnectionStorm, DecisionMade, Output, TurnUncovered
from statecharts.digests import long
from statecharts.events import Event, decode
from statecharts.instants import from_seconds, to_rfc3339
from statecharts.refusals import Code, Refusal
from statecharts.surroundings import Interruption

SUSPICIOUS = 3
"""A message that came back so often may be what ends its owners: it is tried with care."""
MAX_TRYING = 4096


class Intake:
    """The way of deliveries into a shard, for the time of one lease."""

    def __init__(
        self,
        shard: Shard,
        options: Options,
        log: FilteringBoundLogger,
        figures: Figures,
        restored: Record,
        now: int,
    ) -> None:
        """Go on with what earlier owners have written; what is committed is in the `figures`."""
        shard.restore(restored.changes)
        self.shard = shard
        self.arrivals = Arrivals(restored.changes.mark, now, broker_stamps=options.broker_stamps)
        self.sign_of_life = restored.sign_of_life
        """The arrival of the last tick, whoever sent it, in microseconds since 1970."""
        self.trying = dict(restored.trying)
        """Deliveries under suspicion: how often they were tried without a verdict."""
        self.keep = max(options.prefetch, restored.keep)
        """How many keys are remembered: as many as can be delivered again."""
        self._figures = figures
        self._disbelieved = 0
        self._options = options
        self._log = log
        self._settle = from_seconds(options.settle_seconds)
        self._known = dict.fromkeys(restored.covered)
        """The latest keys, oldest first."""
        self._group: list[str] = []
        self._decided: list[DecisionMade] = []
        self._counted: list[tuple[Counter[Any], object]] = []
        """What is to be counted when it is committed: else it might count twice."""

    def notice_interruption(self, arrival: int, now: int) -> list[Message]:
        """Move the deadlines of a time without ticks, before what has arrived after it is applied.

        (README, "Guarantees".)  Told by the queue alone: while a shard is served, a tick stands in
        it every second, however late it is read.
        """
        if self.sign_of_life is None:
            self.sign_of_life = arrival
        since = self.sign_of_life
        noticed = max((one.end for one in self.shard.interruptions), default=0)
        if self.arrivals.has_stepped_back:
            self.arrivals.has_stepped_back = False
            self._log.error("a clock has stepped back: ours, the broker's, or an earlier owner's")
            self.sign_of_life = min(since, arrival)
            since = min(since, arrival - self._settle)
        elif arrival - since <= self._settle or arrival <= noticed:
            return []
        interruption = Interruption(since, max(arrival, now) + self._settle)
        self._count(self._figures.totals, Total.INTERRUPTIONS)
        outputs = self.shard.interrupt(interruption, now)
        self._log.warning(
            "interrupted: deadlines from start on have moved to end",
            start=to_rfc3339(interruption.start),
            end=to_rfc3339(interruption.end),
            moved=len(outputs),
        )
        return self._told(outputs)

    def take(self, delivery: Delivery, now: int, awaited: ticks.Ticker) -> list[Message]:
        """Take one delivery; returns the messages that follow from it."""
        if ticks.is_probe(delivery):
            return []
        if ticks.is_tick(delivery):
            return self._tick(delivery, now, awaited)
        if delivery.redelivered:
            self._count(self._figures.totals, Total.REDELIVERIES)
        key = key_of(delivery)
        is_known = delivery.redelivered and key in self._known
        self._cover(key)
        if is_known:
            self._count(self._figures.events, (UNREAD, Taken.KNOWN))
            self._pass_over(delivery, now)
            return []
        try:
            return self._event(delivery, now)
        except Exception as fault:  # noqa: BLE001 - no message may stop the shard
            self.shard.faults.append(fault)
            return self._failed(delivery, now)

    def suspects(self, delivery: Delivery) -> bool:
        """Say whether a delivery came back so often that it may have ended its owners."""
        returned = delivery.headers.get("x-delivery-count")
        if not isinstance(returned, int) or returned < SUSPICIOUS:
            return False
        return not ticks.is_tick(delivery) and key_of(delivery) not in self._known

    def tries(self, delivery: Delivery) -> int:
        """Return how often a delivery under suspicion was tried without a verdict."""
        return self.trying.get(key_of(delivery), 0)

    def try_(self, deliveries: Iterable[Delivery]) -> None:
        """Write down that these are tried now; one that stands there twice is tried once."""
        for key in dict.fromkeys(map(key_of, deliveries)):
            self.trying[key] = self.trying.pop(key, 0) + 1
        while len(self.trying) > MAX_TRYING:
            del self.trying[next(iter(self.trying))]

    def park(self, delivery: Delivery, now: int) -> list[Message]:
        """Refuse a delivery that has ended its owners again and again, unread."""
        self._cover(key_of(delivery))
        self._log.error("parked: a message that has ended its workers again and again")
        return self._failed(delivery, now)

    def take_changes(self) -> Picture:
        """Return what has changed since this was last asked, and how far time has come."""
        return replace(self.shard.take_changes(), mark=self.arrivals.mark)

    def take_covered(self) -> tuple[str, ...]:
        """Return the keys of the deliveries taken since this was last asked."""
        covered, self._group = tuple(self._group), []
        return covered

    def committed(self) -> None:
        """What was taken is in the journal: count it, and log what was decided."""
        for counter, key in self._counted:
            counter[key] += 1
        self._counted.clear()
        if self.arrivals.disbelieved > self._disbelieved:
            self._figures.totals[Total.DISBELIEVED] += self.arrivals.disbelieved - self._disbelieved
            self._disbelieved = self.arrivals.disbelieved
        for decision in self._decided:
            of = decision.rule, decision.action, decision.policy.name
            self._figures.decisions[of] += 1
            self._figures.made.observe(decision.late_ms / 1000)
            self._log.info("decision", **_line(decision))
        self._decided.clear()

    def _count(self, counter: Counter[Any], key: object) -> None:
        self._counted.append((counter, key))

    def _cover(self, key: str) -> None:
        self._known.pop(key, None)
        self._known[key] = None
        if len(self._known) > self.keep:
            del self._known[next(iter(self._known))]
        self._group.append(key)
        self.trying.pop(key, None)

    # -- Time

    def _tick(self, delivery: Delivery, now: int, awaited: ticks.Ticker) -> list[Message]:
        tick = ticks.read(delivery)
        if tick is None:
            self._count(self._figures.totals, Total.UNREADABLE_TICKS)
            return []
        ours = awaited.is_back(tick)
        stamp = delivery.headers.get("timestamp_in_ms")
        arrival = self.arrivals.of_tick(tick.sent, stamp, now, ours=ours, awaited=awaited.oldest)
        told = self.notice_interruption(arrival, now)
        self.sign_of_life = max(arrival, self.sign_of_life or 0)
        if ours:
            awaited.arrived(tick, arrival)
        return [*told, *self._told(self.shard.fire(arrival, now))]

    def _pass_over(self, delivery: Delivery, now: int) -> None:
        self.arrivals.pass_over(delivery.headers.get("timestamp_in_ms"), now)

    # -- Events

    def _event(self, delivery: Delivery, now: int) -> list[Message]:
        try:
            event = decode(delivery.body)
        except Refusal as refusal:
            self._pass_over(delivery, now)
            return self._refused(delivery, refusal, now)
        if not is_addressed_right(delivery.routing_key, event.table_id):
            if not messages.was_moved(delivery):
                self._count(self._figures.events, (event.name, Taken.MOVED))
                self._pass_over(delivery, now)
                return [messages.moved(delivery, event.table_id)]
            self._count(self._figures.totals, Total.ASTRAY)
        return self._apply(delivery, event, now)

    def _apply(self, delivery: Delivery, event: Event, now: int) -> list[Message]:
        stamp = delivery.headers.get("timestamp_in_ms")
        arrival = self.arrivals.of_event(event.stamp, stamp, now)
        told = self.notice_interruption(arrival, now)
        applied = self.shard.apply(event, arrival, now)
        told += self._told(applied.outputs)
        if applied.refusal is not None:
            return [*told, *self._dead(delivery, applied.refusal, now, event.name)]
        self._count(self._figures.events, (event.name, applied.verdict))
        if applied.verdict is Verdict.IGNORED:
            self._log.debug("ignored", type=event.name, id=event.id, reason=applied.reason)
        return told

    def _failed(self, delivery: Delivery, now: int) -> list[Message]:
        refusal = Refusal(Code.FAILED, "a fault of ours kept us from taking it")
        return self._refused(delivery, refusal, now)

    def _refused(self, delivery: Delivery, refusal: Refusal, now: int) -> list[Message]:
        """Refuse a message that the shard has not seen."""
        self.shard.note_refused(refusal, now)
        notice = refused(refusal, now, long(delivery.body.hex()))
        return [*self._told([notice]), *self._dead(delivery, refusal, now)]

    def _dead(
        self, delivery: Delivery, refusal: Refusal, now: int, name: str = UNREAD
    ) -> list[Message]:
        self._count(self._figures.events, (name, Verdict.REFUSED))
        self._count(self._figures.refusals, refusal.code)
        self._log.warning(
            "refused",
            code=refusal.code,
            detail=refusal.detail,
            source=refusal.identity.source,
            id=refusal.identity.id,
        )
        return [messages.dead_letter(delivery, refusal, now)]

    # -- Outputs

    def _told(self, outputs: list[Output]) -> list[Message]:
        """Return the messages that publish what is told."""
        for fault in self.shard.faults:
            self._count(self._figures.totals, Total.FAULTS)
            self._log.error("a fault of ours; the seat is as it was", exc_info=fault)
        self.shard.faults.clear()
        for output in outputs:
            if isinstance(output, DecisionMade):
                self._decided.append(output)
            elif isinstance(output, ConnectionStorm):
                self._count(self._figures.totals, Total.STORMS)
            elif isinstance(output, TurnUncovered):
                self._count(self._figures.uncovered, output.reason)
        return [
            messages.of_output(output)
            for output in outputs
            if messages.is_told(output, all_changes=self._options.all_changes)
        ]


def key_of(delivery: Delivery) -> str:
    """Return what a delivery is known by when it comes again: a digest of all that it says."""
    return long(delivery.routing_key, delivery.body.hex())[:16]


def _line(decision: DecisionMade) -> dict[str, object]:
    """What one line of the log says of a decision: no card but the one that goes."""
    return {
        "action": decision.action.value,
        **({"card": decision.card} if decision.card else {}),
        "rule": decision.rule.value,
        "table": decision.table_id,
        "seat": decision.seat,
        "hand": decision.hand_id,
        "turn": decision.turn_id,
        "player": decision.player_id,
        "connected": decision.connected,
        "late_ms": decision.late_ms,
    }
