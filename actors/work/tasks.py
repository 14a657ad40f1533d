"""Small things that asyncio leaves to its users."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def only(
    several: BaseExceptionGroup[BaseException], expected: tuple[type[Exception], ...]
) -> BaseException:
    """Return the one that ended it all; the whole group if that is anything unexpected."""
    one: BaseException = several
    while isinstance(one, BaseExceptionGroup):
        one = one.exceptions[0]
    _, others = several.split(expected)
    return several if others else one


async def pause_for(seconds: float, stop: asyncio.Event) -> None:
    """Wait, unless told to stop meanwhile."""
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return


async def unless_stopped(work: Coroutine[Any, Any, T], stop: asyncio.Event) -> T | None:
    """Return what comes of some work; None if told to stop first, and then it has been cancelled.

    Raises what it raises.
    """
    task, stopped = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
        return await task if task.done() else None
    finally:
        stopped.cancel()
        task.cancel()
        await asyncio.wait((task, stopped))
