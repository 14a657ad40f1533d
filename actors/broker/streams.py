"""Reading a stream up to where it ends now."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from actors.broker.closing import close
from actors.transport import Connection, ConnectionLost, Delivery, Message, Published, Since

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PREFETCH = 500
LOOK = "seatwarden.look"
"""Kind of a message without meaning, by which a reader finds the end of a stream."""


class StreamMissing(Exception):
    """There is no such stream, or it takes nothing; the message names it."""


async def end_of(connection: Connection, stream: str) -> int:
    """Return an offset behind all that has been confirmed; raises StreamMissing, ConnectionLost."""
    if await connection.survey(stream) is None:
        raise StreamMissing(f"the stream {stream} is missing")
    nonce = uuid4().hex
    arrived: asyncio.Queue[Delivery] = asyncio.Queue()
    reader = await connection.read(stream, arrived.put_nowait, since="next", prefetch=PREFETCH)
    try:
        look = Message("", stream, nonce.encode(), "text/plain", LOOK)
        if await connection.publish(look) is not Published.CONFIRMED:
            raise StreamMissing(f"the stream {stream} takes no messages")
        while True:
            delivery = await _next(connection, arrived)
            if delivery.kind == LOOK and delivery.body == look.body:
                return delivery.offset or 0
            await reader.acknowledge(delivery.tag)
    finally:
        await close(reader)


@asynccontextmanager
async def messages(
    connection: Connection, stream: str, since: Since, until: int
) -> AsyncIterator[AsyncIterator[Delivery]]:
    """Give the messages of a stream from an offset on, up to the one before `until`.

    A message at `until` or behind it must exist.  Raises ConnectionLost.
    """
    arrived: asyncio.Queue[Delivery] = asyncio.Queue()
    reader = await connection.read(stream, arrived.put_nowait, since=since, prefetch=PREFETCH)

    async def read() -> AsyncIterator[Delivery]:
        while True:
            delivery = await _next(connection, arrived)
            if (delivery.offset or 0) >= until:
                return
            yield delivery
            if delivery.tag % (PREFETCH // 2) == 0:
                await reader.acknowledge(delivery.tag, multiple=True)

    try:
        yield read()
    finally:
        await close(reader)


async def _next(connection: Connection, arrived: asyncio.Queue[Delivery]) -> Delivery:
    """Return the next message; raises ConnectionLost rather than wait for one for ever."""
    if not arrived.empty():
        return arrived.get_nowait()
    get = asyncio.ensure_future(arrived.get())
    try:
        ends: set[asyncio.Future[Any]] = {get, connection.lost}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if not get.done():
            raise ConnectionLost(connection.lost.result())
        return get.result()
    finally:
        get.cancel()
