"""What an operator sees, makes and checks on a broker; here on the embedded one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from actors import policies
from actors.broker import layout
from actors.broker.topology import EVENTS, LAYOUT, Layout
from actors.journal import Journal
from actors.journal.records import RECORD
from actors.memory import MemoryBroker, MemoryConnection, MemoryTransport
from actors.operating import topologies
from actors.operating.topologies import Wanted
from actors.transport import Exchange, Message, Queue, Topology

WANTED = Wanted(4, 1825)
KNOWN = policies.bundled()
NOW = 1_772_000_000_000_000


@pytest.fixture
def broker() -> MemoryBroker:
    return MemoryBroker()


@pytest.fixture
async def connection(broker: MemoryBroker) -> AsyncIterator[MemoryConnection]:
    connection = await MemoryTransport(broker).connect()
    yield connection
    await connection.close()


async def apply(
    connection: MemoryConnection, wanted: Wanted = WANTED, *, begin_anew: bool = False
) -> tuple[list[str], list[str]]:
    return await topologies.apply(connection, wanted, KNOWN, NOW, begin_anew=begin_anew)


async def test_applied_once_all_is_there_and_applied_twice_nothing_is_done(
    connection: MemoryConnection,
) -> None:
    assert await topologies.check(connection, WANTED, KNOWN) == [
        "no layout: nothing has been applied to this broker"
    ]
    assert await apply(connection) == (["made generation 1 with 4 shards"], [])
    assert await topologies.check(connection, WANTED, KNOWN) == []
    assert await apply(connection) == ([], [])


async def test_another_number_of_shards_is_told_and_not_made(connection: MemoryConnection) -> None:
    await apply(connection)
    assert await apply(connection, Wanted(8, 1825)) == ([], [])
    [told] = await topologies.check(connection, Wanted(8, 1825), KNOWN)
    assert "4 shards, the setting says 8" in told
    assert "reshard" in told


async def test_a_lost_queue_is_made_again(
    broker: MemoryBroker, connection: MemoryConnection
) -> None:
    await apply(connection)
    broker.delete("seatwarden.shard.1.2")
    found = await topologies.check(connection, WANTED, KNOWN)
    assert any("seatwarden.shard.1.2" in line and "missing" in line for line in found)
    assert any("no queue takes events with the key 128.#" in line for line in found)
    assert await apply(connection) == (["made seatwarden.shard.1.2"], [])
    assert await topologies.check(connection, WANTED, KNOWN) == []


async def test_a_lost_journal_is_made_again_only_if_that_is_asked_for(
    broker: MemoryBroker, connection: MemoryConnection
) -> None:
    await apply(connection)
    broker.delete("seatwarden.journal.1.3")
    done, undone = await apply(connection)
    assert done == []
    assert "the journal seatwarden.journal.1.3 is missing" in undone[0]
    assert "--begin-anew" in undone[0]
    assert await apply(connection, begin_anew=True) == (["began seatwarden.journal.1.3 anew"], [])
    assert await topologies.check(connection, WANTED, KNOWN) == []


async def test_a_journal_that_cannot_be_read_is_told_and_can_be_begun_anew(
    connection: MemoryConnection,
) -> None:
    await apply(connection)
    name = "seatwarden.journal.1.0"
    journal = Journal(connection, name, "one")
    await journal.open(KNOWN)
    headers = {"epoch": journal.epoch or 0, "number": 1, "part": 0, "more": 0}
    await connection.publish(Message("", name, b'{"version": 99}', kind=RECORD, headers=headers))
    [told] = await topologies.check(connection, WANTED, KNOWN)
    assert f"the journal {name} cannot be read: a record of version 99" in told
    done, _ = await apply(connection, begin_anew=True)
    assert done == [f"began {name} anew"]
    assert await topologies.check(connection, WANTED, KNOWN) == []


async def test_queues_without_a_layout_are_refused_and_left(
    broker: MemoryBroker, connection: MemoryConnection
) -> None:
    await apply(connection)
    broker.delete(LAYOUT)
    connection = await MemoryTransport(broker).connect()
    done, [undone] = await apply(connection)
    assert done == []
    assert "no layout in the stream" in undone
    with pytest.raises(layout.LayoutError, match="--begin-anew"):
        await layout.find_or_begin(connection, 4, 1825, NOW)
    assert await apply(connection, begin_anew=True) == (["made generation 2 with 4 shards"], [])
    assert await layout.find(connection) == Layout(2, 4)


async def test_what_exists_with_other_properties_is_told(connection: MemoryConnection) -> None:
    await connection.declare(
        Topology((Exchange(EVENTS),), (Queue("seatwarden.workers", max_length=5),))
    )
    await apply(connection)
    found = await topologies.check(connection, WANTED, KNOWN)
    assert [line for line in found if "seatwarden.workers" in line]


async def test_several_who_begin_at_once_agree(broker: MemoryBroker) -> None:
    first, second = [await MemoryTransport(broker).connect() for _ in range(2)]
    found = await asyncio.gather(
        layout.find_or_begin(first, 4, 1825, NOW), layout.find_or_begin(second, 8, 1825, NOW)
    )
    assert found[0] == found[1]
    for shard in range(found[0].shards):
        await Journal(first, found[0].journal(shard), "one").open(KNOWN)


def test_it_is_described_in_plain_lines() -> None:
    told = list(topologies.described(Layout(3, 2), 365))
    assert told[0] == "generation 3, 2 shards"
    assert "quorum queue seatwarden.shard.3.1 (single active consumer)" in told
    assert "stream seatwarden.audit (at most 65536 MiB, kept for 365 days)" in told
    assert "slots 128 to 255 go to seatwarden.shard.3.1" in told


def test_every_slot_has_one_shard() -> None:
    for shards in (1, 3, 8, 256):
        slots = [slot for shard in range(shards) for slot in Layout(1, shards).slots(shard)]
        assert slots == list(range(256))
