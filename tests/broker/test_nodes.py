"""The private nodes themselves: what every other broker test relies on."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import aio_pika
import pytest

from tests.broker.home import NodeError
from tests.broker.nodes import Node, running
from tests.conftest import Broker, installed


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


@pytest.mark.parametrize("resource", ["memory", "disk"])
async def test_a_node_with_an_alarm_confirms_nothing(
    broker: Broker, resource: Literal["memory", "disk"]
) -> None:
    with broker.node.alarm(resource):
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


async def test_a_channel_that_keeps_a_delivery_is_closed(broker: Broker) -> None:
    await _publish(broker.url, "seats", b"away")
    closed: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
    with broker.node.consumer_timeout(1):
        async with await aio_pika.connect(broker.url) as connection:
            channel = await connection.channel()
            channel.close_callbacks.add(lambda _, why: closed.set_result(why))
            queue = await channel.declare_queue("seats", passive=True)
            assert await queue.get(no_ack=False)
            async with asyncio.timeout(10):
                assert "acknowledgement on channel 1 timed out" in str(await closed)
    assert broker.node.eval("application:get_env(rabbit, channel_tick_interval)") == "{ok, 60000}"
    assert (await _read(broker.url, "seats")).redelivered


@pytest.mark.broker
def test_lines_can_be_added_to_the_configuration() -> None:
    with running(installed("3.10"), extra_config="consumer_timeout = 4321\n") as node:
        assert node.eval("application:get_env(rabbit, consumer_timeout)") == "{ok, 4321}"


async def test_a_frozen_node_goes_on_where_it_was(own_node: Node) -> None:
    own_node.freeze()
    assert not await asyncio.to_thread(own_node.takes_clients)
    publishing = asyncio.create_task(_publish(own_node.url, "seats", b"away"))
    await asyncio.sleep(0.2)
    assert not publishing.done()
    own_node.thaw()
    await publishing
    own_node.freeze()  # what ends it all ends it frozen too


def test_several_may_evaluate_at_once(broker: Broker) -> None:
    with ThreadPoolExecutor() as pool:
        expressions = [f"{number} + 1" for number in range(8)]
        assert list(pool.map(broker.node.eval, expressions)) == [*"12345678"]


def test_errors_of_erlang_are_raised(broker: Broker) -> None:
    assert broker.node.eval("1 + 1") == "2"
    with pytest.raises(NodeError, match="badarith"):
        broker.node.eval("1 / 0")
