"""A consumer on a channel of its own."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from aiormq import Channel
from aiormq.abc import DeliveredMessage
from pamqp.commands import Basic
from pamqp.common import FieldTable

from actors.rabbit.link import Link
from actors.rabbit.messages import delivery
from actors.transport import ConnectionLost, Delivery


class RabbitConsumer:
    """A consumer of one queue."""

    def __init__(self, link: Link, channel: Channel) -> None:
        self._link = link
        self._channel = channel
        self._closed = False
        self._deliver: Callable[[Delivery], None] | None = None
        link.watch(channel, unless=lambda: self._closed)

    async def start(
        self,
        queue: str,
        deliver: Callable[[Delivery], None],
        prefetch: int,
        arguments: FieldTable | None = None,
    ) -> None:
        """Register with the broker; raises ConnectionLost."""
        self._deliver = deliver
        self._channel.on_consumer_cancel_callbacks.add(self._cancelled)
        try:
            with self._link.using():
                await self._channel.basic_qos(prefetch_count=prefetch)
                await self._channel.basic_consume(queue, self._receive, arguments=arguments)
        except asyncio.CancelledError:
            await self.close()  # nobody else could
            raise

    async def acknowledge(self, tag: int, *, multiple: bool = False) -> None:
        """Acknowledge a delivery, with `multiple` all up to it; raises ConnectionLost.

        Returns when the operating system has it, so that closing comes after it.  A tag that the
        broker does not know loses the connection.
        """
        if self._closed:
            raise ConnectionLost("this consumer was closed")
        with self._link.using():
            await self._channel.basic_ack(tag, multiple=multiple)

    async def close(self) -> None:
        """Close the channel; twice is once, and on a lost connection nothing is left to do."""
        if not self._closed:
            self._closed = True
            with suppress(ConnectionLost), self._link.using():
                await self._channel.close()

    async def _receive(self, received: DeliveredMessage) -> None:
        # The library runs one task for each message, in the order of their arrival. Awaiting
        # anything here would let them overtake one another.
        if self._deliver and not self._closed:
            self._deliver(delivery(received))

    def _cancelled(self, _: Basic.Cancel) -> None:
        if not self._closed:
            self._link.lose("the broker cancelled a consumer: its queue is gone or moved")
