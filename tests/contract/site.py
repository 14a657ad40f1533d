"""Brokers to hold against the contract: the one in memory, and RabbitMQ behind a proxy."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager
from typing import Protocol
from urllib.parse import urlsplit

import aio_pika

from actors.memory import MemoryBroker, MemoryConnection, MemoryTransport
from actors.rabbit import RabbitTransport
from actors.transport import Connection, Delivery, Transport
from tests.broker.nodes import Node
from tests.broker.proxy import Proxy

SOON = 10  # seconds; what a test waits for comes in milliseconds


class Site(Protocol):
    """A broker of its own for one test, and what a test may do to it."""

    quiet: float
    """Seconds after which what has not come will not come."""

    async def connect(self) -> Connection: ...

    def nowhere(self) -> Transport:
        """Return a way to where no broker listens."""

    def mute(self, connection: Connection) -> None:
        """Let no answer come back on a connection."""

    def cut(self, connection: Connection) -> None:
        """Break a connection without a word."""

    def shortage(self) -> AbstractContextManager[None]:
        """Have the broker take no messages for a while."""

    async def delete(self, queue: str) -> None: ...

    async def content_types(self, queue: str) -> list[str | None]:
        """Return what the messages of a queue are said to be."""

    async def close(self) -> None: ...


class MemorySite:
    quiet = 0.01

    def __init__(self) -> None:
        self.broker = MemoryBroker()
        self._peers: dict[Connection, MemoryConnection] = {}

    async def connect(self) -> Connection:
        connection = await MemoryTransport(self.broker).connect()
        self._peers[connection] = connection
        return connection

    def nowhere(self) -> Transport:
        stopped = MemoryBroker()
        stopped.stop()
        return MemoryTransport(stopped)

    def mute(self, connection: Connection) -> None:
        assert not connection.lost.done()
        self.broker.hold_confirms()

    def cut(self, connection: Connection) -> None:
        self.broker.cut(self._peers[connection], "cut by a test")

    @contextmanager
    def shortage(self) -> Iterator[None]:
        self.broker.block()
        yield
        self.broker.unblock()

    async def delete(self, queue: str) -> None:
        self.broker.delete(queue)

    async def content_types(self, queue: str) -> list[str | None]:
        return [message.content_type for message in self.broker.messages(queue)]

    async def close(self) -> None:
        for connection in self._peers:
            await connection.close()


class RabbitSite:
    quiet = 0.25

    def __init__(self, node: Node, url: str) -> None:
        self.url = url
        self._node = node
        self._proxies: dict[Connection, Proxy] = {}
        self._open = AsyncExitStack()

    async def connect(self) -> Connection:
        """Connect through a proxy of its own."""
        parts = urlsplit(self.url)
        proxy = await self._open.enter_async_context(Proxy(parts.port or 0))
        netloc = f"{parts.username}:{parts.password}@127.0.0.1:{proxy.port}"
        connection = await RabbitTransport(parts._replace(netloc=netloc).geturl()).connect()
        self._open.push_async_callback(connection.close)
        self._proxies[connection] = proxy
        return connection

    def nowhere(self) -> Transport:
        return RabbitTransport("amqp://guest:hush@127.0.0.1:1/")

    def mute(self, connection: Connection) -> None:
        self._proxies[connection].swallow()

    def cut(self, connection: Connection) -> None:
        self._proxies[connection].cut()

    def shortage(self) -> AbstractContextManager[None]:
        return self._node.alarm()

    async def delete(self, queue: str) -> None:
        async with await aio_pika.connect(self.url) as connection, connection.channel() as channel:
            await channel.queue_delete(queue)

    async def content_types(self, queue: str) -> list[str | None]:
        async with await aio_pika.connect(self.url) as connection, connection.channel() as channel:
            declared = await channel.get_queue(queue, ensure=False)
            found = []
            while message := await declared.get(fail=False):
                assert message.delivery_mode == aio_pika.DeliveryMode.PERSISTENT
                found.append(message.content_type)
            return found

    async def close(self) -> None:
        await self._open.aclose()


class Inbox:
    """What a consumer was given, to be taken out in order."""

    def __init__(self, site: Site) -> None:
        self._quiet = site.quiet
        self._arrived: asyncio.Queue[Delivery] = asyncio.Queue()

    def __call__(self, delivery: Delivery) -> None:
        self._arrived.put_nowait(delivery)

    async def take(self, count: int = 1) -> list[Delivery]:
        async with asyncio.timeout(SOON):
            return [await self._arrived.get() for _ in range(count)]

    async def bodies(self, count: int) -> list[bytes]:
        return [delivery.body for delivery in await self.take(count)]

    async def stays_empty(self) -> bool:
        await asyncio.sleep(self._quiet)
        return self._arrived.empty()


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something is so; TimeoutError if it does not come to be."""
    async with asyncio.timeout(SOON):
        while True:
            if await condition():
                return
            await asyncio.sleep(0.01)


async def reason(connection: Connection) -> str:
    """Wait until a connection is lost, and return why; TimeoutError if it is not."""
    async with asyncio.timeout(SOON):
        return await connection.lost
