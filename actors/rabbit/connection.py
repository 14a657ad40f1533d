"""Connecting to RabbitMQ, declaring, publishing."""

import asyncio
from collections.abc import Callable, Iterable

import aio_pika
from aio_pika.exceptions import DeliveryError, PublishError
from aiormq import Channel
from yarl import URL

from actors.address import fault_in, redacted, with_options
from actors.rabbit import faults, looking, topology
from actors.rabbit.consumer import RabbitConsumer
from actors.rabbit.link import Link
from actors.rabbit.messages import properties
from actors.rabbit.sockets import Sockets
from actors.transport import (
    Binding,
    CannotConnect,
    ConnectionLost,
    Delivery,
    Message,
    Published,
    Since,
    Survey,
    Topology,
)


class RabbitTransport:
    """The way to a RabbitMQ."""

    def __init__(
        self, url: str, *, heartbeat: int = 5, timeout: float = 10, name: str = "seatwarden"
    ) -> None:
        """Take an address like `amqp://user:password@host:5672/vhost`, or `amqps://` for TLS.

        `heartbeat` (seconds) is how often both sides must be heard from; `timeout` (seconds) how
        long connecting may take; `name` what the broker's lists of connections show.
        """
        self._url = url
        self._heartbeat = heartbeat
        self._timeout = timeout
        self._name = name

    def __repr__(self) -> str:
        return f"RabbitTransport({redacted(self._url)!r})"

    async def connect(self) -> "RabbitConnection":
        """Make one connection; raises CannotConnect, which says why without the password."""
        if fault := fault_in(self._url):
            raise CannotConnect(f"cannot connect: the broker's address is wrong, {fault}")
        try:
            async with asyncio.timeout(self._timeout):
                return await self._connect()
        except (*faults.GONE, ConnectionLost) as error:
            raise faults.not_connected(error, redacted(self._url)) from error

    async def _connect(self) -> "RabbitConnection":
        sockets = Sockets()
        wire = _Wire(with_options(self._url, heartbeat=self._heartbeat), sockets, self._name)
        try:
            await wire.connect()
        except BaseException:
            await wire.close()  # else it would be left for the garbage collector to close
            raise
        link = Link(wire, sockets)
        try:
            confirming = await link.channel(publisher_confirms=True, on_return_raises=True)
        except BaseException:
            await link.lose("it ended while it was being opened")
            raise
        link.watch(confirming)
        return RabbitConnection(link, confirming)


class _Wire(aio_pika.Connection):
    """aio-pika's plain connection: its robust one would hide a loss, and with it a lost shard."""

    def __init__(self, url: str, sockets: Sockets, name: str) -> None:
        super().__init__(URL(url), client_properties={"connection_name": name})
        self.kwargs["transport_factory"] = sockets


class RabbitConnection:
    """A connection to a RabbitMQ."""

    def __init__(self, link: Link, publisher: Channel) -> None:
        """Use a link and a channel of it that confirms and raises returns; both are watched."""
        self.lost = link.lost
        self.broker_version = link.broker_version
        self._link = link
        self._publisher = publisher

    @property
    def is_blocked(self) -> bool:
        """Whether the broker has said that it takes no messages now.

        It says so to those only who publish, when they do.
        """
        return self._link.is_blocked

    async def declare(self, wanted: Topology) -> None:
        """Make sure that all of it exists.

        Raises TopologyConflict, and TransportError for what else the broker refuses, such as a
        binding of what does not exist; the connection can be used all the same.  Raises
        ConnectionLost.
        """
        async with self._link.aside() as channel:
            await topology.declare(channel, wanted, self.broker_version)

    async def differences(self, wanted: Topology) -> list[str]:
        """Say what of it is missing or other than wanted; raises ConnectionLost."""
        return await looking.differences(self._link, wanted)

    async def unbind(self, bindings: Iterable[Binding]) -> None:
        """Make sure that these do not exist; raises ConnectionLost."""
        async with self._link.aside() as channel:
            for binding in bindings:
                await channel.queue_unbind(binding.queue, binding.exchange, binding.key)

    async def survey(self, queue: str) -> Survey | None:
        """Look at a queue; raises TransportError if that is not possible now, ConnectionLost."""
        return await looking.survey(self._link, queue)

    async def delete(self, queue: str) -> bool:
        """Delete a queue unless it is used; raises what `survey` does."""
        # Quorum queues and streams know no deletion on condition, and end the connection over it.
        # So a message that comes between the look and the deletion is lost.
        found = await looking.survey(self._link, queue)
        if found is None:
            return True
        if found.messages or found.consumers or await looking.is_stream(self._link, queue):
            return False
        async with self._link.aside() as channel:
            await channel.queue_delete(queue)
        return True

    async def consume(
        self, queue: str, deliver: Callable[[Delivery], None], *, prefetch: int
    ) -> RabbitConsumer:
        """Have `deliver` called with each message; raises ConnectionLost.

        The first call may come before this returns.
        """
        channel = await self._link.channel(publisher_confirms=False)
        consumer = RabbitConsumer(self._link, channel)
        await consumer.start(queue, deliver, prefetch)
        return consumer

    async def read(
        self,
        stream: str,
        deliver: Callable[[Delivery], None],
        *,
        since: Since,
        prefetch: int,
    ) -> RabbitConsumer:
        """Have `deliver` called with each message of a stream; raises ConnectionLost.

        The first call may come before this returns.
        """
        channel = await self._link.channel(publisher_confirms=False)
        consumer = RabbitConsumer(self._link, channel)
        await consumer.start(stream, deliver, prefetch, {"x-stream-offset": since})
        return consumer

    async def publish(self, message: Message) -> Published:
        """Publish and wait for the broker's answer; raises ConnectionLost if there was none.

        While the broker has blocked the connection (it is short of memory or disk) this waits.
        """
        with self._link.using():
            try:
                # On the channel beneath aio-pika's own, and without `wait`: so it is free for the
                # next message at once, and messages leave in the order of the calls.
                await self._publisher.basic_publish(
                    message.body,
                    exchange=message.exchange,
                    routing_key=message.routing_key,
                    properties=properties(message),
                    mandatory=True,
                    wait=False,
                )
            except PublishError:
                return Published.RETURNED
            except DeliveryError:
                return Published.NACKED
        return Published.CONFIRMED

    async def close(self) -> None:
        """Close in good order; twice is once."""
        await asyncio.shield(self._link.lose("closed by this client"))
