"""`seatwarden reshard N`: other shards, in a window without workers and publishers.

What the old queues hold is worked off first; then the journals are added up, and divided among new
ones of a new generation.  The new layout is in force with one word, at the end: whatever fails
before, the old one still is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from structlog.typing import FilteringBoundLogger

from actors.broker import layout
from actors.broker.layout import IN_FORCE, PREPARED, ensure
from actors.broker.topology import EVENTS, WORKERS, Layout
from actors.clock import Clock
from actors.journal import Journal, Record, begin
from actors.shards.pictures import Picture
from actors.transport import Connection, ConnectionLost, Delivery, Message, Published, Transport
from actors.work.intake import key_of
from actors.work.options import Options
from actors.work.ticks import is_probe, is_tick
from actors.work.worker import Worker
from statecharts.policy import Policies

WATCH_SECONDS = 3.0
"""For so long nothing may be published before it begins."""
QUIET_ROUNDS = 3
"""So many seconds in a row the queues must be empty before they count as worked off."""
QUIET_SECONDS = 0.5
"""After so long without a message a queue has given all it held."""


class NotNow(Exception):
    """Somebody works or publishes, or something is in the way; nothing has been changed."""


class Resharding:
    """One change of the number of shards."""

    def __init__(
        self,
        transport: Transport,
        policies: Policies,
        clock: Clock,
        options: Options,
        log: FilteringBoundLogger,
    ) -> None:
        """`options` are those of a worker."""
        self._transport = transport
        self._policies = policies
        self._clock = clock
        self._options = options
        self._log = log

    async def run(self, shards: int) -> Layout:
        """Change to so many shards; raises NotNow, JournalError, LayoutError, TransportError."""
        connection = await self._transport.connect()
        try:
            old = await layout.find(connection)
            if old is None:
                raise NotNow("there is no layout on this broker: `seatwarden topology apply` first")
            await self._check_quiet(connection, old)
            await self._work_off(connection, old)
            return await self._change(connection, old, shards)
        finally:
            await connection.close()

    async def _check_quiet(self, connection: Connection, old: Layout) -> None:
        survey = await connection.survey(WORKERS)
        if survey and survey.consumers:
            raise NotNow(f"{survey.consumers} workers are at work: stop them first")
        before = await self._depth(connection, old)
        await asyncio.sleep(WATCH_SECONDS)
        after = await self._depth(connection, old)
        if after > before:
            raise NotNow(
                f"{after - before} messages came within {WATCH_SECONDS:g} s: stop those who publish"
            )

    async def _depth(self, connection: Connection, old: Layout) -> int:
        surveys = [await connection.survey(old.queue(shard)) for shard in range(old.shards)]
        return sum(survey.messages for survey in surveys if survey)

    async def _work_off(self, connection: Connection, old: Layout) -> None:
        """Have a worker take what the old queues hold."""
        stop = asyncio.Event()
        worker = Worker(
            self._transport, self._policies, self._clock, self._options, self._log, "reshard"
        )
        working = asyncio.ensure_future(worker.run(stop))
        try:
            quiet = 0
            while quiet < QUIET_ROUNDS:
                await asyncio.sleep(1)
                if working.done():
                    working.result()
                survey = await connection.survey(WORKERS)
                if survey and survey.consumers > 1:
                    raise NotNow(f"{survey.consumers - 1} workers have come: stop them first")
                live = worker.owns(old.shards)
                quiet = quiet + 1 if live and not await self._depth(connection, old) else 0
        finally:
            stop.set()
            await working

    async def _change(self, connection: Connection, old: Layout, shards: int) -> Layout:
        told = await layout.history(connection)
        generation = max(one.generation for one, _ in told) + 1
        new = Layout(generation, shards)
        await layout.tell(connection, new, PREPARED)
        journals = [
            Journal(connection, old.journal(shard), f"reshard-{generation}-{shard}")
            for shard in range(old.shards)
        ]
        try:
            restored = [await journal.open(self._policies) for journal in journals]
            unsent = sum(len(record.outbox) for record in restored)
            if unsent:
                raise NotNow(f"{unsent} messages of ours could not be sent: run a worker first")
            await ensure(connection, new.journals())
            for shard, record in enumerate(divided(restored, new)):
                await begin(connection, new.journal(shard), record)
            await ensure(connection, new.queues())
            await connection.unbind(old.bindings().bindings)
            await connection.declare(new.bindings())
            await layout.tell(connection, new, IN_FORCE)
        finally:
            for journal in journals:
                await journal.close()
        for shard, record in enumerate(restored):
            await self._move_rest(connection, old.queue(shard), set(record.covered))
            await connection.delete(old.queue(shard))
        return new

    async def _move_rest(self, connection: Connection, queue: str, covered: set[str]) -> None:
        """Bring what came at the last moment to the new queues."""
        arrived: asyncio.Queue[Delivery] = asyncio.Queue()
        consumer = await connection.consume(queue, arrived.put_nowait, prefetch=1000)
        try:
            while True:
                try:
                    async with asyncio.timeout(QUIET_SECONDS):
                        delivery = await arrived.get()
                except TimeoutError:
                    return
                if not (is_tick(delivery) or is_probe(delivery) or key_of(delivery) in covered):
                    moved = Message(EVENTS, delivery.routing_key, delivery.body)
                    if await connection.publish(moved) is not Published.CONFIRMED:
                        raise ConnectionLost(f"the new queues do not take what {queue} still held")
                await consumer.acknowledge(delivery.tag, multiple=True)
        finally:
            await consumer.close()


def divided(restored: Iterable[Record], new: Layout) -> list[Record]:
    """Add up what the old shards knew, and divide it among the new ones.

    What a shard knows beside its seats and tables goes to each: resets, interruptions (they only
    give time), keys, marks.
    """
    old = list(restored)
    pictures = [record.changes for record in old]
    common = Record(
        Picture(
            {},
            {},
            tuple(dict.fromkeys(reset for one in pictures for reset in one.resets)),
            tuple(dict.fromkeys(each for one in pictures for each in one.interruptions)),
            max(one.seq_floor for one in pictures),
            min(one.swept for one in pictures),
            max(one.mark for one in pictures),
        ),
        covered=tuple(dict.fromkeys(key for record in old for key in record.covered)),
        keep=sum(record.keep for record in old),
        sign_of_life=min(record.sign_of_life or 0 for record in old),
        trying={key: tries for record in old for key, tries in record.trying.items()},
    )
    seats = [(key, known) for one in pictures for key, known in one.seats.items()]
    tables = [(key, known) for one in pictures for key, known in one.tables.items()]
    return [
        replace(
            common,
            changes=replace(
                common.changes,
                seats={key: known for key, known in seats if new.shard_of(key[0]) == shard},
                tables={key: known for key, known in tables if new.shard_of(key) == shard},
            ),
        )
        for shard in range(new.shards)
    ]
