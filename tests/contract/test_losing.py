"""How a connection ends."""

import asyncio
import re

import pytest

from actors.transport import (
    CannotConnect,
    ConnectionLost,
    Message,
    Published,
    Queue,
    Topology,
)
from tests.contract.site import Inbox, Site, reason

SHARD = Topology(queues=(Queue("shard"),))
TICK = Message("", "shard", b"tick")


async def test_a_cut_connection_says_so(site: Site) -> None:
    connection = await site.connect()
    assert not connection.lost.done()
    site.cut(connection)
    assert await reason(connection)


async def test_a_closed_connection_says_so(site: Site) -> None:
    connection = await site.connect()
    await connection.close()
    assert await reason(connection) == "closed by this client"


@pytest.mark.parametrize("end", ["closed", "cut"])
async def test_nothing_can_be_done_with_a_lost_connection(site: Site, end: str) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    consumer = await connection.consume("shard", Inbox(site), prefetch=1)
    if end == "closed":
        await connection.close()
    else:
        site.cut(connection)
    why = await reason(connection)
    with pytest.raises(ConnectionLost, match=re.escape(why)):
        await connection.publish(TICK)
    with pytest.raises(ConnectionLost, match=re.escape(why)):
        await connection.declare(SHARD)
    with pytest.raises(ConnectionLost, match=re.escape(why)):
        await connection.consume("shard", Inbox(site), prefetch=1)
    with pytest.raises(ConnectionLost, match=re.escape(why)):
        await consumer.acknowledge(1)
    await consumer.close()
    await connection.close()


@pytest.mark.parametrize("end", ["closed", "cut"])
async def test_who_waits_for_an_answer_learns_that_there_will_be_none(site: Site, end: str) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    site.mute(connection)
    calls = [asyncio.create_task(connection.publish(TICK)) for _ in range(30)]
    await asyncio.sleep(site.quiet)
    assert not any(call.done() for call in calls)
    if end == "closed":
        await connection.close()
    else:
        site.cut(connection)
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(answer) for answer in answers} == {ConnectionLost}


async def test_learning_of_the_loss_leaves_a_task_in_order(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    site.mute(connection)

    async def publish() -> int:
        task = asyncio.current_task()
        assert task
        with pytest.raises(ConnectionLost):
            await connection.publish(TICK)
        await asyncio.sleep(0)
        return task.cancelling()

    publishing = [asyncio.create_task(publish()) for _ in range(3)]
    await asyncio.sleep(site.quiet)
    publishing[0].cancel()
    site.cut(connection)
    results = await asyncio.gather(*publishing, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert results[1:] == [0, 0]


async def test_closing_twice_is_closing_once(site: Site) -> None:
    connection = await site.connect()
    await asyncio.gather(connection.close(), connection.close())
    await connection.close()


async def test_who_stops_waiting_for_the_end_does_not_bring_it_about(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    waiting = asyncio.create_task(reason(connection))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await connection.publish(TICK) is Published.CONFIRMED
    await connection.close()
    with pytest.raises(ConnectionLost):
        await connection.publish(TICK)


async def test_confirmed_messages_outlive_the_connection(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    await asyncio.gather(*(connection.publish(TICK) for _ in range(100)))
    site.cut(connection)
    other = await site.connect()
    inbox = Inbox(site)
    await other.consume("shard", inbox, prefetch=0)
    received = await inbox.take(100)
    assert not any(delivery.redelivered for delivery in received)


async def test_other_connections_do_not_notice(site: Site) -> None:
    connection, other = await site.connect(), await site.connect()
    await other.declare(SHARD)
    site.cut(connection)
    await reason(connection)
    assert await other.publish(TICK) is Published.CONFIRMED
    assert not other.lost.done()


async def test_the_broker_says_which_version_it_is(site: Site) -> None:
    connection = await site.connect()
    assert connection.broker_version == "memory" or connection.broker_version[:2] in {"3.", "4."}


async def test_where_nobody_listens_no_connection_is_made(site: Site) -> None:
    with pytest.raises(CannotConnect, match="refused") as caught:
        await site.nowhere().connect()
    assert "hush" not in str(caught.value)
    assert "hush" not in repr(caught.value.__cause__)
