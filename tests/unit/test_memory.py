"""The levers of the broker in memory; how it behaves otherwise is in tests/contract."""

import asyncio
from dataclasses import replace

import pytest

from actors.clock import VirtualClock
from actors.memory import MemoryBroker, MemoryConnection, MemoryTransport
from actors.transport import (
    Binding,
    CannotConnect,
    ConnectionLost,
    Delivery,
    Exchange,
    Message,
    Published,
    Queue,
    Topology,
)

SHARD = Topology(
    exchanges=(Exchange("events"),),
    queues=(Queue("shard"),),
    bindings=(Binding("shard", "events"),),
)
EVENT = Message("events", "4.t", b"event")


async def _connected(broker: MemoryBroker, topology: Topology = SHARD) -> MemoryConnection:
    connection = await MemoryTransport(broker).connect()
    await connection.declare(topology)
    return connection


async def _turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_what_was_sent_at_the_moment_of_the_cut_does_not_arrive() -> None:
    broker = MemoryBroker()
    connection = await _connected(broker)
    publishing = asyncio.create_task(connection.publish(EVENT))
    await asyncio.sleep(0)
    broker.cut(connection, "pulled")
    with pytest.raises(ConnectionLost, match="pulled"):
        await publishing
    assert broker.depth("shard") == 0


async def test_what_arrived_before_the_cut_stays_though_unconfirmed() -> None:
    broker = MemoryBroker()
    connection = await _connected(broker)
    broker.hold_confirms()
    publishing = asyncio.create_task(connection.publish(EVENT))
    await _turns()
    broker.cut(connection, "pulled")
    with pytest.raises(ConnectionLost, match="pulled"):
        await publishing
    assert broker.messages("shard") == [EVENT]
    assert await connection.lost == "pulled"
    assert broker.connections == ()


async def test_an_acknowledgement_at_the_moment_of_the_cut_does_not_arrive() -> None:
    broker = MemoryBroker()
    connection = await _connected(broker)
    received: list[Delivery] = []
    consumer = await connection.consume("shard", received.append, prefetch=1)
    await connection.publish(EVENT)
    await consumer.acknowledge(1)
    broker.cut(connection, "pulled")
    await _turns()
    assert broker.depth("shard") == 1


async def test_a_delivery_at_the_moment_of_the_cut_does_not_arrive_and_counts_as_one() -> None:
    broker = MemoryBroker()
    connection, other = await _connected(broker), await _connected(broker)
    received: list[Delivery] = []
    await connection.consume("shard", received.append, prefetch=1)
    broker.hold_confirms()
    publishing = asyncio.create_task(other.publish(EVENT))
    await _turns(2)
    broker.cut(connection, "pulled")
    broker.release_confirms()
    assert await publishing is Published.CONFIRMED
    assert received == []
    await other.consume("shard", received.append, prefetch=1)
    await _turns()
    assert [delivery.redelivered for delivery in received] == [True]


async def test_cutting_twice_is_cutting_once() -> None:
    broker = MemoryBroker()
    connection = await _connected(broker)
    broker.cut(connection, "first")
    broker.cut(connection, "second")
    assert await connection.lost == "first"


async def test_a_stopped_broker_drops_all_and_refuses_until_it_is_started() -> None:
    broker = MemoryBroker()
    topology = replace(SHARD, queues=(*SHARD.queues, Queue("mine", kind="private")))
    connection, other = await _connected(broker, topology), await _connected(broker)
    received: list[Delivery] = []
    await connection.consume("shard", received.append, prefetch=1)
    await connection.publish(EVENT)
    await connection.publish(replace(EVENT, body=b"next"))
    broker.stop()
    assert "stopped" in await connection.lost
    assert "stopped" in await other.lost
    with pytest.raises(CannotConnect, match="refused"):
        await MemoryTransport(broker).connect()
    assert broker.depth("shard") == 2
    with pytest.raises(KeyError):
        broker.depth("mine")
    broker.start()
    connection = await MemoryTransport(broker).connect()
    received.clear()
    await connection.consume("shard", received.append, prefetch=0)
    await _turns()
    assert [delivery.body for delivery in received] == [b"event", b"next"]
    assert [delivery.redelivered for delivery in received] == [True, False]
    assert await connection.publish(EVENT) is Published.CONFIRMED


async def test_held_confirms_come_in_order_when_they_are_released() -> None:
    broker = MemoryBroker()
    connection = await _connected(broker)
    broker.hold_confirms()
    answered: list[str] = []

    async def publish(key: str) -> None:
        message = replace(EVENT, exchange="", routing_key=key)
        answered.append(f"{key} {(await connection.publish(message)).value}")

    calls = [asyncio.create_task(publish(key)) for key in ("shard", "nobody", "shard")]
    await _turns(9)
    assert answered == []
    assert broker.depth("shard") == 2
    broker.release_confirms()
    await asyncio.gather(*calls)
    assert answered == ["shard confirmed", "nobody returned", "shard confirmed"]
    await publish("shard")


async def test_looking_into_a_queue_shows_what_is_out_with_consumers_too() -> None:
    broker = MemoryBroker()
    connection = await _connected(broker)
    received: list[Delivery] = []
    consumer = await connection.consume("shard", received.append, prefetch=2)
    messages = [replace(EVENT, body=b"%d" % number) for number in range(4)]
    for message in messages:
        await connection.publish(message)
    assert len(received) == 2
    assert broker.messages("shard") == messages
    await consumer.acknowledge(1)
    await _turns()
    assert broker.messages("shard") == messages[1:]
    assert broker.depth("shard") == 3
    with pytest.raises(KeyError):
        broker.messages("nowhere")


async def test_a_full_queue_refuses_exactly_what_exceeds_it() -> None:
    broker = MemoryBroker()
    connection = await _connected(broker, Topology(queues=(Queue("narrow", max_length=2),)))
    message = Message("", "narrow", b"")
    answers = [await connection.publish(message) for _ in range(3)]
    assert answers == [Published.CONFIRMED, Published.CONFIRMED, Published.NACKED]
    assert broker.depth("narrow") == 2


async def test_stamps_are_the_clock_s_whatever_the_publisher_wrote() -> None:
    clock = VirtualClock(1_700_000_000_123_456)
    broker = MemoryBroker(clock, stamps=True)
    connection = await _connected(broker)
    received: list[Delivery] = []
    await connection.consume("shard", received.append, prefetch=0)
    await connection.publish(EVENT)
    clock.advance(1_000)
    await connection.publish(replace(EVENT, headers={"timestamp_in_ms": 1, "code": "stale"}))
    assert [delivery.headers for delivery in received] == [
        {"timestamp_in_ms": 1_700_000_000_123},
        {"timestamp_in_ms": 1_700_000_000_124, "code": "stale"},
    ]


async def test_without_stamps_headers_are_the_publisher_s() -> None:
    broker = MemoryBroker()
    connection = await _connected(broker)
    await connection.publish(replace(EVENT, headers={"timestamp_in_ms": 1}))
    assert broker.messages("shard")[0].headers == {"timestamp_in_ms": 1}


async def test_consumers_get_their_turns_in_the_order_of_registration() -> None:
    broker = MemoryBroker()
    connection = await _connected(broker)
    received: list[tuple[str, bytes]] = []
    for name in ("a", "b", "c"):

        def note(delivery: Delivery, name: str = name) -> None:
            received.append((name, delivery.body))

        await connection.consume("shard", note, prefetch=2)
    for number in range(7):
        await connection.publish(replace(EVENT, body=b"%d" % number))
    assert received == [
        ("a", b"0"),
        ("b", b"1"),
        ("c", b"2"),
        ("a", b"3"),
        ("b", b"4"),
        ("c", b"5"),
    ]


async def test_deleting_a_queue_loses_its_consumers_and_its_bindings() -> None:
    broker = MemoryBroker()
    connection, other = await _connected(broker), await _connected(broker)
    await connection.consume("shard", lambda _: None, prefetch=1)
    broker.delete("shard")
    assert "shard" in await connection.lost
    assert await other.publish(EVENT) is Published.RETURNED
    assert broker.connections == (other,)
