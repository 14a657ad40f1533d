"""The broker's side: exchanges, queues and connections, and the levers by which tests move it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from actors.clock import Clock, SystemClock
from actors.memory.queues import MessageQueue, Subscriber, UnknownTagError
from actors.memory.topics import Router
from actors.transport import (
    Delivery,
    Exchange,
    Message,
    Published,
    Queue,
    Topology,
    TopologyConflict,
    TransportError,
)


class Peer(Protocol):
    """A client's end of a connection."""

    def drop(self, reason: str) -> None:
        """Learn that the connection is gone."""


class MemoryBroker:
    """What all connections to it share.

    Tests pull its levers: `cut`, `stop` and `start`, `hold_confirms` and `release_confirms`,
    `delete`; `depth`, `messages` and `connections` look inside.  The other methods are the protocol
    that its clients speak.  To be used within one event loop.
    """

    def __init__(self, clock: Clock | None = None, *, stamps: bool = False) -> None:
        """Make an empty broker; with `stamps` messages get the clock's time (default: real time).

        A stamp is the header `timestamp_in_ms`: milliseconds since 1970, put there by the broker
        whatever the publisher wrote, as RabbitMQ does with
        `message_interceptors.incoming.set_header_timestamp.overwrite = true`.
        """
        self._clock = clock or SystemClock()
        self._stamps = stamps
        self._running = True
        self._routers: dict[str, Router] = {}
        self._queues: dict[str, MessageQueue] = {}
        self._peers: dict[Peer, list[Subscriber]] = {}
        self._held_confirms: list[Callable[[], None]] | None = None

    # Levers

    @property
    def connections(self) -> tuple[Peer, ...]:
        """The open connections, in the order in which they were made."""
        return tuple(self._peers)

    def depth(self, queue: str) -> int:
        """Return how many messages a queue holds, those out with consumers included."""
        return len(self.messages(queue))

    def messages(self, queue: str) -> list[Message]:
        """Return what a queue holds in its order, that out with consumers included.

        Raises KeyError if there is no such queue.
        """
        return self._queues[queue].messages()

    def cut(self, connection: Peer, reason: str) -> None:
        """Break a connection at once.

        What its client sent since the loop's last turn does not arrive; what arrived and was not
        confirmed stays taken.
        """
        subscribers = self._peers.pop(connection, None)
        if subscribers is None:
            return
        connection.drop(reason)
        for subscriber in subscribers:
            self._see_off(subscriber)
        for name in [name for name, one in self._queues.items() if one.owner is connection]:
            self._forget(name)

    def stop(self) -> None:
        """Break all connections and refuse new ones; exchanges, queues and messages survive."""
        self._running = False
        for connection in self.connections:
            self.cut(connection, "the broker in memory was stopped")

    def start(self) -> None:
        """Accept connections again."""
        self._running = True

    def hold_confirms(self) -> None:
        """Answer no publisher until `release_confirms`; messages are taken all the same."""
        if self._held_confirms is None:
            self._held_confirms = []

    def release_confirms(self) -> None:
        """Answer the publishers that wait, in order, and go on answering."""
        held, self._held_confirms = self._held_confirms, None
        for answer in held or ():
            answer()

    def delete(self, queue: str) -> None:
        """Delete a queue as an operator may; its consumers' connections are lost."""
        watched = self._queues[queue].subscribers
        watching = [
            peer for peer, ones in self._peers.items() if any(one in watched for one in ones)
        ]
        self._forget(queue)
        for peer in watching:
            self.cut(peer, f"the broker cancelled the consumer of queue '{queue}'")

    # Protocol

    @property
    def is_running(self) -> bool:
        """Whether it accepts connections."""
        return self._running

    def accept(self, connection: Peer) -> None:
        """Take note of a new connection."""
        self._peers[connection] = []

    def declare(self, connection: Peer, topology: Topology) -> None:
        """Make what does not exist; raises TopologyConflict, TransportError for unknown names."""
        for exchange in topology.exchanges:
            self._declare_exchange(exchange)
        for queue in topology.queues:
            self._declare_queue(connection, queue)
        for binding in topology.bindings:
            router = self._routers.get(binding.exchange)
            if router is None or binding.queue not in self._queues:
                missing = "exchange" if router is None else "queue"
                name = binding.exchange if router is None else binding.queue
                raise TransportError(f"NOT_FOUND - no {missing} '{name}'")
            router.bind(binding.queue, binding.key)

    def publish(
        self, connection: Peer, message: Message, answer: Callable[[Published], None]
    ) -> None:
        """Take a message and answer; one for an unknown exchange costs the connection."""
        if message.exchange and message.exchange not in self._routers:
            self.cut(connection, f"NOT_FOUND - no exchange '{message.exchange}'")
            return
        published = self._route(message)
        if self._held_confirms is None:
            answer(published)
        else:
            self._held_confirms.append(lambda: answer(published))

    def subscribe(
        self, connection: Peer, name: str, prefetch: int, hand: Callable[[Delivery], None]
    ) -> Subscriber | None:
        """Register a consumer; without such a queue the connection is lost and None returned."""
        queue = self._queues.get(name)
        if queue is None:
            self.cut(connection, f"NOT_FOUND - no queue '{name}'")
            return None
        if queue.owner not in {None, connection}:
            self.cut(connection, _locked(name))
            return None
        subscriber = Subscriber(queue, prefetch, hand)
        self._peers[connection].append(subscriber)
        queue.join(subscriber)
        return subscriber

    def unsubscribe(self, connection: Peer, subscriber: Subscriber) -> None:
        """See a consumer off."""
        self._peers[connection].remove(subscriber)
        self._see_off(subscriber)

    def acknowledge(
        self, connection: Peer, subscriber: Subscriber, tag: int, *, multiple: bool
    ) -> None:
        """Let go of messages; an unknown tag costs the connection."""
        try:
            subscriber.acknowledge(tag, multiple=multiple)
        except UnknownTagError:
            self.cut(connection, f"PRECONDITION_FAILED - unknown delivery tag {tag}")

    # Within

    def _declare_exchange(self, exchange: Exchange) -> None:
        router = self._routers.setdefault(exchange.name, Router(exchange.kind))
        if router.kind != exchange.kind:
            raise TopologyConflict(
                f"PRECONDITION_FAILED - exchange '{exchange.name}' exists as {router.kind},"
                f" not {exchange.kind}"
            )

    def _declare_queue(self, connection: Peer, queue: Queue) -> None:
        existing = self._queues.get(queue.name)
        if existing is None:
            owner = connection if queue.kind == "private" else None
            self._queues[queue.name] = MessageQueue(queue, owner)
        elif existing.owner not in {None, connection}:
            raise TopologyConflict(_locked(queue.name))
        elif existing.properties != queue:
            raise TopologyConflict(
                f"PRECONDITION_FAILED - queue '{queue.name}' exists as {existing.properties},"
                f" not {queue}"
            )

    def _route(self, message: Message) -> Published:
        key = message.routing_key
        names = self._routers[message.exchange].route(key) if message.exchange else [key]
        queues = [self._queues[name] for name in names if name in self._queues]
        if not queues:
            return Published.RETURNED
        if self._stamps:
            stamp = self._clock.now() // 1_000
            message = replace(message, headers={**message.headers, "timestamp_in_ms": stamp})
        refused = False
        for queue in queues:
            if queue.is_full:
                refused = True
            else:
                queue.put(message)
        return Published.NACKED if refused else Published.CONFIRMED

    def _see_off(self, subscriber: Subscriber) -> None:
        queue = subscriber.queue
        queue.leave(subscriber)
        if queue.properties.kind == "private" and not queue.subscribers:
            self._forget(queue.properties.name)

    def _forget(self, name: str) -> None:
        if self._queues.pop(name, None):
            for router in self._routers.values():
                router.unbind(name)


def _locked(queue: str) -> str:
    return f"RESOURCE_LOCKED - queue '{queue}' is private to another connection"
