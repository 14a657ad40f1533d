"""The private nodes themselves: what every other broker test relies on."""

import asyncio

import aio_pika
import pytest

from tests.broker.nodes import Node, NodeError
from tests.conftest import Broker


async def _publish(url: str, queue: str, body: bytes) -> None:
    async with await aio_pika.connect(url) as connection, connection.channel() as channel:
        await channel.declare_queue(queue, durable=True, arguments={"x-queue-type": "quorum"})
        message = aio_pika.Message(body, delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
        await channel.default_exchange.publish(message, queue)  # returns with the confirm


async def _read(url: str, queue: str) -> aio_pika.abc.AbstractIncomingMessage:
    async with await aio_pika.connect(url) as connection, connection.channel() as channel:
        declared = await channel.declare_queue(queue, passive=True)
        message = await declared.get(timeout=5)
        await message.ack()
        return message


def test_the_versions_are_the_promised_ones(broker: Broker) -> None:
    promised = {"3.10": "3.10.", "4.x": "4."}
    assert broker.node.version.startswith(promised[broker.node.installation.flavour])
    assert broker.node.version in broker.node.ctl("version")


async def test_a_confirmed_message_can_be_read_back(broker: Broker) -> None:
    await _publish(broker.url, "seats", b"away")
    assert (await _read(broker.url, "seats")).body == b"away"


async def test_tests_do_not_see_each_other(broker: Broker) -> None:
    await _publish(broker.url, "seats", b"away")
    with broker.node.vhost() as other, pytest.raises(aio_pika.exceptions.ChannelNotFoundEntity):
        await _read(other, "seats")


async def test_4_x_stamps_the_arrival(broker: Broker) -> None:
    await _publish(broker.url, "seats", b"away")
    message = await _read(broker.url, "seats")
    stamped = broker.node.installation.flavour == "4.x"
    assert ("timestamp_in_ms" in message.headers) is stamped
    assert (message.timestamp is not None) is stamped


async def test_a_node_with_an_alarm_confirms_nothing(broker: Broker) -> None:
    with broker.node.alarm():
        publishing = asyncio.create_task(_publish(broker.url, "seats", b"away"))
        await asyncio.sleep(0.5)
        assert not publishing.done()
    await publishing


async def test_a_durable_message_outlives_restart_and_kill(own_node: Node) -> None:
    await _publish(own_node.url, "seats", b"first")
    await _publish(own_node.url, "seats", b"second")
    await asyncio.to_thread(own_node.restart)
    assert (await _read(own_node.url, "seats")).body == b"first"
    own_node.kill()
    with pytest.raises(aio_pika.exceptions.AMQPConnectionError):
        await _read(own_node.url, "seats")
    await asyncio.to_thread(own_node.start)
    assert (await _read(own_node.url, "seats")).body == b"second"


def test_errors_of_erlang_are_raised(broker: Broker) -> None:
    assert broker.node.eval("1 + 1") == "2"
    with pytest.raises(NodeError, match="badarith"):
        broker.node.eval("1 / 0")
