"""An event loop without real time: one seed chooses the order in which what is ready runs.

Time stands still while anything can run, and then jumps to the next timer.  Every callback belongs
to a process (`PROCESS`, in its context): a process can be frozen, as by SIGSTOP, or killed, as by
SIGKILL; then none of its callbacks runs any more, not even those that would clean up.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import random
from asyncio.events import Handle, TimerHandle
from collections import Counter
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any

from actors.clock import Clock

PROCESS: ContextVar[str] = ContextVar("process", default="")
"""The process that a callback belongs to; "" is the world, which never stops."""
MICRO = 1_000_000
_numbers = itertools.count()


def context_of(process: str) -> Context:
    """Return a context in which callbacks belong to a process."""
    context = copy_context()
    context.run(PROCESS.set, process)
    return context


class Stuck(Exception):
    """Nothing can happen any more, or too much happens without an end."""


class SimTask(asyncio.Task[Any]):
    """A task whose place in a set does not depend on its address."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self._number = next(_numbers)
        super().__init__(*arguments, **keywords)

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


class SimFuture(asyncio.Future[Any]):
    """The same for futures."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self._number = next(_numbers)
        super().__init__(*arguments, **keywords)

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


class SimLoop(asyncio.BaseEventLoop):
    """A loop whose only input is chance."""

    def __init__(self, chance: random.Random, *, in_order: bool, max_steps: int) -> None:
        """`in_order`: run what is ready first come, first served, as asyncio's own loops do."""
        super().__init__()
        self.steps: Counter[str] = Counter()
        """Callbacks run, by process."""
        self.total = 0
        self.at_step: dict[str, tuple[int, Callable[[], None]]] = {}
        """For a process: after how many steps to do what."""
        self.tasks: list[SimTask] = []
        self.problems: list[str] = []
        self._chance = chance
        self._in_order = in_order
        self._max_steps = max_steps
        self._micros = 0
        self._able: list[Handle] = []
        self._next = 0
        self._still: dict[str, list[Handle]] = {}
        """What frozen and killed processes would do."""
        self.set_exception_handler(self._note_problem)

    def time(self) -> float:
        return self._micros / MICRO

    # -- Processes

    def freeze(self, process: str) -> None:
        """Let nothing of a process run until `thaw`."""
        self._still.setdefault(process, [])

    def thaw(self, process: str) -> None:
        """Let a process go on, with all that has become due."""
        self._able.extend(self._still.pop(process, ()))

    def is_still(self, process: str) -> bool:
        """Whether a process is frozen or dead."""
        return process in self._still

    def bury(self) -> None:
        """Cancel everything that there is, the dead included, and let it end."""
        self._max_steps = self.total + 500_000
        self.at_step.clear()
        self.set_exception_handler(lambda *_: None)
        for process in list(self._still):
            self.thaw(process)
        # Again and again: a group of tasks that fails just then forgets that it was cancelled.
        while open_tasks := [task for task in self.tasks if not task.done()]:
            for task in open_tasks:
                task.cancel()
            self.run_until_complete(asyncio.wait(open_tasks, timeout=0.5))
        for task in self.tasks:
            if task.done() and not task.cancelled():
                task.exception()

    # -- What asyncio asks of a loop

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, Any], *, name: str | None = None, context: Any = None
    ) -> SimTask:
        task = SimTask(coro, loop=self, name=name, context=context)
        self.tasks.append(task)
        return task

    def create_future(self) -> SimFuture:
        return SimFuture(loop=self)

    def _process_events(self, event_list: object) -> None:
        """Nothing comes from outside."""

    def _write_to_self(self) -> None:
        """Nobody sleeps."""

    def _timer_handle_cancelled(self, handle: TimerHandle) -> None:
        """It is dropped when it is due."""

    def _run_once(self) -> None:
        """Run one callback, if need be after letting time pass."""
        ready: Any = self._ready  # type: ignore[attr-defined]
        able = self._able
        while True:
            if ready:
                able.extend(ready)
                ready.clear()
            if self._next >= len(able):
                able.clear()
                self._next = 0
                self._pass_time()
                if not able:
                    return
            handle = self._take(able)
            if handle._cancelled:
                continue
            process: str = handle._context.get(PROCESS, "")  # type: ignore[attr-defined]
            if process in self._still:
                self._still[process].append(handle)
                continue
            break
        self.total += 1
        self.steps[process] += 1
        handle._run()
        if process in self.at_step and self.steps[process] >= self.at_step[process][0]:
            self.at_step.pop(process)[1]()
        if self.total > self._max_steps:
            self._max_steps += 1_000_000
            raise Stuck(f"{self.total} steps and no end, at {self.time():.6f} s")

    def _take(self, able: list[Handle]) -> Handle:
        if self._in_order:
            self._next += 1
            return able[self._next - 1]
        chosen = int(self._chance.random() * len(able))
        handle = able[chosen]
        able[chosen] = able[-1]
        able.pop()
        return handle

    def _pass_time(self) -> None:
        scheduled: list[TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        while scheduled and scheduled[0]._cancelled:
            heapq.heappop(scheduled)._scheduled = False  # type: ignore[attr-defined]
        if not scheduled:
            if self._stopping:  # type: ignore[attr-defined]
                return
            raise Stuck(f"nothing can happen any more, at {self.time():.6f} s")
        self._micros = max(self._micros, round(scheduled[0].when() * MICRO))
        while scheduled and round(scheduled[0].when() * MICRO) <= self._micros:
            handle = heapq.heappop(scheduled)
            handle._scheduled = False  # type: ignore[attr-defined]
            if not handle._cancelled:
                self._able.append(handle)

    def _note_problem(self, _: object, context: dict[str, Any]) -> None:
        self.problems.append(f"{context['message']}: {context.get('exception')!r}")


class LoopClock(Clock):
    """A process's clock on the loop's time: it may go wrong by a constant."""

    def __init__(self, loop: SimLoop, base: int, ahead: int = 0) -> None:
        """`base` is the loop's beginning in microseconds since 1970."""
        self._loop = loop
        self._base = base + ahead

    def now(self) -> int:
        return self._base + self._loop._micros

    async def wait(self, woken: asyncio.Event, until: int | None) -> None:
        if until is None:
            await woken.wait()
            return
        try:
            async with asyncio.timeout(max(0.0, (until - self.now()) / MICRO)):
                await woken.wait()
        except TimeoutError:
            return
