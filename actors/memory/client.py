"""The client's side: the port `actors.transport` on a broker in memory.

What a client sends reaches the broker at the loop's next turn, and what the broker sends the client
one turn later; both in order, and neither once the connection is lost.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from actors.memory.broker import MemoryBroker
from actors.transport import (
    CannotConnect,
    ConnectionLost,
    Delivery,
    Message,
    Published,
    Topology,
    TransportError,
)

if TYPE_CHECKING:
    from actors.memory.queues import Subscriber

T = TypeVar("T")


class MemoryTransport:
    """The way to a broker in memory."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._broker = broker

    async def connect(self) -> "MemoryConnection":
        """Make one connection; raises CannotConnect while the broker is stopped."""
        await asyncio.sleep(0)
        if not self._broker.is_running:
            raise CannotConnect("connection refused: the broker in memory is stopped")
        return MemoryConnection(self._broker)


class MemoryConnection:
    """A connection to a broker in memory."""

    broker_version = "memory"

    def __init__(self, broker: MemoryBroker) -> None:
        self._loop = asyncio.get_running_loop()
        self.lost: asyncio.Future[str] = self._loop.create_future()
        # Not read from `lost`, which is cancelled along with a task that awaits it.
        self._lost_by: str | None = None
        self._broker = broker
        self._unanswered: dict[asyncio.Future[Any], None] = {}
        broker.accept(self)

    async def declare(self, topology: Topology) -> None:
        """Make sure that all of it exists.

        Raises TopologyConflict, and TransportError for a binding of what does not exist; the
        connection can be used all the same.  Raises ConnectionLost.
        """
        await self.request(lambda: self._broker.declare(self, topology))

    async def consume(
        self, queue: str, deliver: Callable[[Delivery], None], *, prefetch: int
    ) -> "MemoryConsumer":
        """Have `deliver` called with each message; raises ConnectionLost.

        The first call may come before this returns.
        """
        consumer = MemoryConsumer(self, self._broker, deliver)
        try:
            await self.request(lambda: consumer.subscribe(queue, prefetch))
        except asyncio.CancelledError:
            await consumer.close()  # nobody else could
            raise
        return consumer

    async def publish(self, message: Message) -> Published:
        """Publish and wait for the broker's answer; raises ConnectionLost if there was none."""
        answer: asyncio.Future[Published] = self._expect()
        self.pass_on(
            self._broker.publish,
            self,
            message,
            lambda published: self.pass_on(_settle, answer, published),
        )
        return await answer

    async def close(self) -> None:
        """Close, when all that was sent before has arrived; twice is once."""
        with suppress(ConnectionLost):  # which it comes to in any case
            await self.request(lambda: self._broker.cut(self, "closed by this client"))

    def drop(self, reason: str) -> None:
        """Learn from the broker that the connection is gone."""
        self._lost_by = reason
        if not self.lost.done():
            self.lost.set_result(reason)
        for answer in tuple(self._unanswered):
            if not answer.done():
                answer.set_exception(ConnectionLost(reason))

    def check(self) -> None:
        """Raise ConnectionLost if it is."""
        if self._lost_by is not None:
            raise ConnectionLost(self._lost_by)

    def pass_on(self, action: Callable[..., object], *arguments: object) -> None:
        """Send something to the other side: `action` happens at the next turn unless lost."""
        self._loop.call_soon(self._arrive, action, arguments)

    async def request(self, action: Callable[[], T]) -> T:
        """Have the broker do something and return what came of it; raises what it raises."""
        answer: asyncio.Future[T] = self._expect()
        self.pass_on(self._perform, action, answer)
        return await answer

    def _expect(self) -> asyncio.Future[Any]:
        self.check()
        answer = self._loop.create_future()
        self._unanswered[answer] = None
        answer.add_done_callback(self._unanswered.pop)
        return answer

    def _arrive(self, action: Callable[..., object], arguments: tuple[object, ...]) -> None:
        if self._lost_by is None:
            action(*arguments)

    def _perform(self, action: Callable[[], T], answer: asyncio.Future[T]) -> None:
        try:
            result = action()
        except TransportError as error:
            self.pass_on(_fail, answer, error)
        else:
            self.pass_on(_settle, answer, result)


class MemoryConsumer:
    """A consumer on a broker in memory."""

    def __init__(
        self,
        connection: MemoryConnection,
        broker: MemoryBroker,
        deliver: Callable[[Delivery], None],
    ) -> None:
        self._connection = connection
        self._broker = broker
        self._deliver = deliver
        self._subscriber: Subscriber | None = None
        self._closed = False

    def subscribe(self, queue: str, prefetch: int) -> None:
        """Register with the broker."""
        hand = partial(self._connection.pass_on, self._receive)
        self._subscriber = self._broker.subscribe(self._connection, queue, prefetch, hand)

    async def acknowledge(self, tag: int, *, multiple: bool = False) -> None:
        """Acknowledge a delivery, with `multiple` all up to it; raises ConnectionLost.

        Returns before the broker has seen it; a tag that it does not know loses the connection.
        """
        self._connection.check()
        if self._closed:
            raise ConnectionLost("this consumer was closed")
        acknowledge = partial(self._broker.acknowledge, multiple=multiple)
        self._connection.pass_on(acknowledge, self._connection, self._subscriber, tag)

    async def close(self) -> None:
        """Close the channel; twice is once, and on a lost connection nothing is left to do."""
        if not self._closed:
            self._closed = True
            with suppress(ConnectionLost):
                await self._connection.request(self._unsubscribe)

    def _receive(self, delivery: Delivery) -> None:
        if not self._closed:
            self._deliver(delivery)

    def _unsubscribe(self) -> None:
        if self._subscriber:
            self._broker.unsubscribe(self._connection, self._subscriber)


def _settle(answer: asyncio.Future[T], result: T) -> None:
    if not answer.done():  # else whoever asked was cancelled
        answer.set_result(result)


def _fail(answer: asyncio.Future[Any], error: TransportError) -> None:
    if not answer.done():
        answer.set_exception(error)
