"""One direction of a connection in memory."""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial


class Pipe:
    """What is put in happens at the loop's next turn or after a latency, in its order.

    Each element has the loop make one call, and each call lets that element through that has waited
    longest: so it does not matter in which order the loop makes them.
    """

    def __init__(self, latency: Callable[[], float] | None) -> None:
        """Make a pipe within a running loop; `latency` is asked for each element, in seconds."""
        self._loop = asyncio.get_running_loop()
        self._latency = latency
        self._latest = 0.0
        self._waiting: deque[Callable[[], object]] = deque()
        self._closed = False
        self.is_held = False
        self._overdue = 0

    def put(self, action: Callable[..., object], *arguments: object) -> None:
        """Have something happen at the other end, after all that was put in before."""
        if self._closed:
            return
        self._waiting.append(partial(action, *arguments))
        if self._latency is None:
            self._loop.call_soon(self._let_through)
        else:
            self._latest = max(self._latest, self._loop.time() + self._latency())
            self._loop.call_at(self._latest, self._let_through)

    def close(self) -> None:
        """Drop what is on its way, and whatever else is put in."""
        self._closed = True
        self._waiting.clear()

    def hold(self) -> None:
        """Let nothing through until `release`."""
        self.is_held = True

    def release(self) -> None:
        """Let through what is overdue, and what comes."""
        self.is_held = False
        while self._overdue:
            self._overdue -= 1
            self._loop.call_soon(self._let_through)

    def _let_through(self) -> None:
        if self.is_held:
            self._overdue += 1
        elif self._waiting:
            self._waiting.popleft()()
