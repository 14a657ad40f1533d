"""The levers of the broker in memory; how it behaves otherwise is in tests/contract."""

import asyncio
import contextvars
import random
from collections.abc import Callable
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


async def test_lost_confirms_never_come_though_the_messages_are_there() -> None:
    broker = MemoryBroker()
    connection = await _connected(broker)
    broker.lose_confirms()
    lost = asyncio.create_task(connection.publish(EVENT))
    await _turns(9)
    broker.release_confirms()
    assert await connection.publish(EVENT) is Published.CONFIRMED
    assert broker.depth("shard") == 2
    assert not lost.done()
    broker.cut(connection, "pulled")
    with pytest.raises(ConnectionLost):
        await lost


SINGLE = Topology(queues=(Queue("shard", single_active=True), Queue("journal", kind="stream")))


async def _filled(broker: MemoryBroker, *bodies: bytes) -> tuple[MemoryConnection, list[Delivery]]:
    """Return a connection to a queue of those messages, and a list to receive them in."""
    connection = await _connected(broker, SINGLE)
    for body in bodies:
        await connection.publish(Message("", "shard", body))
    return connection, []


def _seen(deliveries: list[Delivery]) -> list[tuple[int, bytes, bool]]:
    return [(one.tag, one.body, one.redelivered) for one in deliveries]


async def test_a_usurper_gets_what_the_first_holds_and_the_first_learns_nothing() -> None:
    broker = MemoryBroker()
    connection, first = await _filled(broker, b"1", b"2", b"3", b"4")
    other = await _connected(broker, SINGLE)
    second: list[Delivery] = []
    consumer = await connection.consume("shard", first.append, prefetch=3)
    await other.consume("shard", second.append, prefetch=3)
    await consumer.acknowledge(1)
    await _turns()
    broker.usurp("shard")
    await consumer.acknowledge(2)
    await consumer.acknowledge(4, multiple=True)
    await _turns()
    assert _seen(first) == [(1, b"1", False), (2, b"2", False), (3, b"3", False), (4, b"4", False)]
    assert _seen(second) == [(1, b"2", True), (2, b"3", True), (3, b"4", True)]
    assert [message.body for message in broker.messages("shard")] == [b"2", b"3", b"4"]
    assert await connection.publish(Message("", "journal", b"late")) is Published.CONFIRMED
    assert broker.depth("journal") == 1
    assert not connection.lost.done()


async def test_who_was_usurped_stands_at_the_end_of_the_line() -> None:
    broker = MemoryBroker()
    connection, first = await _filled(broker, b"1")
    other = await _connected(broker, SINGLE)
    second: list[Delivery] = []
    await connection.consume("shard", first.append, prefetch=1)
    await other.consume("shard", second.append, prefetch=1)
    broker.usurp("shard")
    await other.close()
    await _turns()
    assert _seen(first) == [(1, b"1", False), (2, b"1", True)]


async def test_without_a_successor_usurping_returns_unnoticed() -> None:
    broker = MemoryBroker()
    connection, first = await _filled(broker, b"1")
    broker.usurp("shard")
    await connection.consume("shard", first.append, prefetch=1)
    broker.usurp("shard")
    await _turns()
    assert _seen(first) == [(1, b"1", False), (2, b"1", True)]


async def test_an_unnoticed_return_delivers_again_and_voids_the_former_tags() -> None:
    broker = MemoryBroker()
    connection, first = await _filled(broker, b"1", b"2", b"3")
    consumer = await connection.consume("shard", first.append, prefetch=2)
    broker.return_unnoticed("shard")
    await _turns()
    assert _seen(first)[2:] == [(3, b"1", True), (4, b"2", True)]
    await consumer.acknowledge(2, multiple=True)
    await _turns()
    assert broker.depth("shard") == 3
    await consumer.acknowledge(3)
    await _turns()
    assert _seen(first)[4:] == [(5, b"3", False)]
    await consumer.acknowledge(5, multiple=True)
    await _turns()
    assert broker.depth("shard") == 0
    await consumer.acknowledge(1)
    assert "unknown delivery tag 1" in await connection.lost


async def test_an_unnoticed_return_concerns_all_who_share_a_queue() -> None:
    broker = MemoryBroker()
    connection = await _connected(broker)
    received: list[Delivery] = []
    for _ in range(2):
        await connection.consume("shard", received.append, prefetch=1)
        await connection.publish(EVENT)
    broker.return_unnoticed("shard")
    await _turns()
    assert [one.redelivered for one in received] == [False, False, True, True]


async def test_levers_for_consumers_need_a_queue() -> None:
    broker = MemoryBroker()
    await _connected(broker, SINGLE)
    for lever in (broker.usurp, broker.return_unnoticed):
        lever("shard")
        for name in ("nowhere", "journal"):
            with pytest.raises(KeyError):
                lever(name)


async def test_a_blocked_broker_takes_nothing_until_it_is_unblocked() -> None:
    broker = MemoryBroker()
    connection, first = await _filled(broker, b"1", b"2", b"3")
    consumer = await connection.consume("shard", first.append, prefetch=2)
    broker.block()
    late = await MemoryTransport(broker).connect()
    await consumer.acknowledge(1)
    publishing = asyncio.create_task(connection.publish(Message("", "shard", b"4")))
    await _turns(9)
    assert (connection.is_blocked, late.is_blocked) == (True, True)
    assert (len(first), broker.depth("shard"), publishing.done()) == (2, 3, False)
    broker.unblock()
    assert await publishing is Published.CONFIRMED
    assert [one.body for one in first] == [b"1", b"2", b"3"]
    assert broker.depth("shard") == 3
    assert (connection.is_blocked, late.is_blocked) == (False, False)


async def test_a_blocked_broker_goes_on_delivering() -> None:
    broker = MemoryBroker()
    connection, first = await _filled(broker, b"1")
    other = await _connected(broker, SINGLE)
    second: list[Delivery] = []
    await connection.consume("shard", first.append, prefetch=1)
    await other.consume("shard", second.append, prefetch=1)
    broker.block()
    broker.cut(connection, "pulled")
    await _turns()
    assert _seen(second) == [(1, b"1", True)]


async def test_closing_does_not_wait_for_a_blocked_broker() -> None:
    broker = MemoryBroker()
    connection = await _connected(broker)
    broker.block()
    publishing = asyncio.create_task(connection.publish(EVENT))
    await asyncio.sleep(0)
    await connection.close()
    broker.unblock()
    with pytest.raises(ConnectionLost):
        await publishing
    assert broker.depth("shard") == 0


@pytest.mark.parametrize("deliver_sent", [True, False])
async def test_a_severed_client_is_dead_and_the_broker_does_not_know(deliver_sent: bool) -> None:
    broker = MemoryBroker()
    connection, first = await _filled(broker, b"1")
    other = await _connected(broker, SINGLE)
    second: list[Delivery] = []
    consumer = await connection.consume("shard", first.append, prefetch=1)
    await other.consume("shard", second.append, prefetch=1)
    publishing = asyncio.create_task(connection.publish(Message("", "shard", b"sent")))
    await asyncio.sleep(0)
    connection.sever(deliver_sent=deliver_sent)
    for call in (publishing, connection.survey("shard"), consumer.acknowledge(1)):
        with pytest.raises(ConnectionLost, match="severed"):
            await call
    await connection.close()
    await _turns()
    assert "severed" in await connection.lost
    assert broker.depth("shard") == 1 + deliver_sent
    assert broker.connections == (connection, other)
    assert second == []
    broker.cut(connection, "no sign of life")
    await _turns()
    assert [(one.body, one.redelivered) for one in second] == [(b"1", True)]
    assert "severed" in await connection.lost


async def test_a_severed_client_of_a_blocked_broker_cannot_close() -> None:
    broker = MemoryBroker()
    connection = await _connected(broker)
    broker.block()
    connection.sever(deliver_sent=False)
    await connection.close()
    assert broker.connections == (connection,)


async def test_messages_expire_by_the_broker_s_clock_at_the_head_of_the_queue() -> None:
    clock = VirtualClock()
    broker = MemoryBroker(clock)
    connection = await _connected(broker)
    for body, expires in ((b"1", 1.0), (b"2", 9.0), (b"3", 1.0)):
        await connection.publish(replace(EVENT, body=body, expires=expires))
    clock.advance(999_999)
    assert broker.depth("shard") == 3
    clock.advance(1)
    assert [message.body for message in broker.messages("shard")] == [b"2", b"3"]
    clock.advance(8_000_000)
    assert broker.depth("shard") == 0


async def test_an_expired_message_makes_room() -> None:
    clock = VirtualClock()
    broker = MemoryBroker(clock)
    connection = await _connected(broker, Topology(queues=(Queue("narrow", max_length=1),)))
    message = Message("", "narrow", b"", expires=1.0)
    assert await connection.publish(message) is Published.CONFIRMED
    assert await connection.publish(message) is Published.NACKED
    clock.advance(1_000_000)
    assert await connection.publish(message) is Published.CONFIRMED


async def test_a_stream_drops_the_oldest_beyond_its_size_but_never_the_newest() -> None:
    broker = MemoryBroker()
    small = Topology(queues=(Queue("journal", kind="stream", max_bytes=10),))
    connection = await _connected(broker, small)
    for body in (b"1234", b"5678", b"90", b"x", b"y" * 99):
        await connection.publish(Message("", "journal", body))
        if body == b"90":
            assert broker.depth("journal") == 3
    assert [message.body for message in broker.messages("journal")] == [b"y" * 99]
    received: list[Delivery] = []
    await connection.read("journal", received.append, since=0, prefetch=1)
    await _turns()
    assert [one.offset for one in received] == [4]


async def test_a_reader_left_behind_goes_on_with_the_oldest() -> None:
    broker = MemoryBroker()
    small = Topology(queues=(Queue("journal", kind="stream", max_bytes=2),))
    connection = await _connected(broker, small)
    received: list[Delivery] = []
    reader = await connection.read("journal", received.append, since="first", prefetch=1)
    for number in range(6):
        await connection.publish(Message("", "journal", b"%d" % number))
    await reader.acknowledge(1)
    await _turns()
    assert [one.offset for one in received] == [0, 4]


async def test_latency_delays_both_ways_and_nothing_overtakes() -> None:
    broker = MemoryBroker()
    delays = iter([0.0, 0.0, 0.0, 0.03, 0.0, 0.0, 0.02, 0.0, 0.0])
    connection = await MemoryTransport(broker, lambda: next(delays, 0.0)).connect()
    await connection.declare(SHARD)
    loop = asyncio.get_running_loop()
    before = loop.time()
    answered: list[bytes] = []

    async def publish(body: bytes) -> None:
        await connection.publish(replace(EVENT, body=body))
        answered.append(body)

    async with asyncio.TaskGroup() as tasks:
        for body in (b"slow", b"fast", b"last"):
            tasks.create_task(publish(body))
    assert [message.body for message in broker.messages("shard")] == [b"slow", b"fast", b"last"]
    assert answered == [b"slow", b"fast", b"last"]
    assert loop.time() - before > 0.045


class _Unordered(asyncio.SelectorEventLoop):
    """An event loop that runs what is ready in any order: each callback waits some more turns."""

    chance: random.Random

    def call_soon(
        self,
        callback: Callable[..., object],
        *args: object,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        if self.chance.random() < 0.6:
            callback, args = self.call_soon, (callback, *args)
        return super().call_soon(callback, *args, context=context)


@pytest.mark.parametrize("seed", range(20))
def test_the_order_does_not_depend_on_that_of_the_loop(seed: int) -> None:
    def loop() -> _Unordered:
        made = _Unordered()
        made.chance = random.Random(seed)
        return made

    with asyncio.Runner(loop_factory=loop) as runner:
        sent, received = runner.run(_exchange())
    assert received == sent


async def _exchange() -> tuple[list[bytes], list[bytes]]:
    broker = MemoryBroker()
    publisher, reader = await _connected(broker), await _connected(broker)
    sent: list[bytes] = []
    received: list[bytes] = []

    async def publish(number: int) -> None:
        sent.append(b"%d" % number)
        await publisher.publish(replace(EVENT, body=sent[-1]))

    await reader.consume("shard", lambda one: received.append(one.body), prefetch=0)
    await asyncio.gather(*(publish(number) for number in range(30)))
    await reader.survey("shard")  # which comes after all deliveries
    return sent, received
