"""What a reader of a stream may rely on."""

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
    Topology,
)
from tests.contract.site import Inbox, Site, eventually, reason

JOURNAL = Queue("journal", kind="stream", max_bytes=100_000_000, max_days=1825)


async def _with(site: Site, *bodies: bytes) -> Connection:
    connection = await site.connect()
    await connection.declare(Topology(queues=(JOURNAL,)))
    await _write(connection, *bodies)
    return connection


async def _write(connection: Connection, *bodies: bytes) -> None:
    for body in bodies:
        assert await connection.publish(Message("", "journal", body)) is Published.CONFIRMED


async def test_all_that_was_written_can_be_read_in_order_with_offsets_from_zero(site: Site) -> None:
    connection = await _with(site, b"a", b"b", b"c")
    inbox = Inbox(site)
    await connection.read("journal", inbox, since="first", prefetch=10)
    read = await inbox.take(3)
    assert [(one.offset, one.tag, one.body) for one in read] == [
        (0, 1, b"a"),
        (1, 2, b"b"),
        (2, 3, b"c"),
    ]
    await _write(connection, b"d")
    assert [(one.offset, one.tag) for one in await inbox.take()] == [(3, 4)]


async def test_reading_removes_nothing(site: Site) -> None:
    connection = await _with(site, b"a", b"b")
    for _ in range(2):
        inbox = Inbox(site)
        reader = await connection.read("journal", inbox, since="first", prefetch=10)
        read = await inbox.take(2)
        assert [(one.offset, one.redelivered) for one in read] == [(0, False), (1, False)]
        await reader.acknowledge(2, multiple=True)
        await reader.close()
        assert await inbox.stays_empty()


async def test_each_reader_reads_for_itself(site: Site) -> None:
    connection, other = await _with(site, b"a", b"b"), await site.connect()
    behind, ahead = Inbox(site), Inbox(site)
    await connection.read("journal", behind, since="first", prefetch=1)
    await other.read("journal", ahead, since="first", prefetch=10)
    assert await ahead.bodies(2) == [b"a", b"b"]
    await _write(connection, b"c")
    assert await ahead.bodies(1) == [b"c"]
    assert await behind.bodies(1) == [b"a"]
    assert await behind.stays_empty()


@pytest.mark.parametrize("since", [0, 1, 77, 150, 199])
async def test_reading_from_an_offset_begins_exactly_there(site: Site, since: int) -> None:
    connection = await _with(site)
    # Published in one go: RabbitMQ stores such messages, and sends them, in one piece.
    calls = [connection.publish(Message("", "journal", b"%d" % number)) for number in range(200)]
    assert set(await asyncio.gather(*calls)) == {Published.CONFIRMED}
    inbox = Inbox(site)
    await connection.read("journal", inbox, since=since, prefetch=1_000)
    read = await inbox.take(200 - since)
    assert [one.offset for one in read] == list(range(since, 200))
    assert [one.tag for one in read] == list(range(1, 201 - since))


async def test_reading_from_an_offset_to_come_waits_for_it(site: Site) -> None:
    connection = await _with(site, b"0", b"1")
    inbox = Inbox(site)
    await connection.read("journal", inbox, since=4, prefetch=1)
    await _write(connection, b"2", b"3")
    assert await inbox.stays_empty()
    await _write(connection, b"4")
    assert [(one.offset, one.body) for one in await inbox.take()] == [(4, b"4")]


async def test_reading_what_comes_next_begins_with_that(site: Site) -> None:
    connection = await _with(site, b"0", b"1")
    inbox = Inbox(site)
    await connection.read("journal", inbox, since="next", prefetch=10)
    assert await inbox.stays_empty()
    await _write(connection, b"2")
    assert [(one.offset, one.body) for one in await inbox.take()] == [(2, b"2")]


async def test_a_writer_reads_its_own_record_back(site: Site) -> None:
    connection = await _with(site)
    inbox = Inbox(site)
    reader = await connection.read("journal", inbox, since="next", prefetch=10)
    for number in range(20):
        await _write(connection, b"%d" % number)
        (read,) = await inbox.take()
        assert (read.offset, read.body) == (number, b"%d" % number)
        await reader.acknowledge(read.tag)


async def test_a_record_of_a_mebibyte_comes_back_whole(site: Site) -> None:
    body = bytes(range(256)) * 4_096
    connection = await _with(site, b"small", body, b"small")
    inbox = Inbox(site)
    await connection.read("journal", inbox, since="first", prefetch=10)
    assert await inbox.bodies(3) == [b"small", body, b"small"]


async def test_no_more_than_the_prefetch_is_outstanding(site: Site) -> None:
    connection = await _with(site, *[b"%d" % number for number in range(8)])
    inbox = Inbox(site)
    reader = await connection.read("journal", inbox, since="first", prefetch=2)
    assert await inbox.bodies(2) == [b"0", b"1"]
    assert await inbox.stays_empty()
    await reader.acknowledge(1)
    assert await inbox.bodies(1) == [b"2"]
    assert await inbox.stays_empty()
    await reader.acknowledge(3, multiple=True)
    assert await inbox.bodies(2) == [b"3", b"4"]
    assert await inbox.stays_empty()


async def test_a_long_stream_is_read_to_its_end(site: Site) -> None:
    connection = await _with(site)
    calls = [connection.publish(Message("", "journal", b"%d" % n)) for n in range(2_000)]
    assert set(await asyncio.gather(*calls)) == {Published.CONFIRMED}
    inbox = Inbox(site)
    reader = await connection.read("journal", inbox, since="first", prefetch=50)
    for number in range(2_000):
        (read,) = await inbox.take()
        assert (read.offset, read.body) == (number, b"%d" % number)
        if number % 10 == 9:
            await reader.acknowledge(read.tag, multiple=True)


async def test_a_message_keeps_what_it_was_sent_with(site: Site) -> None:
    connection = await site.connect()
    topology = Topology((Exchange("events"),), (JOURNAL,), (Binding("journal", "events", "4.#"),))
    await connection.declare(topology)
    headers: dict[str, str | int] = {"code": "stale", "number": -3}
    message = Message("events", "4.t1", b"{}", kind="record.v1", headers=headers)
    assert await connection.publish(message) is Published.CONFIRMED
    inbox = Inbox(site)
    await connection.read("journal", inbox, since="first", prefetch=10)
    (read,) = await inbox.take()
    assert (read.exchange, read.routing_key, read.kind) == ("events", "4.t1", "record.v1")
    assert {name: read.headers[name] for name in headers} == headers
    assert "x-stream-offset" not in read.headers


async def test_what_comes_from_a_queue_has_no_offset(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(Topology(queues=(Queue("shard"),)))
    await connection.publish(Message("", "shard", b""))
    inbox = Inbox(site)
    await connection.consume("shard", inbox, prefetch=1)
    (delivery,) = await inbox.take()
    assert delivery.offset is None


async def test_beyond_its_size_a_stream_loses_the_oldest(site: Site) -> None:
    connection = await site.connect()
    small = Queue("journal", kind="stream", max_bytes=10_000, segment_bytes=2_000)
    await connection.declare(Topology(queues=(small,)))
    await _write(connection, *[b"x" * 1_000] * 40)

    async def forgotten() -> bool:
        inbox = Inbox(site)
        reader = await connection.read("journal", inbox, since=0, prefetch=100)
        (oldest,) = await inbox.take()
        await reader.close()
        return (oldest.offset or 0) > 10

    await eventually(forgotten)
    inbox = Inbox(site)
    await connection.read("journal", inbox, since="next", prefetch=1)
    await _write(connection, b"newest")
    assert await inbox.bodies(1) == [b"newest"]


async def test_offsets_rise_but_a_stream_takes_some_for_itself(site: Site) -> None:
    connection = await site.connect()
    segmented = Queue("journal", kind="stream", segment_bytes=20_000)
    await connection.declare(Topology(queues=(segmented,)))
    bodies = [b"%1000d" % number for number in range(100)]
    await _write(connection, *bodies)
    inbox = Inbox(site)
    await connection.read("journal", inbox, since=0, prefetch=1_000)
    read = await inbox.take(100)
    assert [one.body for one in read] == bodies
    offsets = [one.offset or 0 for one in read]
    assert offsets == sorted(set(offsets))
    assert (offsets[0], offsets[-1] > 99) == (0, True)
    for since in offsets[15:25]:
        await connection.read("journal", inbox, since=since, prefetch=1)
        assert [one.offset for one in await inbox.take()] == [since]


async def test_a_stream_outlives_its_connections(site: Site) -> None:
    site.cut(await _with(site, b"0", b"1"))
    other = await site.connect()
    await other.declare(Topology(queues=(JOURNAL,)))
    await _write(other, b"2")
    inbox = Inbox(site)
    await other.read("journal", inbox, since=1, prefetch=10)
    assert await inbox.bodies(2) == [b"1", b"2"]


async def test_a_closed_reader_leaves_the_connection_in_order(site: Site) -> None:
    connection = await _with(site, b"0")
    reader = await connection.read("journal", Inbox(site), since="first", prefetch=1)
    await reader.close()
    await reader.close()
    with pytest.raises(ConnectionLost):
        await reader.acknowledge(1)
    await _write(connection, b"1")
    assert not connection.lost.done()


async def test_acknowledging_what_was_not_read_loses_the_connection(site: Site) -> None:
    connection = await _with(site, b"0")
    inbox = Inbox(site)
    reader = await connection.read("journal", inbox, since="first", prefetch=1)
    await inbox.take()
    await reader.acknowledge(7)
    assert "unknown delivery tag 7" in await reason(connection)


async def test_the_end_of_its_stream_loses_the_reader_s_connection(site: Site) -> None:
    connection, other = await _with(site, b"0"), await site.connect()
    await connection.read("journal", Inbox(site), since="first", prefetch=1)
    await site.delete("journal")
    assert "cancelled" in await reason(connection)
    assert await other.publish(Message("", "journal", b"1")) is Published.RETURNED


@pytest.mark.parametrize(
    ("name", "prefetch", "why"),
    [
        ("nowhere", 1, "NOT_FOUND.*nowhere"),
        ("shard", 1, "PRECONDITION_FAILED.*x-stream-offset.*shard"),
        ("journal", 0, "PRECONDITION_FAILED.*prefetch count is not set.*journal"),
    ],
)
async def test_reading_what_cannot_be_read_loses_the_connection(
    site: Site, name: str, prefetch: int, why: str
) -> None:
    connection = await _with(site)
    await connection.declare(Topology(queues=(Queue("shard"),)))
    with pytest.raises(ConnectionLost, match=why):
        await connection.read(name, Inbox(site), since="first", prefetch=prefetch)
    assert name in await reason(connection)
