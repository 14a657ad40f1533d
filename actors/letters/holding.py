"""Holding the dead letters for a while: they are taken, and what is not acknowledged goes back.

A queue can be looked at in no other way over AMQP.  What goes back is put behind what went back
earlier, so a look at the first few letters would change their order.  All are taken at once,
therefore: the broker gives out in one step as many as a prefetch can ask for, and takes them back
in one step too, sorted, however we end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from actors.broker.closing import close
from actors.broker.topology import DEAD_LETTERS, common
from actors.letters.letter import Letter, read
from actors.letters.wanted import Wanted
from actors.transport import Connection, ConnectionLost, Consumer, Delivery

PREFETCH = 65_535
"""The most that AMQP can say.  Any other number would change the order of the letters."""
PATIENCE_SECONDS = 5.0
"""After so long without a letter there are no more: somebody else has taken the rest."""
COUNTING_SINCE = 4
"""From this major version on RabbitMQ drops what went back 20 times, unless the queue says not."""
DIFFERS = "inequivalent arg"
"""How AMQP calls a queue that is other than wanted."""


class CannotHold(Exception):
    """The letters cannot be taken without harm; the message says why, and what to do."""


class Held(NamedTuple):
    """The letters that are meant, in the order of the queue, and whom to acknowledge them to."""

    letters: Sequence[Letter]
    consumer: Consumer
    looked_at: int
    beyond: int
    """So many more lie behind those that were looked at."""


@asynccontextmanager
async def hold(
    connection: Connection, wanted: Wanted, *, limit_lifted: bool = False
) -> AsyncIterator[Held]:
    """Hold the letters that are meant; afterwards those not acknowledged lie where they lay.

    `limit_lifted`: somebody has seen to it that looking is not counted.  Raises CannotHold,
    TransportError.
    """
    survey = await connection.survey(DEAD_LETTERS)
    if survey is None:
        raise CannotHold(f"there is no queue {DEAD_LETTERS}: `seatwarden topology apply` first")
    if survey.consumers:
        raise CannotHold(
            f"somebody else has taken letters from {DEAD_LETTERS}: two at a time would change"
            " their order. Try again when he is done"
        )
    if not limit_lifted:
        await _check_limit(connection)
    arrived: asyncio.Queue[Delivery] = asyncio.Queue()
    consumer = await connection.consume(DEAD_LETTERS, arrived.put_nowait, prefetch=PREFETCH)
    try:
        letters = []
        looked_at = 0
        while looked_at < min(survey.messages, PREFETCH):
            delivery = await _next(connection, arrived)
            if delivery is None:
                break
            looked_at += 1
            letter = read(delivery)
            if wanted.is_met(letter):
                letters.append(letter)
        yield Held(letters, consumer, looked_at, survey.messages - looked_at)
    finally:
        await close(consumer)


async def _check_limit(connection: Connection) -> None:
    """Raise CannotHold if the broker may count looks and drop what was looked at often."""
    major = connection.broker_version.partition(".")[0]
    if not major.isdecimal() or int(major) < COUNTING_SINCE:
        return
    if found := await connection.differences(common().only(DEAD_LETTERS)):
        if DIFFERS not in found[0]:
            raise CannotHold(found[0])
        raise CannotHold(
            f"{found[0]}\nIt was not made for this RabbitMQ ({connection.broker_version}), which"
            " may drop a letter that has been looked at 20 times. Lift that limit:\n"
            "  rabbitmqctl set_policy -p VHOST --apply-to queues seatwarden-dead-letters"
            " '^seatwarden\\.dead-letters$' '{\"delivery-limit\": -1}'\n"
            "and say --limit-lifted"
        )


async def _next(connection: Connection, arrived: asyncio.Queue[Delivery]) -> Delivery | None:
    """Return the next letter, None if none comes; raises ConnectionLost."""
    if not arrived.empty():
        return arrived.get_nowait()
    get = asyncio.ensure_future(arrived.get())
    try:
        ends: set[asyncio.Future[Any]] = {get, connection.lost}
        await asyncio.wait(ends, timeout=PATIENCE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if get.done():
            return get.result()
        if connection.lost.done():
            raise ConnectionLost(connection.lost.result())
        return None
    finally:
        get.cancel()
