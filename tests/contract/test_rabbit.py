"""What only a real RabbitMQ, or the way to one, can do."""

import asyncio
import contextlib
import shutil
import socket
import ssl
import struct
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pamqp import encode

from actors.address import redacted
from actors.rabbit import RabbitTransport
from actors.rabbit.topology import queue_arguments
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
    TransportError,
)
from tests.broker.nodes import Node
from tests.broker.proxy import Proxy
from tests.conftest import Broker
from tests.contract.site import SOON, eventually, reason

SHARD = Topology(queues=(Queue("shard"),))
TICK = Message("", "shard", b"tick")


async def _why_not(url: str) -> str:
    with pytest.raises(CannotConnect) as caught:
        await RabbitTransport(url, timeout=1).connect()
    said = str(caught.value)
    assert "hush" not in said + repr(caught.value.__cause__)
    return said


async def test_a_wrong_password_is_called_that(broker: Broker) -> None:
    assert "wrong user name or password" in await _why_not(broker.url.replace(":guest@", ":hush@"))


async def test_an_unknown_virtual_host_is_called_that(broker: Broker) -> None:
    assert "virtual host: it is unknown" in await _why_not(broker.url + "-unknown")


async def test_a_port_without_tls_is_called_that(broker: Broker) -> None:
    assert "TLS failed" in await _why_not(broker.url.replace("amqp:", "amqps:"))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_port_where_nobody_listens_is_called_that(host: str) -> None:
    assert "connection refused" in await _why_not(f"amqp://guest:hush@{host}:1/")


async def test_an_unknown_host_is_called_that(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask_nobody(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", ask_nobody)
    assert "name was not found" in await _why_not("amqp://guest:hush@nowhere.invalid/")


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("http://guest:hush@broker/", "amqp:// or amqps://"),
        ("hush", "amqp:// or amqps://"),
        ("amqp:///vhost", "no host"),
        ("amqp://guest:hush@broker..local/", "host or port"),
        ("amqp://guest:hush/more@broker/", "host or port"),
        ("amqp://guest:12/hush@broker/", "%2F"),
    ],
)
async def test_a_wrong_address_is_called_that(url: str, fault: str) -> None:
    assert fault in await _why_not(url)


async def test_silence_is_called_that() -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert "no answer" in await _why_not(f"amqp://guest:hush@127.0.0.1:{port}/")


async def test_another_protocol_is_called_that() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(8)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert "is that a RabbitMQ?" in await _why_not(f"amqp://guest:hush@127.0.0.1:{port}/")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("amqp://guest:hush@broker:5672/poker", "amqp://guest:***@broker:5672/poker"),
        ("amqp://guest:hush@broker", "amqp://guest:***@broker"),
        ("amqp://guest:hu%40sh@[::1]:5672/?x=hush", "amqp://guest:***@[::1]:5672/"),
        ("amqp://guest:hu@sh@broker/", "amqp://guest:***@broker/"),
        ("amqps://broker/", "amqps://broker/"),
        ("amqp://guest:hu/sh@broker/", "(an address that cannot be read)"),
        ("amqp://guest:12/hush@broker/", "(an address that cannot be read)"),
        ("amqp://guest:12#hush@broker/", "(an address that cannot be read)"),
        ("guest:hush", "(an address that cannot be read)"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert redacted(url) == shown
    assert repr(RabbitTransport(url)) == f"RabbitTransport({shown!r})"


@pytest.mark.parametrize(
    ("version", "limit"),
    [
        ("3.10.8", {}),
        ("3.13.7", {}),
        ("4.0.5", {"x-delivery-limit": -1}),
        ("4.1.0-rc.1", {"x-delivery-limit": -1}),
        ("10.0.0", {"x-delivery-limit": -1}),
    ],
)
def test_the_delivery_limit_follows_the_version(version: str, limit: dict[str, int]) -> None:
    assert queue_arguments(Queue("shard"), version) == {"x-queue-type": "quorum", **limit}
    assert queue_arguments(Queue("mine", kind="private"), version) == {}


async def test_twenty_thousand_messages_keep_their_order(broker: Broker) -> None:
    connection = await RabbitTransport(broker.url).connect()
    await connection.declare(SHARD)
    bodies = [b"%d" % number for number in range(20_000)]
    for start in range(0, len(bodies), 1_000):
        calls = [connection.publish(Message("", "shard", b)) for b in bodies[start : start + 1_000]]
        assert set(await asyncio.gather(*calls)) == {Published.CONFIRMED}
    received: list[Delivery] = []
    consumer = await connection.consume("shard", received.append, prefetch=1_000)
    acknowledged = 0
    async with asyncio.timeout(60):
        while acknowledged < len(bodies):
            await asyncio.sleep(0.01)
            if len(received) > acknowledged:
                acknowledged = len(received)
                await consumer.acknowledge(acknowledged, multiple=True)
    assert [delivery.body for delivery in received] == bodies
    await connection.close()


async def test_a_broker_short_of_memory_makes_publishers_wait(broker: Broker) -> None:
    connection = await RabbitTransport(broker.url).connect()
    await connection.declare(SHARD)
    with broker.node.alarm():
        publishing = asyncio.create_task(connection.publish(TICK))
        await asyncio.sleep(0.5)
        assert not publishing.done()
    assert await publishing is Published.CONFIRMED
    await connection.close()


async def test_a_broker_that_reads_nothing_does_not_hold_up_the_end(broker: Broker) -> None:
    connection = await RabbitTransport(broker.url).connect()
    await connection.declare(SHARD)
    large = Message("", "shard", b"x" * 1_000_000)
    with broker.node.alarm():
        publishing = [asyncio.create_task(connection.publish(large)) for _ in range(50)]
        await asyncio.sleep(0.5)
        async with asyncio.timeout(SOON):
            await connection.close()
            answers = await asyncio.gather(*publishing, return_exceptions=True)
    assert {type(answer) for answer in answers} == {ConnectionLost}


async def test_what_an_operator_says_when_closing_is_the_reason(broker: Broker) -> None:
    connection = await RabbitTransport(broker.url).connect()
    all_of_them = "rabbit_networking:connections()"
    broker.node.eval(f'[rabbit_networking:close_connection(C, "upgrade") || C <- {all_of_them}]')
    assert await reason(connection) == "CONNECTION_FORCED - upgrade"
    await connection.close()


async def test_the_broker_knows_a_connection_by_its_name(broker: Broker) -> None:
    connection = await RabbitTransport(broker.url, name="worker on table-7").connect()
    listed = await asyncio.to_thread(broker.node.ctl, "list_connections", "client_properties")
    assert "worker on table-7" in listed
    await connection.close()


async def test_a_silent_network_loses_the_connection_on_both_sides(broker: Broker) -> None:
    parts = urlsplit(broker.url)
    async with Proxy(parts.port or 0) as proxy:
        url = broker.url.replace(str(parts.port), str(proxy.port))
        silenced = await RabbitTransport(url, heartbeat=1).connect()
        other = await RabbitTransport(broker.url).connect()
        await silenced.declare(SHARD)
        await silenced.publish(TICK)
        received: list[Delivery] = []
        await silenced.consume("shard", received.append, prefetch=1)
        await other.consume("shard", received.append, prefetch=1)

        async def held() -> bool:
            return len(received) == 1

        async def handed_over() -> bool:
            return len(received) == 2 and received[1].redelivered

        await eventually(held)
        proxy.swallow()
        await eventually(handed_over)
        assert await reason(silenced) == "the broker gave no sign of life"
        await silenced.close()
        await other.close()


@pytest.mark.parametrize("what", ["declaring", "consuming", "closing a consumer"])
async def test_whatever_is_under_way_ends_with_the_connection(broker: Broker, what: str) -> None:
    parts = urlsplit(broker.url)
    async with Proxy(parts.port or 0) as proxy:
        url = broker.url.replace(str(parts.port), str(proxy.port))
        connection = await RabbitTransport(url).connect()
        await connection.declare(SHARD)
        consumer = await connection.consume("shard", lambda _: None, prefetch=1)

        async def do() -> int:
            if what == "closing a consumer":
                await consumer.close()
            else:
                with pytest.raises(ConnectionLost):
                    await (
                        connection.declare(SHARD)
                        if what == "declaring"
                        else connection.consume("shard", lambda _: None, prefetch=1)
                    )
            task = asyncio.current_task()
            assert task
            return task.cancelling()

        proxy.swallow()
        doing = asyncio.create_task(do())
        await asyncio.sleep(0.2)
        assert not doing.done()
        proxy.cut()
        async with asyncio.timeout(SOON):
            assert await doing == 0
        await connection.close()


async def test_a_killed_broker_loses_the_connection_and_keeps_the_messages(own_node: Node) -> None:
    connection = await RabbitTransport(own_node.url).connect()
    await connection.declare(SHARD)
    assert await connection.publish(TICK) is Published.CONFIRMED
    held: list[Delivery] = []
    await connection.consume("shard", held.append, prefetch=0)
    # A node remembers a new quorum queue within a second; killed before, it comes back with one
    # that nacks every publisher and keeps consumers waiting for a minute.
    await asyncio.sleep(2)
    own_node.kill()
    assert await reason(connection)
    with pytest.raises(ConnectionLost):
        await connection.publish(TICK)
    await connection.close()
    with pytest.raises(CannotConnect, match="refused"):
        await RabbitTransport(own_node.url).connect()
    await asyncio.to_thread(own_node.start)
    connection = await RabbitTransport(own_node.url).connect()
    received: list[Delivery] = []
    await connection.consume("shard", received.append, prefetch=0)

    async def came() -> bool:
        return [delivery.body for delivery in received] == [b"tick"]

    await eventually(came)
    await connection.close()


async def test_a_stream_is_never_taken_for_missing_while_its_node_starts(own_node: Node) -> None:
    journal = Topology(queues=(Queue("journal", kind="stream"),))
    connection = await RabbitTransport(own_node.url).connect()
    await connection.declare(journal)
    record = Message("", "journal", b"record")
    assert await connection.publish(record) is Published.CONFIRMED
    await connection.close()
    await asyncio.to_thread(own_node.restart)
    connection = await RabbitTransport(own_node.url).connect()

    async def seen() -> bool:
        try:
            assert await connection.survey("journal")
        except TransportError as error:
            assert "down or inaccessible" in str(error)  # noqa: PT017 - or there is none
            return False
        return True

    await eventually(seen)
    assert await connection.differences(journal) == []
    read: list[Delivery] = []
    await connection.read("journal", read.append, since="first", prefetch=1)

    async def read_back() -> bool:
        return [one.body for one in read] == [b"record"]

    await eventually(read_back)
    await connection.close()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Give a certificate for localhost that nobody has signed, with its key."""
    if not (openssl := shutil.which("openssl")):
        pytest.skip("no openssl on this machine, which makes certificates")
    made = tmp_path / "localhost.pem"
    names = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc")
    command = (openssl, "req", "-x509", *kind, "-keyout", made, "-out", made, *names, "-days", "2")
    subprocess.run(command, check=True, capture_output=True)
    return made


async def test_tls_is_spoken_with_whom_the_certificates_vouch_for(
    broker: Broker, certificate: Path
) -> None:
    parts = urlsplit(broker.url)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    async with Proxy(parts.port or 0, context) as proxy:
        url = f"amqps://guest:guest@localhost:{proxy.port}{parts.path}"
        assert "certificate is not accepted" in await _why_not(url)
        connection = await RabbitTransport(f"{url}?cafile={certificate}").connect()
        await connection.declare(SHARD)
        assert await connection.publish(TICK) is Published.CONFIRMED
        await connection.close()


_NO_UTF8 = "@@"


def _short_string(text: str) -> bytes:
    """Encode as AMQP does, but put bytes that are no UTF-8 where the marker stands."""
    raw = text.encode().replace(_NO_UTF8.encode(), b"\xff\xfe")
    return struct.pack("B", len(raw)) + raw


@pytest.mark.parametrize(
    "message",
    [
        Message("events", f"55.{_NO_UTF8}", b"bad"),
        Message("events", "55.x", b"bad", kind=_NO_UTF8),
        Message("events", "55.x", b"bad", content_type=_NO_UTF8),
        Message("events", "55.x", b"bad", id=_NO_UTF8),
        Message("events", "55.x", b"bad", headers={_NO_UTF8: "x"}),
    ],
    ids=["routing key", "type", "content type", "message id", "name of a header"],
)
async def test_what_is_no_utf8_costs_nobody_the_connection(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, message: Message
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        publisher = await RabbitTransport(broker.url).connect()
        stack.push_async_callback(publisher.close)
        reader = await RabbitTransport(broker.url).connect()
        stack.push_async_callback(reader.close)
        bindings = (Binding("shard", "events", "55.#"),)
        await publisher.declare(Topology((Exchange("events"),), (Queue("shard"),), bindings))
        came: asyncio.Queue[Delivery] = asyncio.Queue()
        await reader.consume("shard", came.put_nowait, prefetch=10)
        with monkeypatch.context() as patched:
            patched.setattr(encode, "short_string", _short_string)
            patched.setitem(encode.METHODS, "shortstr", _short_string)
            assert await publisher.publish(message) is Published.CONFIRMED
        assert await publisher.publish(Message("events", "55.x", b"good")) is Published.CONFIRMED
        async with asyncio.timeout(SOON):
            assert [(await came.get()).body for _ in range(2)] == [b"bad", b"good"]
        assert not reader.lost.done()
