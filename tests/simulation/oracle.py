"""What must hold after a run, read from the journals, the queues, and what was published.

The truth is a shard of its own, without a broker, fed with each queue's messages in their order and
with the broker's stamps.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from actors.broker.slots import is_addressed_right
from actors.broker.topology import DEAD, DEAD_LETTERS, DECISIONS
from actors.journal import records
from actors.journal.reading import Counting
from actors.memory.streams import Stream
from actors.transport import Delivery, Message
from actors.work import messages
from actors.work.intake import key_of
from actors.work.ticks import KIND, PROBE
from statecharts.decisions import Output
from statecharts.events import decode
from statecharts.instants import MILLISECOND, from_rfc3339, from_seconds
from statecharts.refusals import Refusal
from statecharts.surroundings import Interruption
from tests.simulation.plan import START
from tests.simulation.replay import Arrived, Replay
from tests.simulation.traces import Act, Fired, Noticed, Took
from tests.simulation.world import BACKEND, Ran

Decisions = dict[tuple[str, str], dict[str, Any]]
"""By table and turn."""


@dataclass(slots=True)
class Book:
    """One shard's journal: what counts, in its order."""

    records: list[dict[str, Any]] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    at_record: list[int] = field(default_factory=list)
    """How many acts there were up to each record."""
    covers: list[int] = field(default_factory=list)
    """How many of its keys are each record's own."""

    @property
    def outbox(self) -> Iterator[Message]:
        """All that was to be sent."""
        for record in self.records:
            for entry in record["outbox"]:
                yield records.outgoing(entry).message

    @property
    def interruptions(self) -> list[Interruption]:
        """All that were noticed."""
        return [act.interruption for act in self.acts if isinstance(act, Noticed)]


class Oracle:
    """Judges one run."""

    def __init__(self, ran: Ran) -> None:
        self.faults = list(ran.problems)
        self._ran = ran
        self._exact = ran.plan.options.broker_stamps
        self._published = [taken.message for taken in ran.broker.history[BACKEND]]

    def judge(self) -> list[str]:
        """Return what does not hold."""
        self._check_published()
        outbox: list[Message] = []
        for shard in range(self._ran.layout.shards):
            queue, journal = self._ran.layout.queue(shard), self._ran.layout.journal(shard)
            if queue not in self._ran.broker.history:
                continue
            book = self._book(journal)
            outbox += book.outbox
            arrived = [*self._arrived(queue)]
            self._check_covered(queue, book, arrived)
            self._check_order(queue, book, arrived)
            if self._exact:
                self._check_times(queue, book, arrived)
                self._check_interruptions(queue, book)
                self._check_outcome(queue, book, arrived)
        self._check_outbox(outbox)
        return self.faults

    def _fault(self, what: str) -> None:
        self.faults.append(what)

    # -- What was published

    def _check_published(self) -> None:
        """At most one decision a turn, by id and by content; one number, one message."""
        by_id: dict[str | None, Message] = {}
        decided: dict[tuple[str, str], bytes] = {}
        numbers: dict[tuple[str, int, int], bytes] = {}
        for message in self._published:
            event = json.loads(message.body)
            first = by_id.setdefault(message.id, message)
            # A message that comes twice is refused twice, at two instants.
            refusals = event["type"] == "seatwarden.event.refused.v1"
            if first.body != message.body and not refusals:
                self._fault(f"two messages of one id: {first.body!r} and {message.body!r}")
            data = event["data"]
            if event["type"] == "seatwarden.decision.made.v1":
                turn = (data["table_id"], data["turn_id"])
                if decided.setdefault(turn, message.body) != message.body:
                    self._fault(f"two decisions for one turn: {decided[turn]!r} {message.body!r}")
            if "seq" in data:
                number = (data["table_id"], data["seat"], data["seq"])
                if numbers.setdefault(number, message.body) != message.body:
                    self._fault(f"one seq twice: {numbers[number]!r} {message.body!r}")

    def _check_outbox(self, outbox: list[Message]) -> None:
        """What is published stands in records that count, and all of that is published."""
        to_tell = {one.body for one in outbox if one.exchange == DECISIONS}
        told = {one.body for one in self._published}
        for body in told - to_tell:
            self._fault(f"published, but in no record that counts: {body!r}")
        for body in to_tell - told:
            self._fault(f"in a record that counts, but never published: {body!r}")
        dead = {one.body for one in outbox if one.exchange == DEAD}
        buried = {taken.message.body for taken in self._ran.broker.history[DEAD_LETTERS]}
        if dead != buried:
            self._fault(f"dead letters {buried}, the journals have {dead}")

    # -- What was taken

    def _book(self, journal: str) -> Book:
        stream = self._ran.broker._names[journal]
        assert isinstance(stream, Stream)
        counting, book = Counting(proven=True), Book()
        part = self._ran.plan.sizes.get("actors.journal.records.PART", records.PART)
        for offset, message in stream._messages.items():
            delivery = Delivery(
                0, message.exchange, message.routing_key, message.body,
                kind=message.kind, headers=message.headers, offset=offset,
            )  # fmt: skip
            for found in counting.hear(delivery):
                book.records.append(records.plain(found.body))
                first = found.number - (len(found.body) - 1) // part
                key = journal, found.epoch, first
                book.acts += self._ran.traces.acts.get(key, ())
                book.at_record.append(len(book.acts))
                book.covers.append(self._ran.traces.covers.get(key, 0))
        return book

    def _arrived(self, queue: str) -> Iterator[Arrived]:
        mark = 0
        for taken in self._ran.broker.history[queue]:
            message = taken.message
            if message.kind == PROBE:
                continue
            mark = max(mark, taken.at)
            if message.kind == KIND:
                continue
            try:
                event = decode(message.body)
            except Refusal:
                yield Arrived(message, mark, None)
                continue
            right = is_addressed_right(message.routing_key, event.table_id)
            is_moved = not right and messages.MOVED not in message.headers
            yield Arrived(message, mark, None if is_moved else event, is_moved)

    def _check_covered(self, queue: str, book: Book, arrived: list[Arrived]) -> None:
        """What is acknowledged is covered, and each message has got its verdict, once."""
        covered = Counter(self._new_keys(book))
        acknowledged = Counter(
            _key(message)
            for message in self._ran.broker.acknowledged[queue]
            if message.kind not in {KIND, PROBE}
        )
        for key, count in acknowledged.items():
            if covered[key] < count:
                self._fault(f"{queue}: {count} acknowledged, {covered[key]} covered")
        copies = Counter(_key(one.message) for one in arrived)
        for key, count in copies.items():
            if covered[key] < count:
                self._fault(f"{queue}: {count} arrived, {covered[key]} covered")
        taken = Counter(act.event for act in book.acts if isinstance(act, Took))
        applicable = Counter(one.event.id for one in arrived if one.event)
        for event, count in taken.items():
            if count > applicable[event]:
                self._fault(f"{queue}: {event} applied {count} times, came {applicable[event]}")
        for event in applicable.keys() - taken.keys():
            self._fault(f"{queue}: {event} was never applied")

    def _new_keys(self, book: Book) -> Iterator[str]:
        """Yield the keys that each record covers; some carry older ones, too, before their own."""
        for record, new in zip(book.records, book.covers, strict=True):
            yield from record["covered"][len(record["covered"]) - new :]

    def _check_order(self, queue: str, book: Book, arrived: list[Arrived]) -> None:
        """Messages take effect in the order of the queue."""
        took = dict.fromkeys(act.event for act in book.acts if isinstance(act, Took))
        came = dict.fromkeys(one.event.id for one in arrived if one.event)
        if [*took] != [one for one in came if one in took]:
            self._fault(f"{queue}: order {[*took]}, in the queue {[*came]}")

    def _check_times(self, queue: str, book: Book, arrived: list[Arrived]) -> None:
        """Arrivals are the stamps, and no deadline fires before what came before it is read."""
        stamps: dict[str, set[int]] = defaultdict(set)
        for one in arrived:
            if one.event:
                stamps[one.event.id].add(one.at * MILLISECOND)
        waiting = [(min(at), event) for event, at in stamps.items()]
        waiting.sort(reverse=True)
        took: set[str] = set()
        for act in book.acts:
            if isinstance(act, Took):
                took.add(act.event)
                if act.arrival not in stamps[act.event]:
                    self._fault(f"{queue}: {act} is stamped {stamps[act.event]}")
            elif isinstance(act, Fired):
                while waiting and waiting[-1][0] < act.before:
                    _, event = waiting.pop()
                    if event not in took:
                        self._fault(f"{queue}: {act}, but {event} was not read")

    def _check_interruptions(self, queue: str, book: Book) -> None:
        """Each silence is an interruption, and within it nothing is decided."""
        options = self._ran.plan.options
        skew = max(map(abs, self._ran.plan.ahead), default=0)
        longest = from_seconds(options.settle_seconds) + 2 * skew
        before: int | None = book.records[0]["sign_of_life"] if book.records else None
        noticed: list[Interruption] = []
        acts = iter(book.acts)
        done = 0
        for record, upto in zip(book.records, book.at_record, strict=True):
            earlier = list(noticed)  # what this record has decided, it may have before it noticed
            for _ in range(upto - done):
                act = next(acts)
                if isinstance(act, Noticed):
                    noticed.append(act.interruption)
                if not isinstance(act, Fired):
                    continue
                if before is not None and act.before - before > longest:
                    kept = [one for one in noticed if one.start <= before < one.end]
                    if not kept:
                        told = f"{_since(before)} to {_since(act.before)}"
                        self._fault(f"{queue}: a silence that nobody noticed, {told}")
                before = max(act.before, before or 0)
            done = upto
            for decision in _decisions(records.outgoing(one).message for one in record["outbox"]):
                at = from_rfc3339(decision["deadline"])
                if any(one.start <= at < one.end for one in earlier):
                    self._fault(f"{queue}: decided within an interruption: {decision}")

    # -- What should have come of it

    def _check_outcome(self, queue: str, book: Book, arrived: list[Arrived]) -> None:
        """Compare with the same arrivals without a broker."""
        told = [one for one in book.outbox if one.exchange == DECISIONS]
        dead = Counter(one.body for one in book.outbox if one.exchange == DEAD)
        replay = Replay(self._ran.plan, book.acts)
        expected = self._in_short(one.cloudevent() for one in replay.feed(arrived))
        self.faults += [f"a fault of the shard: {fault!r}" for fault in replay.shard.faults]
        came = self._in_short(json.loads(one.body) for one in told)
        for seat in sorted(expected.keys() | came.keys()):
            if expected[seat] != came[seat]:
                self._fault(f"{queue}: {seat}: {_difference(expected[seat], came[seat])}")
        copies = Counter(one.message.body for one in arrived)
        if dead.keys() != replay.refused:
            self._fault(f"{queue}: dead letters {dead}, expected {replay.refused}")
        for body, count in dead.items():
            if count > copies[body]:
                self._fault(f"{queue}: {count} dead letters of {copies[body]} {body!r}")
        undisturbed = self._decided(Replay(self._ran.plan).feed(arrived))
        self._compare(queue, undisturbed, {_turn(one): one for one in _decisions(told)}, book)

    def _compare(self, queue: str, undisturbed: Decisions, came: Decisions, book: Book) -> None:
        for turn, decision in came.items():
            other = undisturbed.get(turn)
            if not book.interruptions:
                if other is None or {**other, "late_ms": 0} != {**decision, "late_ms": 0}:
                    self._fault(f"{queue}: {decision}, undisturbed {other}")
            elif other is None or decision["deadline"] < other["deadline"]:
                self._fault(f"{queue}: earlier by an interruption: {decision}, else {other}")
        if not book.interruptions:
            for turn in undisturbed.keys() - came.keys():
                self._fault(f"{queue}: undecided, undisturbed {undisturbed[turn]}")

    def _in_short(self, events: Iterable[dict[str, Any]]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for event in events:
            if event["type"] != "seatwarden.event.refused.v1":
                data = {**event["data"], "late_ms": 0, "type": event["type"], "at": event["time"]}
                found[event.get("subject", "storms")].append(json.dumps(data))
        return found

    def _decided(self, outputs: Iterable[Output]) -> Decisions:
        told = (messages.of_output(one) for one in outputs)
        return {_turn(one): one for one in _decisions(told)}


def _decisions(told: Iterable[Message]) -> Iterator[dict[str, Any]]:
    for message in told:
        if message.routing_key.startswith("decision.made."):
            yield json.loads(message.body)["data"]


def _turn(decision: dict[str, Any]) -> tuple[str, str]:
    return decision["table_id"], decision["turn_id"]


def _key(message: Message) -> str:
    return key_of(Delivery(0, message.exchange, message.routing_key, message.body))


def _since(instant: int) -> str:
    return f"{(instant - START) / 1_000_000:.6f}"


def _difference(expected: list[str], came: list[str]) -> str:
    pairs = zip(expected, came, strict=False)
    same = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(expected), len(came)))
    return f"expected {expected[same : same + 1]}, came {came[same : same + 1]} (at {same})"
