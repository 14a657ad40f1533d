"""Accelerated time that waits: for events to be sent, and for a process that stands still."""

from __future__ import annotations

import asyncio
import time

from statecharts.instants import SECOND

_LEAP = SECOND


class PacedClock:
    """A clock that runs `speed` times as fast as real time, but never past what is to come first.

    `hold` says before which instant something has to happen.  Between two looks at it, no more
    than a second of its time passes: a process that was stopped, or a slow terminal, costs real
    time and no deadline.  So a run is the same on any machine.
    """

    def __init__(self, start: int, speed: float) -> None:
        """Begin at an instant, in microseconds since 1970."""
        self.speed = speed
        self._now = start
        self._looked = time.monotonic_ns()
        self._hold: int | None = None

    def hold(self, instant: int | None) -> None:
        """Stop at an instant until told otherwise."""
        self.now()
        self._hold = instant

    def now(self) -> int:
        looked = time.monotonic_ns()
        then = self._now + min(_LEAP, int((looked - self._looked) * self.speed) // 1_000)
        self._looked = looked
        self._now = then if self._hold is None else max(self._now, min(then, self._hold))
        return self._now

    async def wait(self, woken: asyncio.Event, until: int | None) -> None:
        while not woken.is_set() and (until is None or self.now() < until):
            ahead = _LEAP // 2 if until is None else min(_LEAP // 2, until - self._now)
            try:
                async with asyncio.timeout(ahead / SECOND / self.speed):
                    await woken.wait()
            except TimeoutError:
                continue
