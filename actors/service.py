"""The service: a worker on RabbitMQ, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from pathlib import Path

from structlog.typing import FilteringBoundLogger

from actors.address import redacted
from actors.clock import SystemClock
from actors.logs import Foreign
from actors.rabbit import RabbitTransport
from actors.settings import Settings
from actors.work.worker import Worker
from statecharts.policy import Policies


async def serve(settings: Settings, known: Policies, log: FilteringBoundLogger) -> None:
    """Run until SIGTERM or SIGINT: then what was taken is finished, confirmed and acknowledged.

    Raises TransportError, GivenUp.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    logging.getLogger("asyncio").addHandler(Foreign(log))
    ready = ReadyFile(settings.ready_file)
    log.info(
        "starting",
        broker=redacted(settings.amqp_url),
        policy=known.default.name,
        digest=known.default.digest,
    )
    name = f"{socket.gethostname()}-{os.getpid()}"
    transport = RabbitTransport(settings.amqp_url, name=f"seatwarden {name}")
    await Worker(transport, known, SystemClock(), settings.options, log, name, ready).run(stop)


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
