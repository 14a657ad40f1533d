"""Clusters: what is copied, who leads, and what happens to nodes that are lost."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

import aio_pika
import pytest

from tests.broker.cluster import Cluster
from tests.broker.home import NodeError
from tests.broker.nodes import Node

SOON = 20
KINDS = ("quorum", "stream")


@asynccontextmanager
async def _channel(node: Node) -> AsyncIterator[aio_pika.abc.AbstractChannel]:
    async with await aio_pika.connect(node.url) as connection, connection.channel() as channel:
        yield channel


async def _declare(node: Node, kind: str) -> str:
    name = f"seats {kind} {uuid.uuid4()}"
    async with _channel(node) as channel:
        await channel.declare_queue(name, durable=True, arguments={"x-queue-type": kind})
    return name


async def _publish(node: Node, queue: str, body: bytes = b"away") -> None:
    message = aio_pika.Message(body, delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
    async with asyncio.timeout(SOON), _channel(node) as channel:
        await channel.default_exchange.publish(message, queue)  # returns with the confirm


async def _read(node: Node, queue: str) -> bytes:
    async with asyncio.timeout(SOON), _channel(node) as channel:
        declared = await channel.declare_queue(queue, passive=True)
        while True:  # a message may come back only when its reader's loss is noticed
            if message := await declared.get(fail=False):
                await message.ack()
                return message.body
            await asyncio.sleep(0.05)


async def _copied(cluster: Cluster, queue: str, nodes: Sequence[Node]) -> None:
    await _until(lambda: cluster.members(queue) == list(nodes))


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON):
        while True:
            if await asyncio.to_thread(condition):
                return
            await asyncio.sleep(0.05)


async def _led(cluster: Cluster, queue: str, nodes: Sequence[Node]) -> Node:
    leaders: list[Node] = []

    def led() -> bool:
        with suppress(NodeError):  # they may be choosing
            leaders.append(cluster.leader(queue))
        return bool(leaders) and leaders[-1] in nodes

    await _until(led)
    return leaders[-1]


@pytest.mark.parametrize("kind", KINDS)
async def test_every_node_has_a_copy(cluster: Cluster, kind: str) -> None:
    queue = await _declare(cluster.nodes[0], kind)
    await _copied(cluster, queue, cluster.nodes)
    for node in cluster.nodes:
        await _publish(node, queue)


@pytest.mark.parametrize("kind", KINDS)
async def test_another_node_leads_when_the_leader_is_killed(cluster: Cluster, kind: str) -> None:
    queue = await _declare(cluster.nodes[1], kind)
    await _copied(cluster, queue, cluster.nodes)
    leader = await _led(cluster, queue, cluster.nodes)
    others = cluster.others(leader)
    await _publish(leader, queue)
    await asyncio.to_thread(leader.kill)
    try:
        await _led(cluster, queue, others)
        await _publish(others[0], queue)
    finally:
        await asyncio.to_thread(leader.start)
    await asyncio.to_thread(cluster.wait)
    await _copied(cluster, queue, cluster.nodes)


async def test_a_node_that_is_cut_off_sends_its_clients_away(cluster: Cluster) -> None:
    queue = await _declare(cluster.nodes[0], "quorum")
    await _copied(cluster, queue, cluster.nodes)
    parted = await _led(cluster, queue, cluster.nodes)
    first, second = cluster.others(parted)
    connection = await aio_pika.connect(parted.url)
    lost = asyncio.Event()
    connection.close_callbacks.add(lambda *_: lost.set())
    await asyncio.to_thread(cluster.cut_off, parted)
    try:
        assert await asyncio.to_thread(parted.eval, "nodes()") == "[]"
        async with asyncio.timeout(SOON):
            await lost.wait()
        with pytest.raises(aio_pika.exceptions.AMQPConnectionError):
            await _publish(parted, queue)
        assert await _led(cluster, queue, [first, second])
        await _publish(first, queue, b"back")
        assert await _read(second, queue) == b"back"
    finally:
        await asyncio.to_thread(cluster.heal)
    await _copied(cluster, queue, cluster.nodes)
    await _publish(parted, queue, b"here")
    assert await _read(first, queue) == b"here"


async def test_the_others_go_on_while_the_leader_is_frozen(cluster: Cluster) -> None:
    queue = await _declare(cluster.nodes[2], "quorum")
    await _copied(cluster, queue, cluster.nodes)
    leader = await _led(cluster, queue, cluster.nodes)
    others = cluster.others(leader)
    async with _channel(others[0]) as channel:
        # Only channels that know the queue go on in seconds. One that publishes to it for the first
        # time waits until the nodes give the frozen one up: after `net_ticktime`, a minute.
        await channel.default_exchange.publish(aio_pika.Message(b"home"), queue)
        leader.freeze()
        try:
            assert not await asyncio.to_thread(leader.takes_clients)
            async with asyncio.timeout(SOON):
                await channel.default_exchange.publish(aio_pika.Message(b"away"), queue)
            assert await _led(cluster, queue, others)
        finally:
            leader.thaw()
    await asyncio.to_thread(cluster.wait)
    assert [await _read(leader, queue) for _ in range(2)] == [b"home", b"away"]
