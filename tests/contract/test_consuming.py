"""What a consumer may rely on."""

import asyncio

import pytest

from actors.transport import Connection, ConnectionLost, Message, Published, Queue, Topology
from tests.contract.site import Inbox, Site, eventually, reason


async def _with(site: Site, queue: Queue, *bodies: bytes) -> Connection:
    connection = await site.connect()
    await connection.declare(Topology(queues=(queue,)))
    await _publish(connection, *bodies)
    return connection


async def _publish(connection: Connection, *bodies: bytes) -> None:
    calls = [connection.publish(Message("", "shard", body)) for body in bodies]
    assert set(await asyncio.gather(*calls)) <= {Published.CONFIRMED}


async def test_messages_come_in_the_order_in_which_they_were_published(site: Site) -> None:
    bodies = [b"%d" % number for number in range(3_000)]
    connection = await _with(site, Queue("shard"), *bodies)
    inbox = Inbox(site)
    consumer = await connection.consume("shard", inbox, prefetch=1_000)
    received = []
    for _ in range(30):
        received += await inbox.take(100)
        await consumer.acknowledge(received[-1].tag, multiple=True)
    assert [delivery.body for delivery in received] == bodies
    assert [delivery.tag for delivery in received] == list(range(1, 3_001))


async def test_no_more_than_the_prefetch_is_outstanding(site: Site) -> None:
    connection = await _with(site, Queue("shard"), *[b""] * 6)
    inbox = Inbox(site)
    consumer = await connection.consume("shard", inbox, prefetch=2)
    await inbox.take(2)
    assert await inbox.stays_empty()
    await consumer.acknowledge(2)
    assert [delivery.tag for delivery in await inbox.take()] == [3]
    assert await inbox.stays_empty()
    await consumer.acknowledge(3, multiple=True)
    assert [delivery.tag for delivery in await inbox.take(2)] == [4, 5]
    assert await inbox.stays_empty()


async def test_a_closed_consumer_returns_what_it_did_not_acknowledge_in_order(site: Site) -> None:
    connection = await _with(site, Queue("shard"), b"1", b"2", b"3", b"4", b"5")
    first, second = Inbox(site), Inbox(site)
    consumer = await connection.consume("shard", first, prefetch=0)
    await first.take(5)
    await consumer.acknowledge(2)
    await consumer.acknowledge(4)
    await consumer.close()
    await _publish(connection, b"6")
    await connection.consume("shard", second, prefetch=0)
    again = await second.take(4)
    assert [delivery.body for delivery in again] == [b"1", b"3", b"5", b"6"]
    assert [delivery.tag for delivery in again] == [1, 2, 3, 4]
    assert [delivery.redelivered for delivery in again] == [True, True, True, False]
    assert await first.stays_empty()


async def test_multiple_acknowledges_all_up_to_the_tag(site: Site) -> None:
    connection = await _with(site, Queue("shard"), b"1", b"2", b"3", b"4")
    first, second = Inbox(site), Inbox(site)
    consumer = await connection.consume("shard", first, prefetch=0)
    await first.take(4)
    await consumer.acknowledge(3, multiple=True)
    await consumer.close()
    await connection.consume("shard", second, prefetch=0)
    assert await second.bodies(1) == [b"4"]
    assert await second.stays_empty()


async def test_acknowledgements_right_before_the_end_are_not_lost(site: Site) -> None:
    # A quorum queue keeps 32 of a channel's commands in flight; what exceeds them does get lost
    # with the channel, unless `multiple` makes one of many.
    bodies = [b"%d" % number for number in range(100)]
    connection = await _with(site, Queue("shard"), *bodies)
    inbox = Inbox(site)
    consumer = await connection.consume("shard", inbox, prefetch=0)
    await inbox.take(100)
    for tag in range(1, 31):
        await consumer.acknowledge(tag)
    await consumer.close()
    consumer = await connection.consume("shard", inbox, prefetch=0)
    assert await inbox.bodies(70) == bodies[30:]
    await consumer.acknowledge(69, multiple=True)
    await connection.close()
    connection = await site.connect()
    await connection.consume("shard", inbox, prefetch=0)
    assert await inbox.bodies(1) == bodies[99:]
    assert await inbox.stays_empty()


@pytest.mark.parametrize("end", ["closed", "cut"])
async def test_the_end_of_a_connection_returns_its_messages_in_order(site: Site, end: str) -> None:
    connection = await _with(site, Queue("shard"), b"1", b"2", b"3")
    inbox = Inbox(site)
    consumer = await connection.consume("shard", inbox, prefetch=2)
    await inbox.take(2)
    await consumer.acknowledge(1)
    assert await inbox.bodies(1) == [b"3"]
    if end == "closed":
        await connection.close()
    else:
        site.cut(connection)
    other = await site.connect()
    await other.consume("shard", inbox, prefetch=0)
    again = await inbox.take(2)
    assert [(delivery.body, delivery.redelivered) for delivery in again] == [
        (b"2", True),
        (b"3", True),
    ]


async def test_a_message_comes_back_for_ever_and_is_counted(site: Site) -> None:
    connection = await _with(site, Queue("shard"), b"poison")
    inbox = Inbox(site)
    for returned in range(25):  # RabbitMQ 4 drops it at 20 unless told
        consumer = await connection.consume("shard", inbox, prefetch=1)
        (delivery,) = await inbox.take()
        assert delivery.headers.get("x-delivery-count", 0) == returned
        assert delivery.redelivered is (returned > 0)
        await consumer.close()


async def test_of_single_active_consumers_the_first_gets_all_and_the_next_takes_over(
    site: Site,
) -> None:
    queue = Queue("shard", single_active=True)
    connection = await _with(site, queue, b"1", b"2")
    others = [await site.connect() for _ in range(2)]
    inboxes = [Inbox(site) for _ in range(3)]
    active = await connection.consume("shard", inboxes[0], prefetch=2)
    await others[0].consume("shard", inboxes[1], prefetch=2)
    await others[1].consume("shard", inboxes[2], prefetch=2)
    assert await inboxes[0].bodies(2) == [b"1", b"2"]
    await _publish(connection, b"3")
    assert await inboxes[1].stays_empty()
    await active.close()
    assert await inboxes[1].bodies(2) == [b"1", b"2"]
    site.cut(others[0])
    assert await inboxes[2].bodies(2) == [b"1", b"2"]
    assert await inboxes[0].stays_empty()


async def test_who_registers_again_stands_at_the_end_of_the_line(site: Site) -> None:
    connection = await _with(site, Queue("shard", single_active=True), b"1")
    inboxes = [Inbox(site) for _ in range(2)]
    first = await connection.consume("shard", inboxes[0], prefetch=1)
    second = await connection.consume("shard", inboxes[1], prefetch=1)
    await inboxes[0].take()
    await first.close()
    await connection.consume("shard", inboxes[0], prefetch=1)
    await inboxes[1].take()
    assert await inboxes[0].stays_empty()
    await second.close()
    await inboxes[0].take()


async def test_other_consumers_share(site: Site) -> None:
    connection = await _with(site, Queue("shard"))
    inboxes = [Inbox(site) for _ in range(2)]
    for inbox in inboxes:
        await connection.consume("shard", inbox, prefetch=2)
    await _publish(connection, b"1", b"2", b"3", b"4")
    shares = [await inbox.bodies(2) for inbox in inboxes]
    assert sorted(shares[0] + shares[1]) == [b"1", b"2", b"3", b"4"]
    assert shares == [sorted(share) for share in shares]


@pytest.mark.parametrize("tag", [1, 7])
async def test_acknowledging_what_is_not_outstanding_loses_the_connection(
    site: Site, tag: int
) -> None:
    connection = await _with(site, Queue("shard"), b"")
    inbox = Inbox(site)
    consumer = await connection.consume("shard", inbox, prefetch=1)
    await inbox.take()
    await consumer.acknowledge(1)
    await consumer.acknowledge(tag)
    assert f"unknown delivery tag {tag}" in await reason(connection)
    with pytest.raises(ConnectionLost):
        await consumer.acknowledge(1)


async def test_a_closed_consumer_acknowledges_nothing(site: Site) -> None:
    connection = await _with(site, Queue("shard"), b"")
    inbox = Inbox(site)
    consumer = await connection.consume("shard", inbox, prefetch=1)
    await inbox.take()
    await consumer.close()
    await consumer.close()
    with pytest.raises(ConnectionLost):
        await consumer.acknowledge(1)
    assert not connection.lost.done()


async def test_consuming_an_unknown_queue_loses_the_connection(site: Site) -> None:
    connection = await site.connect()
    with pytest.raises(ConnectionLost, match=r"NOT_FOUND.*nowhere"):
        await connection.consume("nowhere", Inbox(site), prefetch=1)
    assert "nowhere" in await reason(connection)


async def test_the_end_of_its_queue_loses_the_connection(site: Site) -> None:
    connection = await _with(site, Queue("shard"))
    await connection.consume("shard", Inbox(site), prefetch=1)
    await site.delete("shard")
    assert "cancelled" in await reason(connection)


async def test_a_consumer_that_was_given_up_leaves_nothing_behind(site: Site) -> None:
    connection = await _with(site, Queue("shard", single_active=True), b"1")
    given_up, inbox = Inbox(site), Inbox(site)
    consuming = asyncio.create_task(connection.consume("shard", given_up, prefetch=1))
    await asyncio.sleep(0)
    consuming.cancel()
    with pytest.raises(asyncio.CancelledError):
        await consuming
    await connection.consume("shard", inbox, prefetch=1)
    assert await inbox.bodies(1) == [b"1"]
    assert not connection.lost.done()


async def test_held_messages_do_not_keep_others_waiting(site: Site) -> None:
    connection = await _with(site, Queue("shard"), b"1", b"2")
    holding, inbox = Inbox(site), Inbox(site)
    await connection.consume("shard", holding, prefetch=1)
    await holding.take()
    consumer = await connection.consume("shard", inbox, prefetch=1)
    (delivery,) = await inbox.take()
    assert delivery.body == b"2"
    await consumer.acknowledge(delivery.tag)
    await _publish(connection, b"3")
    assert await inbox.bodies(1) == [b"3"]


async def test_deliveries_stop_when_the_connection_is_lost(site: Site) -> None:
    connection = await _with(site, Queue("shard"), *[b""] * 50)
    inbox = Inbox(site)
    await connection.consume("shard", inbox, prefetch=0)
    await connection.close()
    await inbox.stays_empty()
    other = await site.connect()
    again = Inbox(site)
    await other.consume("shard", again, prefetch=0)
    assert len(await again.take(50)) == 50


async def test_a_dead_connection_is_free_for_others_without_being_closed(site: Site) -> None:
    connection = await _with(site, Queue("shard"), b"1")
    inbox = Inbox(site)
    await connection.consume("shard", inbox, prefetch=1)
    await inbox.take()
    with pytest.raises(ConnectionLost):
        await connection.publish(Message("nowhere", "any", b""))  # kills another channel only
    other = await site.connect()
    await other.consume("shard", inbox, prefetch=1)
    assert await inbox.bodies(1) == [b"1"]


async def test_a_private_queue_serves_only_its_connection(site: Site) -> None:
    mine, other = await site.connect(), await site.connect()
    await mine.declare(Topology(queues=(Queue("mine", kind="private"),)))
    with pytest.raises(ConnectionLost, match="RESOURCE_LOCKED"):
        await other.consume("mine", Inbox(site), prefetch=1)
    assert await mine.publish(Message("", "mine", b"")) is Published.CONFIRMED


async def test_a_private_queue_goes_with_its_last_consumer(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(Topology(queues=(Queue("mine", kind="private"),)))
    message = Message("", "mine", b"")
    assert await connection.publish(message) is Published.CONFIRMED
    consumer = await connection.consume("mine", Inbox(site), prefetch=1)
    await consumer.close()

    async def returned() -> bool:
        return await connection.publish(message) is Published.RETURNED

    await eventually(returned)
