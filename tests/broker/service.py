"""The real command as a process of its own, which tests may end, stop and freeze."""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.broker.guard import Guarded

STOP_SECONDS = 30
SOON = 20  # seconds; a process starts within one, on a busy machine within a few
ROOT = Path(__file__).parents[2]

# Not the installed command: the one of these sources.
_MAIN = "from actors.cli import main; main()"


class ServiceError(Exception):
    """The service did not do what a test waits for; the message has its log."""


class Service:
    """`seatwarden run`, from the start of the `async with` until its end at the latest."""

    def __init__(
        self, url: str, env: Mapping[str, str] | None = None, args: Sequence[str] = ()
    ) -> None:
        """`env` are further environment variables, `args` further flags."""
        command = ("run", "--amqp", url, "--log-format", "json", *args)
        self._argv = (sys.executable, "-c", _MAIN, *command)
        # Settings of whoever runs the tests are not the tests'.
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("SEATWARDEN_")}
        self._environment = {**inherited, "PYTHONPATH": str(ROOT), **(env or {})}
        self._process: Guarded | None = None

    async def __aenter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="seatwarden-service-")
        self.log = Path(self._folder.name) / "log"
        self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        self._folder.cleanup()

    def start(self) -> None:
        """Start it, again if need be: its log goes on."""
        assert self._process is None
        with self.log.open("ab") as log:
            self._process = Guarded(self._argv, self._environment, log, log)

    @property
    def status(self) -> int | None:
        """With what it has ended by itself, negative for a signal; None while it runs."""
        return self._running.status

    async def stop(self) -> int:
        """End it as an operator does, and return its exit status; ServiceError."""
        self._running.terminate()
        return await self.ended(STOP_SECONDS)

    def reload(self) -> None:
        """Have it read its policies again, as an operator does."""
        self._running.hang_up()

    async def ended(self, seconds: float = SOON) -> int:
        """Wait until it ends by itself, and return its exit status; ServiceError."""
        await self._until(lambda: self._running.status is not None, seconds, "does not end")
        status = self._running.status
        assert status is not None
        self.kill()
        return status

    def kill(self) -> None:
        """End it as `kill -9` does, if it runs."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def freeze(self) -> None:
        """Stop it in the middle of what it does: its connection stays open."""
        self._running.freeze()

    def thaw(self) -> None:
        """Let it go on after `freeze`."""
        self._running.thaw()

    def log_lines(self) -> list[dict[str, Any]]:
        """Return the log, of all starts."""
        whole, _, _ = self.log.read_text().rpartition("\n")
        return [_parsed(line) for line in whole.splitlines()]

    async def wait_for(
        self, event: str, seconds: float = SOON, *, after: int = 0
    ) -> dict[str, Any]:
        """Return the first line of the log about `event`, leaving out the first `after` lines.

        `len(service.log_lines())`, taken before something is done, makes an `after`. Raises
        ServiceError when no such line comes, or cannot come as the process has ended.
        """
        found: list[dict[str, Any]] = []

        def logged() -> bool:
            alive = self._process is not None and self._process.status is None
            found.extend(line for line in self.log_lines()[after:] if line.get("event") == event)
            if not found and not alive:
                raise ServiceError(self._told(f"ended without {event!r}"))
            return bool(found)

        await self._until(logged, seconds, f"does not log {event!r}")
        return found[0]

    @property
    def _running(self) -> Guarded:
        assert self._process is not None, "it was killed or never started"
        return self._process

    async def _until(self, condition: Callable[[], bool], seconds: float, otherwise: str) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise ServiceError(self._told(f"{otherwise} within {seconds} s"))
            await asyncio.sleep(0.02)

    def _told(self, what: str) -> str:
        return f"the service {what}; its log:\n{self.log.read_text(errors='replace')[-5000:]}"


def _parsed(line: str) -> dict[str, Any]:
    """Return a line of the log; a line that is none, such as of a traceback, under `text`."""
    try:
        parsed = json.loads(line)
    except ValueError:
        return {"text": line}
    return parsed if isinstance(parsed, dict) else {"text": line}
