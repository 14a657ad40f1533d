"""Closing a consumer, with an end: a broker short of memory reads nothing, not even that."""

from __future__ import annotations

import asyncio

from actors.transport import ConnectionLost, Consumer

SECONDS = 2.0


async def close(consumer: Consumer) -> None:
    """Close a consumer; raises ConnectionLost if the broker does not answer.

    Who is being cancelled goes on all the same: his connection ends next.
    """
    try:
        async with asyncio.timeout(SECONDS):
            await consumer.close()
    except TimeoutError:
        task = asyncio.current_task()
        if task is None or not task.cancelling():
            raise ConnectionLost("the broker does not answer when a channel is closed") from None
