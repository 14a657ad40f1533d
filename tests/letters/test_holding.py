"""Looking at the dead letters and redriving them, on the embedded broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from actors.broker.topology import DEAD_LETTERS, Layout
from actors.letters import holding
from actors.letters.holding import CannotHold, hold
from actors.letters.letter import Letter
from actors.letters.redriving import Stopped, planned, redrive
from actors.letters.wanted import Wanted
from actors.memory import MemoryBroker, MemoryConnection, MemoryTransport
from actors.transport import ConnectionLost, Message
from actors.work.messages import REDRIVEN
from statecharts.instants import SECOND
from statecharts.refusals import Code
from tests.letters.letters import NOW, event, furnish, letter, start
from tests.worker.house import settle

SHARDS = [Layout(1, 2).queue(shard) for shard in range(2)]


@pytest.fixture
def broker() -> MemoryBroker:
    return MemoryBroker()


@pytest.fixture
async def connection(broker: MemoryBroker) -> AsyncIterator[MemoryConnection]:
    connection = await MemoryTransport(broker).connect()
    yield connection
    await connection.close()


async def look(connection: MemoryConnection, wanted: Wanted | None = None) -> list[Letter]:
    async with hold(connection, wanted or Wanted()) as held:
        return list(held.letters)


async def redrive_all(connection: MemoryConnection, wanted: Wanted | None = None) -> int:
    wanted = wanted or Wanted()
    async with hold(connection, wanted) as held:
        plan = planned(held.letters, wanted, NOW, again=False)
        return await redrive(connection, held.consumer, plan.to_send)


def bodies(broker: MemoryBroker) -> list[bytes]:
    return [one.body for one in broker.messages(DEAD_LETTERS)]


def on_shards(broker: MemoryBroker) -> list[Message]:
    return [one for queue in SHARDS for one in broker.messages(queue)]


async def test_looking_leaves_each_letter_where_it_lay(
    broker: MemoryBroker, connection: MemoryConnection
) -> None:
    sent = [event(id_=f"e{number}") for number in range(20)]
    await furnish(connection, [letter(body) for body in sent])
    for _ in range(3):
        assert [one.body for one in await look(connection)] == sent
        assert bodies(broker) == sent
    assert await look(connection, Wanted(ids=("e7",)))
    assert bodies(broker) == sent


async def test_filters_are_met_together(connection: MemoryConnection) -> None:
    await furnish(
        connection,
        [
            letter(event(id_="e1"), Code.FAILED, 0),
            letter(event(id_="e2", table="t2"), Code.FAILED, 10),
            letter(event("turn.acted", id_="e3"), Code.STALE, 20),
            letter(b"no event", Code.MALFORMED, 30),
        ],
    )
    everything = {one.attributes.get("id"): one for one in await look(connection)}

    async def found(**conditions: Any) -> list[str | None]:
        wanted = Wanted()._replace(**conditions)
        return [one.attributes.get("id") for one in await look(connection, wanted)]

    assert await found(codes=("failed",)) == ["e1", "e2"]
    assert await found(codes=("stale", "malformed")) == ["e3", None]
    assert await found(table="t1") == ["e1", "e3"]
    assert await found(table="t1", codes=("failed",)) == ["e1"]
    assert await found(source="/engines/ring-3") == ["e1", "e2", "e3"]
    assert await found(type="turn.acted") == ["e3"]
    assert await found(since=NOW + 10 * SECOND) == ["e2", "e3", None]
    assert await found(until=NOW + 10 * SECOND) == ["e1"]
    assert await found(ids=(everything[None].name,)) == [None]
    assert await found(ids=("e2", "e9")) == ["e2"]


async def test_what_somebody_else_has_put_there_is_a_letter_too(
    connection: MemoryConnection,
) -> None:
    strange = [b"", b"\xff\x00", b"[1, 2]", b'{"id": 7, "subject": "' + b"x" * 900 + b'/1"}']
    await furnish(connection, [])
    for body in strange:
        await connection.publish(Message("", DEAD_LETTERS, body, headers={"received": "when?"}))
    found = await look(connection)
    assert [one.body for one in found] == strange
    assert {(one.code, one.instant, one.table) for one in found} == {("", None, None)}
    assert len(found[3].routing_key) < 255
    assert planned(found, Wanted(), NOW, again=False).to_send == []


async def test_redriven_events_go_to_their_slot_in_the_order_of_their_refusal(
    broker: MemoryBroker, connection: MemoryConnection
) -> None:
    late = letter(event(id_="first"), seconds=0)
    rest = [letter(event(id_=f"e{number}"), seconds=number + 1) for number in range(5)]
    await furnish(connection, [*rest, late])
    assert await redrive_all(connection) == 6
    sent = on_shards(broker)
    assert [one.body for one in sent] == [late.body, *(one.body for one in rest)]
    assert {(one.routing_key, one.headers[REDRIVEN]) for one in sent} == {("55.t1", 1)}
    assert bodies(broker) == []


async def test_only_what_may_be_taken_now_is_redriven_unless_asked_for(
    connection: MemoryConnection,
) -> None:
    old = start(NOW - 601 * SECOND, "old")
    await furnish(
        connection,
        [
            letter(start(NOW, "new")),
            letter(old),
            letter(b"no event", Code.MALFORMED),
            letter(event(id_="invalid"), Code.INVALID),
            letter(event(id_="twice"), redriven=2),
            letter(event(id_="newer"), "a-code-to-come"),
        ],
    )
    found = await look(connection)
    plan = planned(found, Wanted(), NOW, again=False)
    assert [one.attributes["id"] for one in plan.to_send] == ["new"]
    assert sorted(why.partition(":")[0] for _, why in plan.skipped) == [
        "a-code-to-come does not get better by itself",
        "invalid does not get better by itself",
        "malformed does not get better by itself",
        "redriven 2 times already",
        "stale, it would be refused again",
    ]
    named = planned(found, Wanted(codes=tuple({one.code for one in found})), NOW, again=True)
    assert len(named.to_send) == 6
    assert {why for _, why in named.hopeless} == {"stale", "malformed"}


async def test_who_dies_between_publishing_and_acknowledging_redrives_twice_at_most(
    broker: MemoryBroker, connection: MemoryConnection
) -> None:
    sent = [event(id_="e1"), event(id_="e2")]
    await furnish(connection, [letter(body) for body in sent])
    [peer] = broker.connections
    broker.lose_confirms()
    redriving = asyncio.create_task(redrive_all(connection))
    await settle()
    assert [one.body for one in on_shards(broker)] == [sent[0]]
    broker.cut(peer, "killed")
    with pytest.raises(ConnectionLost):
        await redriving
    broker.release_confirms()
    assert bodies(broker) == sent
    assert await redrive_all(await MemoryTransport(broker).connect()) == 2
    assert [one.body for one in on_shards(broker)] == [sent[0], *sent]
    assert bodies(broker) == []


async def test_where_no_queue_takes_an_event_all_letters_stay(
    broker: MemoryBroker, connection: MemoryConnection
) -> None:
    sent = [event(id_="e1"), event(id_="e2")]
    await furnish(connection, [letter(body) for body in sent])
    for queue in SHARDS:
        broker.delete(queue)
    with pytest.raises(Stopped, match=r"0 redriven; no queue takes events with the key 55\.t1"):
        await redrive_all(connection)
    assert bodies(broker) == sent


async def test_two_do_not_look_at_once(connection: MemoryConnection) -> None:
    await furnish(connection, [letter(event())])
    async with hold(connection, Wanted()):
        with pytest.raises(CannotHold, match="somebody else"):
            await look(connection)
    assert len(await look(connection)) == 1


async def test_more_than_can_be_taken_at_once_is_said(
    connection: MemoryConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "PREFETCH", 3)
    await furnish(connection, [letter(event(id_=f"e{number}")) for number in range(5)])
    for _ in range(2):
        async with hold(connection, Wanted()) as held:
            assert [one.attributes["id"] for one in held.letters] == ["e0", "e1", "e2"]
            assert (held.looked_at, held.beyond) == (3, 2)


async def test_where_there_is_no_queue_the_way_out_is_named(
    connection: MemoryConnection,
) -> None:
    with pytest.raises(CannotHold, match="seatwarden topology apply"):
        await look(connection)
