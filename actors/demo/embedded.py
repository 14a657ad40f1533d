"""The service inside the demo: a worker on a broker in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from actors.clock import Clock
from actors.logs import make_log
from actors.memory import MemoryBroker, MemoryTransport
from actors.transport import Connection
from actors.work.options import Options
from actors.work.worker import Worker
from statecharts.policy import Policies

# The clock of the demo stands still when the process does: nothing ever interrupts it.
OPTIONS = Options(broker_stamps=True, all_changes=True, settle_seconds=3600, shards=1)


@asynccontextmanager
async def embedded(known: Policies, clock: Clock) -> AsyncIterator[Connection]:
    """Give a connection to a broker on which a worker is ready."""
    transport = MemoryTransport(MemoryBroker(clock, stamps=True))
    worker = Worker(transport, known, clock, OPTIONS, make_log("auto", "error"))
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(worker.run(stop))
        await worker.ready.wait()
        connection = await transport.connect()
        try:
            yield connection
        finally:
            await connection.close()
            stop.set()
