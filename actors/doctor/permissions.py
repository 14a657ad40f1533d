"""What the user may do, and whether the broker takes messages.

Tried on a queue of our own that goes with the connection.
"""

from __future__ import annotations

import asyncio
from uuid import uuid4

from actors.broker.topology import EVENTS
from actors.doctor.finding import Finding, Level, Patient
from actors.transport import (
    Connection,
    ConnectionLost,
    Delivery,
    Message,
    Queue,
    Topology,
    TransportError,
)
from actors.work.ticks import PROBE

REFUSED = "ACCESS_REFUSED"
"""How AMQP calls it."""
TO_DO = (
    "rabbitmqctl set_permissions -p VHOST USER '^(seatwarden\\..*|amq\\.default)$'"
    " '^(seatwarden\\..*|amq\\.default)$' '^(seatwarden\\..*|amq\\.default)$'"
)


async def check_permissions(connection: Connection, _: Patient) -> list[Finding]:
    """Try to configure, write and read; raises ConnectionLost for what is no refusal."""
    tried = "configure"
    try:
        queue = await a_queue(connection)
        tried = "write to amq.default"
        await connection.publish(Message("", queue, b""))
        tried = "read"
        arrived: asyncio.Queue[Delivery] = asyncio.Queue()
        await connection.consume(queue, arrived.put_nowait, prefetch=1)
        tried = f"write to {EVENTS}"
        await connection.publish(Message(EVENTS, "doctor", b"", kind=PROBE, expires=1))
    except TransportError as error:
        if REFUSED in str(error):
            told = f"the user may not {tried}: {error}"
            return [Finding("permissions", Level.FAULT, told, TO_DO)]
        if not (isinstance(error, ConnectionLost) and "NOT_FOUND" in str(error)):
            raise
        # There is no such exchange yet: the first worker makes it.
    return [Finding("permissions", Level.OK, "the user may configure, write and read")]


async def check_room(connection: Connection, _: Patient) -> list[Finding]:
    """Publish; a broker that is short of memory or disk answers the first message only."""
    queue = await a_queue(connection)
    for _turn in range(2):
        await connection.publish(Message("", queue, b""))
    return [Finding("resources", Level.OK, "the broker takes messages")]


async def a_queue(connection: Connection) -> str:
    """Make a queue that nobody else has and that goes with the connection; returns its name."""
    name = f"seatwarden.doctor.{uuid4().hex}"
    await connection.declare(Topology(queues=(Queue(name, "private"),)))
    return name
