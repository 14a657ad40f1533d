"""Finding and writing the layout that is in force on a broker.

It stands in a stream of its own, whose last word counts, so that all workers agree on it.
"""

from __future__ import annotations

import json
from dataclasses import replace

from actors.broker import streams
from actors.broker.topology import LAYOUT, Layout, common
from actors.journal import Record, begin
from actors.shards.pictures import Picture
from actors.transport import Connection, Message, Published, Topology

KIND = "seatwarden.layout"
IN_FORCE = "in force"
PREPARED = "prepared"
WITHOUT_LAYOUT = (
    f"there is a queue {{queue}}, but no layout in the stream {LAYOUT}: that was deleted, or the"
    " queue is of an earlier version; `seatwarden topology apply --begin-anew` makes new queues and"
    " forgets the turns that were open"
)


class LayoutError(Exception):
    """The broker's layout cannot be known or written; the message says what to do."""


async def find(connection: Connection) -> Layout | None:
    """Return the layout in force; None if there has been none on this broker."""
    told = await history(connection)
    return next((layout for layout, state in reversed(told) if state == IN_FORCE), None)


async def history(connection: Connection) -> list[tuple[Layout, str]]:
    """Return all layouts that there have been, in order, each with what was said of it."""
    if await connection.survey(LAYOUT) is None:
        return []
    until = await streams.end_of(connection, LAYOUT)
    told = []
    async with streams.messages(connection, LAYOUT, "first", until) as read:
        async for delivery in read:
            if delivery.kind == KIND:
                body = json.loads(delivery.body)
                told.append((Layout(body["generation"], body["shards"]), body["state"]))
    return told


async def tell(connection: Connection, layout: Layout, state: str) -> None:
    """Write down what is in force, or prepared; raises LayoutError."""
    body = json.dumps({**layout._asdict(), "state": state}).encode()
    message = Message("", LAYOUT, body, "application/json", KIND)
    if await connection.publish(message) is not Published.CONFIRMED:
        raise LayoutError(f"the broker does not take what goes to the stream {LAYOUT}")


async def ensure(connection: Connection, wanted: Topology) -> list[str]:
    """Make what is missing of a topology, and bind it; returns the names of the queues made.

    What exists is left as it is, whatever its properties: `topology check` tells of those.
    """
    missing = [queue for queue in wanted.queues if await connection.survey(queue.name) is None]
    await connection.declare(replace(wanted, queues=tuple(missing)))
    return [queue.name for queue in missing]


async def find_or_begin(connection: Connection, shards: int, audit_days: int, now: int) -> Layout:
    """Return the layout in force; on a broker that has never seen the service, begin one.

    Raises LayoutError where shard queues exist without a layout: something was deleted.
    """
    layout = await find(connection)
    if layout is None:
        layout = await prepare(connection, Layout(1, shards))
        await establish(connection, layout, audit_days, now)
    await ensure(connection, common(audit_days))
    await ensure(connection, layout.queues())
    await connection.declare(layout.bindings())
    return layout


async def prepare(connection: Connection, wanted: Layout) -> Layout:
    """Announce a first layout; returns the one that counts, if several workers begin at once.

    What is announced already may have been begun by somebody who died since.  Raises LayoutError.
    """
    # In this order: a queue is made when its layout has been announced.
    is_there = await connection.survey(wanted.queue(0)) is not None
    told = await history(connection)
    if not told and is_there:
        raise LayoutError(WITHOUT_LAYOUT.format(queue=wanted.queue(0)))
    if not told:
        await ensure(connection, common().only(LAYOUT))
        await tell(connection, wanted, PREPARED)
        told = await history(connection)
    return told[0][0]


async def establish(connection: Connection, layout: Layout, audit_days: int, now: int) -> None:
    """Make a layout's queues and journals, with an empty first record each, and put it in force."""
    await ensure(connection, common(audit_days))
    await ensure(connection, layout.journals())
    for shard in range(layout.shards):
        first = Record(Picture({}, {}), sign_of_life=now)
        await begin(connection, layout.journal(shard), first)
    await ensure(connection, layout.queues())
    await connection.declare(layout.bindings())
    await tell(connection, layout, IN_FORCE)
