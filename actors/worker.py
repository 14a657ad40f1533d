"""A worker: holds a shard on a broker, connects again when that is lost, stops in good order."""

from __future__ import annotations

import asyncio
import random

from structlog.typing import FilteringBoundLogger

from actors.clock import Clock
from actors.intake import Intake
from actors.journal import Journal, MemoryJournal
from actors.lease import Lease
from actors.options import Options
from actors.outbox import Outbox
from actors.shard import Shard
from actors.topology import shard_queue, topology
from actors.transport import CannotConnect, Connection, ConnectionLost, Transport

FIRST_DELAY = 0.1
MAX_DELAY = 10.0


class GivenUp(Exception):
    """The broker could not be reached for `give_up_seconds`; the message says why."""


class Worker:
    """One shard's life in one process: its state survives a lost connection."""

    def __init__(
        self,
        transport: Transport,
        shard: Shard,
        clock: Clock,
        options: Options,
        log: FilteringBoundLogger,
        journal: Journal | None = None,
    ) -> None:
        """`journal` is one in memory if left out."""
        self.intake = Intake(shard, options, log)
        self.outbox = Outbox(log)
        self.ready = asyncio.Event()
        """Set while the shard consumes and is confirmed to."""
        self._transport = transport
        self._clock = clock
        self._options = options
        self._log = log
        self._journal = journal or MemoryJournal(keys=2 * options.prefetch)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set; raises GivenUp, or what the topology is refused for."""
        await self._restore()
        while not stop.is_set():
            connection = await self._connect(stop)
            if connection is None:
                break
            try:
                await connection.declare(topology())
                await self._lease(connection).hold(stop, self.ready)
            except ConnectionLost as lost:
                self._log.warning("connection lost", reason=str(lost))
            finally:
                self.ready.clear()
                await connection.close()
        self._log.info("stopped", **self.intake.counts, unrouted=self.outbox.unrouted)

    def _lease(self, connection: Connection) -> Lease:
        return Lease(
            connection, shard_queue(0), self.intake, self.outbox, self._journal, self._clock,
            self._options,
        )  # fmt: skip

    async def _restore(self) -> None:
        record = await self._journal.restore()
        if record is not None:
            self.intake.restore(record)
            self.outbox.restore(record.outbox, record.sent_through)

    async def _connect(self, stop: asyncio.Event) -> Connection | None:
        """Connect, with jittered back-off; None if told to stop meanwhile."""
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + self._options.give_up_seconds
        delay = FIRST_DELAY
        while not stop.is_set():
            try:
                connection = await self._transport.connect()
            except CannotConnect as error:
                if loop.time() >= give_up_at:
                    raise GivenUp(str(error)) from None
                pause = min(delay * random.uniform(0.5, 1.0), give_up_at - loop.time())  # noqa: S311
                self._log.warning(
                    "cannot reach the broker", reason=str(error), again_in=round(pause, 1)
                )
                delay = min(2 * delay, MAX_DELAY)
                await _pause(pause, stop)
            else:
                self._log.info("connected", broker=connection.broker_version)
                return connection
        return None


async def _pause(seconds: float, stop: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return
