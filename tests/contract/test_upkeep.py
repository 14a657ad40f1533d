"""Looking at what exists, and clearing it away."""

import asyncio

import pytest

from actors.transport import (
    Binding,
    Connection,
    ConnectionLost,
    Exchange,
    Message,
    Published,
    Queue,
    Survey,
    Topology,
    TopologyConflict,
)
from tests.contract.site import Inbox, Site, eventually, reason

SHARD = Topology(
    exchanges=(Exchange("events"), Exchange("all", "fanout")),
    queues=(Queue("shard", single_active=True), Queue("journal", kind="stream", max_days=9)),
    bindings=(Binding("shard", "events", "4.#"), Binding("shard", "events", "5.#")),
)


async def _shows(connection: Connection, queue: str, messages: int, consumers: int) -> None:
    async def is_so() -> bool:
        return await connection.survey(queue) == Survey(messages, consumers)

    await eventually(is_so)


async def test_a_survey_shows_the_messages_that_wait(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(Topology(queues=(Queue("shard"),)))
    await _shows(connection, "shard", 0, 0)
    for _ in range(3):
        await connection.publish(Message("", "shard", b""))
    await _shows(connection, "shard", 3, 0)
    inbox = Inbox(site)
    consumer = await connection.consume("shard", inbox, prefetch=2)
    await inbox.take(2)
    await _shows(connection, "shard", 1, 1)
    await consumer.close()
    await _shows(connection, "shard", 3, 0)


@pytest.mark.parametrize(("single_active", "consumers"), [(True, 1), (False, 3)])
async def test_a_survey_shows_the_consumers_or_the_active_one(
    site: Site, single_active: bool, consumers: int
) -> None:
    connection, other = await site.connect(), await site.connect()
    await connection.declare(Topology(queues=(Queue("workers", single_active=single_active),)))
    for one in (connection, other, other):
        await one.consume("workers", Inbox(site), prefetch=1)
    await _shows(connection, "workers", 0, consumers)
    await other.close()
    await _shows(connection, "workers", 0, 1)


async def test_a_survey_of_a_stream_shows_no_reader(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    await connection.read("journal", Inbox(site), since="next", prefetch=1)
    assert await connection.survey("journal") == Survey(messages=0, consumers=0)


async def test_there_is_no_survey_of_what_does_not_exist(site: Site) -> None:
    connection = await site.connect()
    assert await connection.survey("nowhere") is None
    await connection.declare(SHARD)
    assert await connection.publish(Message("", "shard", b"")) is Published.CONFIRMED


async def test_nobody_looks_into_another_s_private_queue(site: Site) -> None:
    mine, other = await site.connect(), await site.connect()
    private = Topology(queues=(Queue("mine", kind="private"),))
    await mine.declare(private)
    assert await mine.survey("mine") == Survey(messages=0, consumers=0)
    with pytest.raises(TopologyConflict, match="RESOURCE_LOCKED"):
        await other.survey("mine")
    with pytest.raises(TopologyConflict, match="RESOURCE_LOCKED"):
        await other.delete("mine")
    (difference,) = await other.differences(private)
    assert "RESOURCE_LOCKED" in difference
    assert await other.survey("nowhere") is None


async def test_what_is_unbound_gets_nothing_more(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    await connection.unbind([Binding("shard", "events", "4.#")])
    assert await connection.publish(Message("events", "4.t", b"")) is Published.RETURNED
    assert await connection.publish(Message("events", "5.t", b"")) is Published.CONFIRMED
    await connection.declare(SHARD)
    assert await connection.publish(Message("events", "4.t", b"")) is Published.CONFIRMED


async def test_of_two_bindings_to_a_fanout_one_is_enough(site: Site) -> None:
    connection = await site.connect()
    first, second = Binding("shard", "all", "first"), Binding("shard", "all", "second")
    await connection.declare(SHARD)
    await connection.declare(Topology(bindings=(first, second)))
    await connection.unbind([first])
    assert await connection.publish(Message("all", "any", b"")) is Published.CONFIRMED
    await connection.unbind([second])
    assert await connection.publish(Message("all", "any", b"")) is Published.RETURNED


async def test_what_is_not_bound_is_unbound_already(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    missing = [("nowhere", "events"), ("shard", "nowhere"), ("shard", "all"), ("journal", "events")]
    await connection.unbind([Binding(queue, exchange, "4.#") for queue, exchange in missing])
    assert await connection.publish(Message("events", "4.t", b"")) is Published.CONFIRMED


async def test_an_empty_queue_without_consumers_can_be_deleted(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    assert await connection.delete("shard")
    assert await connection.survey("shard") is None
    assert await connection.publish(Message("events", "4.t", b"")) is Published.RETURNED
    assert await connection.delete("shard")


async def test_a_private_queue_can_be_deleted_by_its_owner(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(Topology(queues=(Queue("mine", kind="private"),)))
    assert await connection.delete("mine")
    assert await connection.survey("mine") is None


async def test_a_queue_with_messages_is_left(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    await connection.publish(Message("", "shard", b"kept"))
    await _shows(connection, "shard", 1, 0)
    assert not await connection.delete("shard")
    inbox = Inbox(site)
    await connection.consume("shard", inbox, prefetch=1)
    assert await inbox.bodies(1) == [b"kept"]


async def test_a_queue_with_a_consumer_is_left(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    await connection.consume("shard", Inbox(site), prefetch=1)
    await _shows(connection, "shard", 0, 1)
    assert not await connection.delete("shard")
    assert not connection.lost.done()


async def test_a_stream_is_left(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    await connection.publish(Message("", "journal", b"kept"))
    assert not await connection.delete("journal")
    inbox = Inbox(site)
    await connection.read("journal", inbox, since="first", prefetch=1)
    assert await inbox.bodies(1) == [b"kept"]


async def test_nothing_differs_from_what_was_declared(site: Site) -> None:
    connection, other = await site.connect(), await site.connect()
    await connection.declare(SHARD)
    assert await other.differences(SHARD) == []


async def test_what_is_missing_is_called_that_and_not_made(site: Site) -> None:
    connection = await site.connect()
    for _ in range(2):
        assert await connection.differences(SHARD) == [
            "exchange 'events': missing",
            "exchange 'all': missing",
            "queue 'shard': missing",
            "queue 'journal': missing",
        ]


async def test_what_is_otherwise_is_named_and_not_changed(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    wanted = Topology(
        exchanges=(Exchange("events", "fanout"), Exchange("all", "fanout")),
        queues=(Queue("shard"), Queue("journal", kind="stream", max_days=10)),
    )
    exchange, shard, journal = await connection.differences(wanted)
    assert exchange.startswith("exchange 'events': inequivalent arg 'type'")
    assert shard.startswith("queue 'shard': inequivalent arg")
    assert "single" in shard
    assert journal.startswith("queue 'journal': inequivalent arg")
    assert await connection.differences(SHARD) == []
    assert await connection.publish(Message("events", "4.t", b"")) is Published.CONFIRMED


async def test_upkeep_ends_with_the_connection(site: Site) -> None:
    connection = await site.connect()
    site.cut(connection)
    await reason(connection)
    for call in (
        connection.survey("shard"),
        connection.delete("shard"),
        connection.unbind(SHARD.bindings),
        connection.differences(SHARD),
        connection.read("journal", Inbox(site), since="first", prefetch=1),
    ):
        with pytest.raises(ConnectionLost):
            await call


async def test_a_broker_short_of_memory_says_so_and_publishers_wait(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    assert not connection.is_blocked

    async def blocked() -> bool:
        return connection.is_blocked

    async def free() -> bool:
        return not connection.is_blocked

    with site.shortage():
        bodies = [b"%d" % number for number in range(5)]
        calls = [
            asyncio.create_task(connection.publish(Message("", "shard", body))) for body in bodies
        ]
        await eventually(blocked)
        await asyncio.sleep(site.quiet)
        assert not any(call.done() for call in calls)
    assert set(await asyncio.gather(*calls)) == {Published.CONFIRMED}
    await eventually(free)
    inbox = Inbox(site)
    await connection.consume("shard", inbox, prefetch=0)
    assert await inbox.bodies(5) == bodies


async def test_a_lost_connection_is_not_blocked(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)

    async def blocked() -> bool:
        return connection.is_blocked

    with site.shortage():
        # Of a message without a body RabbitMQ learns too late that it is one.
        call = asyncio.create_task(connection.publish(Message("", "shard", b"tick")))
        await eventually(blocked)
        await connection.close()
        with pytest.raises(ConnectionLost):
            await call
    assert not connection.is_blocked
