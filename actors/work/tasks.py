"""Small things that asyncio leaves to its users."""

from __future__ import annotations

import asyncio


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
