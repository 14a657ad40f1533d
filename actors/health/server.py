"""The pages, served in the worker's own loop for as long as it works.

Without its own handlers of signals, without threads: that they answer says that the loop runs.  The
worker does not depend on them: should they fail, the log says so, and probes find out.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from structlog.typing import FilteringBoundLogger

from actors.health.backlogs import Backlogs
from actors.health.exposition import Exposition
from actors.health.loop import feel_the_loop
from actors.health.pages import pages
from actors.work.worker import Worker

LETS_FINISH = 1
"""Seconds for requests that are being answered when the worker has ended."""
AT_ONCE = 100
"""So many connections at the most; who comes then is told 503."""


class _Server(uvicorn.Server):
    """Signals are the worker's: it ends the server."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def answering(
    listener: socket.socket, worker: Worker, log: FilteringBoundLogger
) -> AsyncIterator[None]:
    """Answer on a socket that listens; it is closed afterwards."""
    backlogs = Backlogs(worker)
    exposition = Exposition(worker, backlogs)
    server = _Server(
        uvicorn.Config(
            pages(worker, exposition),
            lifespan="off",
            http="h11",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=AT_ONCE,
            timeout_graceful_shutdown=LETS_FINISH,
        )
    )

    def tell(task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (fault := task.exception()) is not None:
            log.error("a fault of ours ended what tells of our health", exc_info=fault)

    host, port = listener.getsockname()[:2]
    log.info("answers /live, /ready and /metrics", host=host, port=port)
    serving = asyncio.create_task(server.serve([listener]))
    beside = [
        asyncio.create_task(backlogs.run()),
        asyncio.create_task(feel_the_loop(worker.figures.loop)),
    ]
    for task in (serving, *beside):
        task.add_done_callback(tell)
    try:
        yield
    finally:
        for task in beside:
            task.cancel()
        server.should_exit = True
        await asyncio.wait([serving], timeout=2 * LETS_FINISH)
        serving.cancel()
        await asyncio.wait([serving, *beside])
        listener.close()
