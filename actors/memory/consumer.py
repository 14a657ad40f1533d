"""A consumer on a broker in memory, on the client's side."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeVar

from actors.memory.broker import Consumer, MemoryBroker, Peer
from actors.transport import ConnectionLost, Delivery, Since

T = TypeVar("T")


class Ends(Peer, Protocol):
    """The connection that a consumer belongs to."""

    def check(self) -> None:
        """Raise ConnectionLost if it is."""

    def send(self, action: Callable[..., object], *arguments: object) -> None:
        """Have something happen at the broker."""

    def receive(self, action: Callable[..., object], *arguments: object) -> None:
        """Have something of the broker's happen here."""

    async def request(self, action: Callable[[], T]) -> T:
        """Have the broker do something and return what came of it."""


class MemoryConsumer:
    """A consumer on a broker in memory."""

    def __init__(
        self, connection: Ends, broker: MemoryBroker, deliver: Callable[[Delivery], None]
    ) -> None:
        self._connection = connection
        self._broker = broker
        self._deliver = deliver
        self._registered: Consumer | None = None
        self._closed = False

    def subscribe(self, queue: str, prefetch: int, since: Since | None) -> None:
        """Register with the broker."""
        hand = partial(self._connection.receive, self._receive)
        self._registered = self._broker.subscribe(self._connection, queue, prefetch, hand, since)

    async def acknowledge(self, tag: int, *, multiple: bool = False) -> None:
        """Acknowledge a delivery, with `multiple` all up to it; raises ConnectionLost.

        Returns before the broker has seen it; a tag that it does not know loses the connection.
        """
        self._connection.check()
        if self._closed:
            raise ConnectionLost("this consumer was closed")
        acknowledge = partial(self._broker.acknowledge, multiple=multiple)
        self._connection.send(acknowledge, self._connection, self._registered, tag)

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
        if self._registered:
            self._broker.unsubscribe(self._connection, self._registered)
