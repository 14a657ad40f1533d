"""The clocks of the runtime: UTC in whole microseconds to speak with, and a way to wait.

The system's clock is read once and then advanced by the monotonic one, so that a stepped clock or
daylight saving moves no deadline.  Tests drive time by hand.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What the runtime needs of time."""

    def now(self) -> int:
        """Microseconds since 1970, UTC; never runs backwards."""

    async def wait(self, woken: asyncio.Event, until: int | None) -> None:
        """Return when `woken` is set, or at the instant `until` at the latest if there is one."""


class SystemClock:
    """Real time, or `speed` times as fast."""

    def __init__(self, speed: float = 1.0) -> None:
        """Anchor the clock to the system's UTC, now."""
        self._speed = speed
        self._anchor = time.time_ns() // 1_000
        self._since = time.monotonic_ns()

    def now(self) -> int:
        return self._anchor + int((time.monotonic_ns() - self._since) * self._speed) // 1_000

    async def wait(self, woken: asyncio.Event, until: int | None) -> None:
        if until is None:
            await woken.wait()
            return
        seconds = (until - self.now()) / self._speed / 1_000_000
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await woken.wait()
        except TimeoutError:
            return


class VirtualClock:
    """Time that stands still until it is advanced."""

    def __init__(self, now: int = 0) -> None:
        """Begin at an instant, in microseconds since 1970."""
        self._now = now
        self._moved = asyncio.Event()

    def now(self) -> int:
        return self._now

    def advance(self, microseconds: int) -> None:
        """Let time pass; waiters whose instant has come go on at the loop's next turn."""
        self._now += microseconds
        self._moved.set()
        self._moved = asyncio.Event()

    async def wait(self, woken: asyncio.Event, until: int | None) -> None:
        while not woken.is_set() and (until is None or self._now < until):
            waits = [asyncio.ensure_future(event.wait()) for event in (woken, self._moved)]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
