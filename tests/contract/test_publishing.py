"""What a publisher may rely on."""

import asyncio
from dataclasses import replace

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

EVENTS = Topology(
    exchanges=(Exchange("events"),),
    queues=(Queue("shard"),),
    bindings=(Binding("shard", "events", "4.#"),),
)
EVENT = Message("events", "4.table-7", b"{}")


async def _nacks(connection: Connection, message: Message) -> bool:
    return await connection.publish(message) is Published.NACKED


async def test_a_message_that_a_queue_took_is_confirmed(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(EVENTS)
    assert await connection.publish(EVENT) is Published.CONFIRMED


async def test_a_message_that_no_queue_takes_is_returned(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(EVENTS)
    assert await connection.publish(replace(EVENT, routing_key="5.t1")) is Published.RETURNED
    assert await connection.publish(Message("", "nobody", b"{}")) is Published.RETURNED
    assert await connection.publish(EVENT) is Published.CONFIRMED


async def test_a_full_queue_nacks_until_there_is_room_again(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(Topology(queues=(Queue("narrow", max_length=10),)))
    message = Message("", "narrow", b"{}")
    # A quorum queue tells its publishers a little late, and forgives them below four fifths.
    await eventually(lambda: _nacks(connection, message))
    inbox = Inbox(site)
    consumer = await connection.consume("narrow", inbox, prefetch=0)
    *_, last = await inbox.take(10)
    await consumer.acknowledge(last.tag, multiple=True)

    async def takes() -> bool:
        return not await _nacks(connection, message)

    await eventually(takes)


async def test_a_full_queue_nacks_what_others_take_all_the_same(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(
        Topology(
            exchanges=(Exchange("decisions", "fanout"),),
            queues=(Queue("narrow", kind="private", max_length=1), Queue("wide")),
            bindings=(Binding("narrow", "decisions"), Binding("wide", "decisions")),
        )
    )
    message = Message("decisions", "any", b"{}")
    published = [await connection.publish(message) for _ in range(3)]
    assert published == [Published.CONFIRMED, Published.NACKED, Published.NACKED]
    inbox = Inbox(site)
    await connection.consume("wide", inbox, prefetch=0)
    assert len(await inbox.take(3)) == 3


async def test_publishing_overlaps_and_keeps_the_order_of_the_calls(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(EVENTS)
    bodies = [b"%d" % number for number in range(500)]
    calls = [connection.publish(replace(EVENT, body=body)) for body in bodies]
    assert set(await asyncio.gather(*calls)) == {Published.CONFIRMED}
    inbox = Inbox(site)
    await connection.consume("shard", inbox, prefetch=0)
    assert await inbox.bodies(500) == bodies


async def test_each_of_overlapping_calls_gets_its_own_answer(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(EVENTS)
    calls = [connection.publish(replace(EVENT, routing_key=f"{n % 3 + 3}.t")) for n in range(60)]
    expected = [Published.RETURNED, Published.CONFIRMED, Published.RETURNED] * 20
    assert await asyncio.gather(*calls) == expected


async def test_a_call_that_was_given_up_does_not_disturb_the_others(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(EVENTS)
    calls = [asyncio.create_task(connection.publish(EVENT)) for _ in range(30)]
    await asyncio.sleep(0)
    for call in calls[::3]:
        call.cancel()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [answer for n, answer in enumerate(answers) if n % 3] == [Published.CONFIRMED] * 20
    assert await connection.publish(EVENT) is Published.CONFIRMED
    assert not connection.lost.done()


async def test_publishing_to_an_unknown_exchange_loses_the_connection(site: Site) -> None:
    connection = await site.connect()
    with pytest.raises(ConnectionLost, match=r"NOT_FOUND.*nowhere"):
        await connection.publish(Message("nowhere", "any", b"{}"))
    assert "nowhere" in await reason(connection)


async def test_a_message_arrives_as_it_was_sent(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(EVENTS)
    headers: dict[str, str | int] = {
        "code": "stale",
        "received": 1_700_000_000_000_000,
        "below": -3,
        "none": 0,
    }
    await connection.publish(replace(EVENT, kind="seatwarden.seat.v1", headers=headers))
    inbox = Inbox(site)
    await connection.consume("shard", inbox, prefetch=1)
    (delivery,) = await inbox.take()
    assert (delivery.tag, delivery.redelivered) == (1, False)
    assert (delivery.exchange, delivery.routing_key) == ("events", "4.table-7")
    assert (delivery.body, delivery.kind) == (b"{}", "seatwarden.seat.v1")
    assert {name: delivery.headers[name] for name in headers} == headers


async def test_the_content_type_is_passed_on(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(EVENTS)
    await connection.publish(EVENT)
    await connection.publish(replace(EVENT, content_type="text/plain"))
    assert await site.content_types("shard") == ["application/cloudevents+json", "text/plain"]


async def test_size_does_not_matter(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(EVENTS)
    bodies = [b"", b"x" * 131_072, b"y" * 1_000_000, b"z"]
    await asyncio.gather(*(connection.publish(replace(EVENT, body=body)) for body in bodies))
    inbox = Inbox(site)
    await connection.consume("shard", inbox, prefetch=0)
    assert await inbox.bodies(4) == bodies


async def test_a_message_expires_in_the_queue(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(EVENTS)
    await connection.publish(replace(EVENT, body=b"short", expires=0.2))
    await connection.publish(replace(EVENT, body=b"long", expires=600))
    await connection.publish(replace(EVENT, body=b"kept"))
    await asyncio.sleep(0.5)
    inbox = Inbox(site)
    await connection.consume("shard", inbox, prefetch=0)
    assert await inbox.bodies(2) == [b"long", b"kept"]
    assert await inbox.stays_empty()


async def test_a_message_does_not_expire_once_it_was_given_out(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(EVENTS)
    inbox = Inbox(site)
    consumer = await connection.consume("shard", inbox, prefetch=1)
    await connection.publish(replace(EVENT, body=b"held", expires=0.2))
    assert await inbox.bodies(1) == [b"held"]
    await asyncio.sleep(0.5)
    await consumer.acknowledge(1)
    await connection.publish(replace(EVENT, body=b"next"))
    assert await inbox.bodies(1) == [b"next"]
    assert not connection.lost.done()


async def test_a_message_that_comes_back_too_late_is_dropped(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(EVENTS)
    inbox = Inbox(site)
    consumer = await connection.consume("shard", inbox, prefetch=1)
    await connection.publish(replace(EVENT, body=b"held", expires=0.2))
    await connection.publish(replace(EVENT, body=b"next"))
    assert await inbox.bodies(1) == [b"held"]
    await asyncio.sleep(0.5)
    await consumer.close()
    await connection.consume("shard", inbox, prefetch=1)
    assert await inbox.bodies(1) == [b"next"]
