"""What one shard makes of its queue: for each delivery one verdict, and messages that follow.

No I/O: the deliveries in their order, and the instants at which they are taken, decide everything.
"""

from __future__ import annotations

from collections import Counter, deque

from structlog.typing import FilteringBoundLogger

from actors import messages, ticks
from actors.arrivals import Arrivals
from actors.journal import Record
from actors.options import Options
from actors.shard import Shard, Verdict, refused
from actors.slots import is_addressed_right
from actors.transport import Delivery, Message
from statecharts.decisions import DecisionMade, Output
from statecharts.digests import long
from statecharts.events import Event, decode
from statecharts.instants import from_seconds, to_rfc3339
from statecharts.refusals import Code, Refusal
from statecharts.surroundings import Interruption


class Intake:
    """The way of deliveries into a shard, across connections."""

    def __init__(self, shard: Shard, options: Options, log: FilteringBoundLogger) -> None:
        """Begin with a queue of which nothing has been read."""
        self.shard = shard
        self.arrivals = Arrivals(broker_stamps=options.broker_stamps)
        self.counts: Counter[str] = Counter()
        """Deliveries by what became of them."""
        self._options = options
        self._log = log
        self._settle = from_seconds(options.settle_seconds)
        self._covered: deque[str] = deque(maxlen=2 * options.prefetch)
        self._group: list[str] = []
        self.sign_of_life: int | None = None
        """When a tick was last back, in microseconds since 1970."""

    def notice_interruption(self, now: int) -> list[Message]:
        """Move the deadlines of a time in which no tick came back (README, "Guarantees").

        To be asked before deliveries are taken: who gets none may be standing by.
        """
        if self.sign_of_life is None:
            self.sign_of_life = now
        if now - self.sign_of_life <= self._settle:
            return []
        interruption = Interruption(self.sign_of_life, now + self._settle)
        outputs = self.shard.interrupt(interruption, now)
        self._log.warning(
            "interrupted: deadlines in that time have moved to its end",
            start=to_rfc3339(interruption.start),
            end=to_rfc3339(interruption.end),
            moved=len(outputs),
        )
        return self._told(outputs)

    def take(self, delivery: Delivery, now: int, awaited: ticks.Ticker) -> list[Message]:
        """Take one delivery; returns the messages that follow from it."""
        key = long(delivery.routing_key, delivery.body.hex())
        if delivery.redelivered and key in self._covered:
            self.counts["known"] += 1
            return []
        self._covered.append(key)
        self._group.append(key)
        try:
            if ticks.is_tick(delivery):
                return self._tick(delivery, now, awaited)
            return self._event(delivery, now)
        except Exception as fault:  # noqa: BLE001 - no message may stop the shard
            self.shard.faults.append(fault)
            refusal = Refusal(Code.FAILED, "a fault of ours kept us from taking it")
            return self._refused(delivery, refusal, now)

    def take_covered(self) -> tuple[str, ...]:
        """Return the keys of the deliveries taken since this was last asked."""
        covered, self._group = tuple(self._group), []
        return covered

    def restore(self, record: Record) -> None:
        """Take over what another life of this shard has written."""
        self.shard.restore(record.changes)
        self._covered.extend(record.covered)
        self.sign_of_life = record.sign_of_life

    # -- Time

    def _tick(self, delivery: Delivery, now: int, awaited: ticks.Ticker) -> list[Message]:
        tick = ticks.read(delivery)
        if tick is None:
            self.counts["unreadable ticks"] += 1
            return []
        ours = awaited.is_back(tick)
        stamp = delivery.headers.get("timestamp_in_ms")
        arrival = self.arrivals.of_tick(tick.sent, stamp, now, ours=ours)
        if ours:
            self.sign_of_life = now
        return self._told(self.shard.fire(arrival, now))

    # -- Events

    def _event(self, delivery: Delivery, now: int) -> list[Message]:
        try:
            event = decode(delivery.body)
        except Refusal as refusal:
            return self._refused(delivery, refusal, now)
        if not is_addressed_right(delivery.routing_key, event.table_id):
            if not messages.was_moved(delivery):
                self.counts["moved"] += 1
                return [messages.moved(delivery, event.table_id)]
            self.counts["astray"] += 1
        return self._apply(delivery, event, now)

    def _apply(self, delivery: Delivery, event: Event, now: int) -> list[Message]:
        stamp = delivery.headers.get("timestamp_in_ms")
        arrival = self.arrivals.of_event(event.stamp, stamp, now)
        applied = self.shard.apply(event, arrival, now)
        told = self._told(applied.outputs)
        if applied.refusal is not None:
            return [*told, *self._dead(delivery, applied.refusal, now)]
        self.counts[applied.verdict] += 1
        if applied.verdict is Verdict.IGNORED:
            self._log.debug("ignored", type=event.name, id=event.id, reason=applied.reason)
        return told

    def _refused(self, delivery: Delivery, refusal: Refusal, now: int) -> list[Message]:
        """Refuse a message that the shard has not seen."""
        notice = refused(refusal, now, long(delivery.body.hex()))
        return [*self._told([notice]), *self._dead(delivery, refusal, now)]

    def _dead(self, delivery: Delivery, refusal: Refusal, now: int) -> list[Message]:
        self.counts[Verdict.REFUSED] += 1
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
        """Log each decision, and return the messages that publish what is told."""
        for fault in self.shard.faults:
            self.counts["faults"] += 1
            self._log.error("a fault of ours; the seat is as it was", exc_info=fault)
        self.shard.faults.clear()
        for output in outputs:
            if isinstance(output, DecisionMade):
                self.counts["decisions"] += 1
                self._log.info("decision", **_line(output))
        return [
            messages.of_output(output)
            for output in outputs
            if messages.is_told(output, all_changes=self._options.all_changes)
        ]


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
