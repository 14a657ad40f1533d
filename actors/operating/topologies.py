"""`seatwarden topology`: what is on the broker, making what is missing, telling what differs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import NamedTuple

from actors.broker import layout
from actors.broker.layout import LayoutError, ensure
from actors.broker.streams import end_of
from actors.broker.topology import EVENTS, Layout, common
from actors.journal import JournalError, Record, begin, reading
from actors.shards.pictures import Picture
from actors.transport import Connection, Message, Published, Topology
from actors.work.ticks import PROBE
from statecharts.policy import Policies


class Wanted(NamedTuple):
    """What the settings ask for."""

    shards: int
    audit_days: int


def described(wanted: Layout, audit_days: int) -> Iterator[str]:
    """Yield what there has to be, one line for each thing."""
    there = _whole(wanted, audit_days)
    yield f"generation {wanted.generation}, {wanted.shards} shards"
    for exchange in there.exchanges:
        yield f"exchange {exchange.name} ({exchange.kind})"
    for queue in there.queues:
        limits = [
            *(["single active consumer"] if queue.single_active else []),
            *([f"at most {queue.max_bytes >> 20} MiB"] if queue.max_bytes else []),
            *([f"kept for {queue.max_days} days"] if queue.max_days else []),
        ]
        kind = "stream" if queue.kind == "stream" else "quorum queue"
        yield f"{kind} {queue.name}" + (f" ({', '.join(limits)})" if limits else "")
    for shard in range(wanted.shards):
        slots = wanted.slots(shard)
        yield f"slots {slots.start} to {slots.stop - 1} go to {wanted.queue(shard)}"


async def apply(
    connection: Connection, wanted: Wanted, known: Policies, now: int, *, begin_anew: bool
) -> tuple[list[str], list[str]]:
    """Make what is missing; returns what was done, and what was left undone and why.

    A lost journal is made again only with `begin_anew`: the turns that were open in it are
    forgotten.  Raises LayoutError, ConnectionLost, TopologyConflict.
    """
    in_force = await layout.find(connection)
    if in_force is None:
        return await _begin(connection, wanted, now, begin_anew=begin_anew)
    made = await ensure(connection, common(wanted.audit_days))
    done = [f"made {name}" for name in made + await ensure(connection, in_force.queues())]
    await connection.declare(in_force.bindings())
    undone = []
    for shard in range(in_force.shards):
        journal = in_force.journal(shard)
        fault = await _fault_of(connection, journal, known)
        if fault is None:
            continue
        if begin_anew:
            await _replace(connection, in_force, shard, now)
            done.append(f"began {journal} anew")
        else:
            undone.append(f"{fault}; --begin-anew forgets its open turns and makes it again")
    return done, undone


async def check(connection: Connection, wanted: Wanted, known: Policies) -> list[str]:
    """Return what is missing, other than wanted or unreadable, one line each; makes nothing."""
    in_force = await layout.find(connection)
    if in_force is None:
        return ["no layout: nothing has been applied to this broker"]
    found = []
    if in_force.shards != wanted.shards:
        found.append(
            f"{in_force.shards} shards, the setting says {wanted.shards}:"
            " `seatwarden reshard` changes it"
        )
    found += await differences(connection, in_force, wanted.audit_days)
    return found + await journal_faults(connection, in_force, known)


async def differences(connection: Connection, in_force: Layout, audit_days: int) -> list[str]:
    """Return what is missing or other than wanted, journals' contents aside; makes nothing."""
    found = await connection.differences(_whole(in_force, audit_days))
    if not any("exchange" in line for line in found):
        found += [line async for line in _unrouted(connection, in_force)]
    return found


async def journal_faults(connection: Connection, in_force: Layout, known: Policies) -> list[str]:
    """Return what is wrong with the journals; each is read to the ground."""
    names = [in_force.journal(shard) for shard in range(in_force.shards)]
    faults = [await _fault_of(connection, name, known) for name in names]
    return [fault for fault in faults if fault]


async def _begin(
    connection: Connection, wanted: Wanted, now: int, *, begin_anew: bool
) -> tuple[list[str], list[str]]:
    first = Layout(1, wanted.shards)
    try:
        first = await layout.prepare(connection, first)
    except LayoutError as error:
        if not begin_anew:
            return [], [str(error)]
        while await connection.survey(first.queue(0)) is not None:
            await connection.unbind(first.bindings().bindings)
            first = first._replace(generation=first.generation + 1)
    await layout.establish(connection, first, wanted.audit_days, now)
    return [f"made generation {first.generation} with {first.shards} shards"], []


async def _replace(connection: Connection, in_force: Layout, shard: int, now: int) -> None:
    journals = in_force.journals()
    await ensure(connection, journals.only(in_force.journal(shard)))
    empty = Record(Picture({}, {}), sign_of_life=now)
    await begin(connection, in_force.journal(shard), empty, anew=True)


async def _fault_of(connection: Connection, journal: str, known: Policies) -> str | None:
    """Return what is wrong with a journal; it is read to the ground."""
    if await connection.survey(journal) is None:
        return f"the journal {journal} is missing"
    last = await reading.last_counting(connection, journal, await end_of(connection, journal))
    if last is None:
        return f"the journal {journal} has no first record"
    try:
        await reading.restore(connection, journal, last, known)
    except JournalError as error:
        return str(error)
    return None


async def _unrouted(connection: Connection, in_force: Layout) -> AsyncIterator[str]:
    for binding in in_force.bindings().bindings:
        key = binding.key.replace("#", "probe")
        probe = Message(EVENTS, key, b"", kind=PROBE, expires=1)
        if await connection.publish(probe) is Published.RETURNED:
            yield f"no queue takes events with the key {binding.key}"


def _whole(wanted: Layout, audit_days: int) -> Topology:
    once = common(audit_days)
    queues = (*once.queues, *wanted.queues().queues, *wanted.journals().queues)
    return Topology(once.exchanges, queues)
