"""The service: a worker on RabbitMQ, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from pathlib import Path

from structlog.typing import FilteringBoundLogger

from actors import policies
from actors.address import redacted
from actors.clock import SystemClock
from actors.health.endpoint import endpoint, listen
from actors.logs import Foreign
from actors.rabbit import RabbitTransport
from actors.reloading import Reloading, changes, tell_replaced
from actors.settings import Settings
from actors.work.worker import Worker
from statecharts.policy import Policies


async def serve(settings: Settings, known: Policies, log: FilteringBoundLogger) -> None:
    """Run until SIGTERM or SIGINT: then what was taken is finished, confirmed and acknowledged.

    SIGHUP has the policies read again.  Raises TransportError, GivenUp, HealthError.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    logging.getLogger("asyncio").addHandler(Foreign(log))
    listener = None if settings.health is None else listen(*endpoint(settings.health))
    ready = ReadyFile(settings.ready_file)
    log.info(
        "starting",
        broker=redacted(settings.amqp_url),
        policy=known.default.name,
        digest=known.default.digest,
        own=changes(policies.bundled(), known)["added"],
    )
    tell_replaced(known, log)
    name = f"{socket.gethostname()}-{os.getpid()}"
    transport = RabbitTransport(settings.amqp_url, name=f"seatwarden {name}")
    worker = Worker(transport, known, SystemClock(), settings.options, log, name, ready)
    read = partial(policies.for_service, settings.policy, settings.policies)
    reloading = Reloading(known, read, worker.use, log)
    loop.add_signal_handler(signal.SIGHUP, reloading.ask)
    beside = asyncio.create_task(reloading.run())
    try:
        async with nullcontext() if listener is None else _answering(listener, worker, log):
            await worker.run(stop)
    finally:
        beside.cancel()


def _answering(
    listener: socket.socket, worker: Worker, log: FilteringBoundLogger
) -> AbstractAsyncContextManager[None]:
    from actors.health.server import answering  # noqa: PLC0415 - needs the extra

    logging.getLogger("uvicorn").addHandler(Foreign(log))
    return answering(listener, worker, log)


class ReadyFile(asyncio.Event):
    """An event with a file that exists while it is set."""

    def __init__(self, file: Path | None) -> None:
        """Remove a file that was left behind."""
        super().__init__()
        self._file = file
        self.clear()

    def set(self) -> None:
        super().set()
        if self._file is not None:
            self._file.touch()

    def clear(self) -> None:
        super().clear()
        if self._file is not None:
            self._file.unlink(missing_ok=True)
