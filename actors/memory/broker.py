"""The broker's side: connections and what they ask for, and the levers by which tests move it."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol

from actors.clock import Clock, SystemClock
from actors.memory.channels import UnknownTagError
from actors.memory.directory import Directory, Store, locked
from actors.memory.queues import MessageQueue, Subscriber
from actors.memory.streams import Reader, Stream
from actors.transport import Binding, Delivery, Message, Published, Since, Survey, Topology

Consumer = Subscriber | Reader


class Peer(Protocol):
    """A client's end of a connection."""

    def drop(self, reason: str) -> None:
        """Learn that the connection is gone."""

    def block(self) -> None:
        """Learn that the broker takes nothing more."""

    def unblock(self) -> None:
        """Learn that the broker takes what was sent, and what comes."""


class MemoryBroker:
    """What all connections to it share.  To be used within one event loop.

    `depth`, `messages` and `connections` look inside.  Tests pull its levers; none of them tells
    the clients anything that RabbitMQ would not tell them:

    - `cut` breaks a connection; `stop` breaks all and refuses new ones until `start`.
    - `delete` deletes a queue, as an operator may.
    - `usurp` makes the next consumer of a single-active queue active without telling the first, as
      a cluster may whose nodes lose sight of each other.
    - `return_unnoticed` takes back what consumers hold and delivers it again, without telling them.
    - `hold_confirms` keeps publishers waiting until `release_confirms`; `lose_confirms` never
      answers for what is published until then.
    - `block` takes in nothing at all until `unblock`, as RabbitMQ does when short of memory.

    The other methods are the protocol that its clients speak.
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
        self._names = Directory(self._clock.now)
        self._peers: dict[Peer, list[Consumer]] = {}
        self._held_confirms: list[Callable[[], None]] | None = None
        self._loses_confirms = False
        self._blocked = False

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
        return self._names[queue].messages()

    def cut(self, connection: Peer, reason: str) -> None:
        """Break a connection at once.

        What is on its way does not arrive; what arrived and was not confirmed stays taken.
        """
        subscribers = self._peers.pop(connection, None)
        if subscribers is None:
            return
        connection.drop(reason)
        for subscriber in subscribers:
            self._see_off(subscriber)
        for name in self._names.owned(connection):
            self._names.forget(name)

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

    def lose_confirms(self) -> None:
        """Take messages until `release_confirms`, but never answer for them."""
        self._loses_confirms = True

    def release_confirms(self) -> None:
        """Answer the publishers that were held, in order, and go on answering."""
        self._loses_confirms = False
        held, self._held_confirms = self._held_confirms, None
        for answer in held or ():
            answer()

    def block(self) -> None:
        """Take in nothing that clients send, until `unblock`; deliveries still go out."""
        self._blocked = True
        for connection in self.connections:
            connection.block()

    def unblock(self) -> None:
        """Take in what has been sent meanwhile, each connection's in its order, and what comes."""
        self._blocked = False
        for connection in self.connections:
            connection.unblock()

    def delete(self, queue: str) -> None:
        """Delete a queue as an operator may; its consumers' connections are lost.

        Raises KeyError if there is no such queue.
        """
        watched = self._names[queue]
        watching = [
            peer for peer, ones in self._peers.items() if any(one.queue is watched for one in ones)
        ]
        self._names.forget(queue)
        for peer in watching:
            self.cut(peer, f"the broker cancelled the consumer of queue '{queue}'")

    def usurp(self, queue: str) -> None:
        """Make the next in line the active consumer of a single-active queue.

        What the first holds goes to the next; the first learns nothing, may go on publishing, its
        acknowledgements do nothing, and it now stands at the end of the line.  Raises KeyError.
        """
        self._queue(queue).usurp()

    def return_unnoticed(self, queue: str) -> None:
        """Deliver again what the active consumer (of other queues: every consumer) holds.

        Acknowledgements of the former deliveries do nothing.  Raises KeyError.
        """
        self._queue(queue).take_back()

    # Protocol

    @property
    def is_running(self) -> bool:
        """Whether it accepts connections."""
        return self._running

    def accept(self, connection: Peer) -> None:
        """Take note of a new connection."""
        self._peers[connection] = []
        if self._blocked:
            connection.block()

    def declare(self, connection: Peer, topology: Topology) -> None:
        """Make what does not exist; raises TopologyConflict, TransportError for unknown names."""
        self._names.declare(connection, topology)

    def differences(self, connection: Peer, topology: Topology) -> list[str]:
        """Say what is missing or other than wanted."""
        return self._names.differences(connection, topology)

    def unbind(self, bindings: Iterable[Binding]) -> None:
        """Undo what of it exists."""
        self._names.unbind(bindings)

    def survey(self, connection: Peer, queue: str) -> Survey | None:
        """Look at a queue; raises TopologyConflict if it is another's."""
        return self._names.survey(connection, queue)

    def remove(self, connection: Peer, queue: str) -> bool:
        """Delete a queue that shows neither messages nor consumers, and is no stream."""
        return self._names.delete(connection, queue)

    def publish(
        self, connection: Peer, message: Message, answer: Callable[[Published], None]
    ) -> None:
        """Take a message and answer; one for an unknown exchange costs the connection."""
        targets = self._names.targets(message)
        if targets is None:
            self.cut(connection, f"NOT_FOUND - no exchange '{message.exchange}'")
            return
        published = self._put(message, targets)
        if self._loses_confirms:
            return
        if self._held_confirms is None:
            answer(published)
        else:
            self._held_confirms.append(lambda: answer(published))

    def subscribe(
        self,
        connection: Peer,
        name: str,
        prefetch: int,
        hand: Callable[[Delivery], None],
        since: Since | None,
    ) -> Consumer | None:
        """Register a consumer; if that is impossible, the connection is lost and None returned.

        `since` is where to begin in a stream, and only there.
        """
        store = self._names.get(name)
        if store is None:
            self.cut(connection, f"NOT_FOUND - no queue '{name}'")
            return None
        if store.owner not in {None, connection}:
            self.cut(connection, locked(name))
            return None
        is_stream = isinstance(store, Stream)
        if is_stream and not prefetch:
            self.cut(connection, f"PRECONDITION_FAILED - prefetch count is not set for '{name}'")
            return None
        if since is not None and not is_stream:
            self.cut(
                connection, f"PRECONDITION_FAILED - invalid arg 'x-stream-offset' for '{name}'"
            )
            return None
        consumer = (
            Reader(store, prefetch, hand, "next" if since is None else since)
            if isinstance(store, Stream)
            else Subscriber(store, prefetch, hand)
        )
        self._peers[connection].append(consumer)
        consumer.join()
        return consumer

    def unsubscribe(self, connection: Peer, subscriber: Consumer) -> None:
        """See a consumer off."""
        self._peers[connection].remove(subscriber)
        self._see_off(subscriber)

    def acknowledge(
        self, connection: Peer, subscriber: Consumer, tag: int, *, multiple: bool
    ) -> None:
        """Let go of messages; an unknown tag costs the connection."""
        try:
            subscriber.acknowledge(tag, multiple=multiple)
        except UnknownTagError:
            self.cut(connection, f"PRECONDITION_FAILED - unknown delivery tag {tag}")

    # Within

    def _queue(self, name: str) -> MessageQueue:
        store = self._names[name]
        if isinstance(store, Stream):
            raise KeyError(f"'{name}' is a stream")
        return store

    def _put(self, message: Message, targets: Iterable[Store]) -> Published:
        if self._stamps:
            stamp = self._clock.now() // 1_000
            message = replace(message, headers={**message.headers, "timestamp_in_ms": stamp})
        answer = Published.RETURNED
        for store in targets:
            if store.is_full:
                answer = Published.NACKED
            else:
                store.put(message)
                if answer is Published.RETURNED:
                    answer = Published.CONFIRMED
        return answer

    def _see_off(self, consumer: Consumer) -> None:
        consumer.leave()
        queue = consumer.queue
        if queue.properties.kind == "private" and not queue.subscribers:
            self._names.forget(queue.properties.name)
