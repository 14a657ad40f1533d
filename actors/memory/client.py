"""The client's side: the port `actors.transport` on a broker in memory.

What a client sends reaches the broker at the loop's next turn (or after a latency), and what the
broker sends the client likewise; each in order, and neither once the connection is lost.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from actors.memory.broker import MemoryBroker
from actors.memory.consumer import MemoryConsumer
from actors.memory.pipes import Pipe
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
    TransportError,
)

T = TypeVar("T")

_CLOSED = "closed by this client"


class MemoryTransport:
    """The way to a broker in memory."""

    def __init__(self, broker: MemoryBroker, latency: Callable[[], float] | None = None) -> None:
        """Lead to a broker; `latency` is asked how many seconds each thing sent takes either way.

        Nothing overtakes what was sent before it.
        """
        self._broker = broker
        self._latency = latency

    async def connect(self) -> "MemoryConnection":
        """Make one connection; raises CannotConnect while the broker is stopped."""
        await asyncio.sleep(self._latency() if self._latency else 0)
        if not self._broker.is_running:
            raise CannotConnect("connection refused: the broker in memory is stopped")
        return MemoryConnection(self._broker, self._latency)


class MemoryConnection:
    """A connection to a broker in memory."""

    broker_version = "memory"

    def __init__(self, broker: MemoryBroker, latency: Callable[[], float] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self.lost: asyncio.Future[str] = self._loop.create_future()
        # Not read from `lost`, which is cancelled along with a task that awaits it.
        self._lost_by: str | None = None
        self._broker = broker
        self._sent = Pipe(latency)
        self._received = Pipe(latency)
        self._blocked = False
        self._unanswered: dict[asyncio.Future[Any], None] = {}
        broker.accept(self)

    @property
    def is_blocked(self) -> bool:
        """Whether the broker has said that it takes nothing now."""
        return self._blocked

    async def declare(self, topology: Topology) -> None:
        """Make sure that all of it exists.

        Raises TopologyConflict, and TransportError for a binding of what does not exist; the
        connection can be used all the same.  Raises ConnectionLost.
        """
        await self.request(lambda: self._broker.declare(self, topology))

    async def differences(self, topology: Topology) -> list[str]:
        """Say what of it is missing or other than wanted; raises ConnectionLost."""
        return await self.request(lambda: self._broker.differences(self, topology))

    async def unbind(self, bindings: Iterable[Binding]) -> None:
        """Make sure that these do not exist; raises ConnectionLost."""
        undone = tuple(bindings)
        await self.request(lambda: self._broker.unbind(undone))

    async def survey(self, queue: str) -> Survey | None:
        """Look at a queue; raises ConnectionLost, TopologyConflict if it is another's."""
        return await self.request(lambda: self._broker.survey(self, queue))

    async def delete(self, queue: str) -> bool:
        """Delete a queue unless it is used; raises ConnectionLost, TopologyConflict."""
        return await self.request(lambda: self._broker.remove(self, queue))

    async def consume(
        self, queue: str, deliver: Callable[[Delivery], None], *, prefetch: int
    ) -> MemoryConsumer:
        """Have `deliver` called with each message; raises ConnectionLost.

        The first call may come before this returns.
        """
        return await self._consume(queue, deliver, None, prefetch)

    async def read(
        self, stream: str, deliver: Callable[[Delivery], None], *, since: Since, prefetch: int
    ) -> MemoryConsumer:
        """Have `deliver` called with each message of a stream; raises ConnectionLost.

        The first call may come before this returns.
        """
        return await self._consume(stream, deliver, since, prefetch)

    async def publish(self, message: Message) -> Published:
        """Publish and wait for the broker's answer; raises ConnectionLost if there was none."""
        answer: asyncio.Future[Published] = self._expect()
        self.send(
            self._broker.publish,
            self,
            message,
            lambda published: self.receive(_settle, answer, published),
        )
        return await answer

    async def close(self) -> None:
        """Close, when all that was sent before has arrived; twice is once.

        What a broker that takes nothing has not taken by then is lost.
        """
        if self._sent.is_held and self._lost_by is None:
            self._broker.cut(self, _CLOSED)
        with suppress(ConnectionLost):  # which it comes to in any case
            await self.request(lambda: self._broker.cut(self, _CLOSED))

    def sever(self, *, deliver_sent: bool) -> None:
        """End this side at once, as `kill -9` or a broken network does; the broker learns nothing.

        What was sent and is on its way arrives only with `deliver_sent`.  The broker takes the
        connection to be alive until it is cut there.
        """
        if not deliver_sent:
            self._sent.close()
        self._end("severed from the broker")

    def drop(self, reason: str) -> None:
        """Learn from the broker that the connection is gone."""
        self._sent.close()
        self._end(reason)

    def block(self) -> None:
        """Learn from the broker that it takes nothing more, with all else that it sends."""
        self._sent.hold()
        self.receive(partial(self._note, blocked=True))

    def unblock(self) -> None:
        """Learn from the broker that it takes what is sent."""
        self._sent.release()
        self.receive(partial(self._note, blocked=False))

    def check(self) -> None:
        """Raise ConnectionLost if it is."""
        if self._lost_by is not None:
            raise ConnectionLost(self._lost_by)

    def send(self, action: Callable[..., object], *arguments: object) -> None:
        """Have something happen at the broker, unless the connection is lost before."""
        self._sent.put(action, *arguments)

    def receive(self, action: Callable[..., object], *arguments: object) -> None:
        """Have something of the broker's happen here, unless the connection is lost before."""
        self._received.put(action, *arguments)

    async def request(self, action: Callable[[], T]) -> T:
        """Have the broker do something and return what came of it; raises what it raises."""
        answer: asyncio.Future[T] = self._expect()
        self.send(self._perform, action, answer)
        return await answer

    async def _consume(
        self,
        queue: str,
        deliver: Callable[[Delivery], None],
        since: Since | None,
        prefetch: int,
    ) -> MemoryConsumer:
        consumer = MemoryConsumer(self, self._broker, deliver)
        try:
            await self.request(lambda: consumer.subscribe(queue, prefetch, since))
        except asyncio.CancelledError:
            await consumer.close()  # nobody else could
            raise
        return consumer

    def _expect(self) -> asyncio.Future[Any]:
        self.check()
        answer = self._loop.create_future()
        self._unanswered[answer] = None
        answer.add_done_callback(self._unanswered.pop)
        return answer

    def _end(self, reason: str) -> None:
        if self._lost_by is not None:
            return
        self._lost_by = reason
        self._received.close()
        self._blocked = False
        if not self.lost.done():
            self.lost.set_result(reason)
        for answer in tuple(self._unanswered):
            if not answer.done():
                answer.set_exception(ConnectionLost(reason))

    def _note(self, *, blocked: bool) -> None:
        self._blocked = blocked

    def _perform(self, action: Callable[[], T], answer: asyncio.Future[T]) -> None:
        try:
            result = action()
        except TransportError as error:
            self.receive(_fail, answer, error)
        else:
            self.receive(_settle, answer, result)


def _settle(answer: asyncio.Future[T], result: T) -> None:
    if not answer.done():  # else whoever asked was cancelled
        answer.set_result(result)


def _fail(answer: asyncio.Future[Any], error: TransportError) -> None:
    if not answer.done():
        answer.set_exception(error)
