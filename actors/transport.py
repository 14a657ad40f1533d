"""The port to the broker: what the service and its clients need of AMQP 0-9-1, and no more.

Two things stand behind it and pass the same contract tests: `memory` (embedded, for the demo, the
simulator and tests) and `rabbit` (RabbitMQ 3.10 to 4.x).  A `Connection` lives and dies as a whole:
what was not acknowledged on it is delivered again on another, in its order; what was not confirmed
on it must be published again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Literal, Protocol

Headers = Mapping[str, str | int]
Since = int | Literal["first", "next"] | datetime
"""Where to begin to read a stream."""


class TransportError(Exception):
    """Anything that a broker or the way to it does; the message says what and where."""


class CannotConnect(TransportError):
    """No connection could be made: nobody listens, or credentials or virtual host are wrong."""


class NotLetIn(CannotConnect):
    """The broker does not know this user, or not by this password."""


class NoEntry(CannotConnect):
    """The user is known, but not let into the virtual host, if there is one of that name."""


class ConnectionLost(TransportError):
    """The connection, or one of its channels, is gone; nothing more can be done with it."""


class TopologyConflict(TransportError):
    """A queue or an exchange exists with other properties, which cannot be changed (AMQP 406)."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A durable exchange."""

    name: str
    kind: Literal["topic", "fanout"] = "topic"


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue.

    `quorum` queues are durable and return a message for ever (no delivery limit, by the broker's
    version); with `single_active` one consumer gets the messages and the others stand
    by.  `private` queues die with the connection that declared them (exclusive, not durable).
    `max_length` and `max_bytes` with overflow `reject-publish`: a full queue nacks its publisher.

    A `stream` keeps what was published, in order, each with its offset, for all who read it
    (`Connection.read`).  Its oldest segments are dropped beyond `max_bytes` or `max_days`.
    """

    name: str
    kind: Literal["quorum", "private", "stream"] = "quorum"
    single_active: bool = False
    max_length: int | None = None
    max_bytes: int | None = None
    max_days: int | None = None
    segment_bytes: int | None = None
    """How much of a stream is dropped at a time (RabbitMQ: 500 MB if left out)."""


@dataclass(frozen=True, slots=True)
class Binding:
    """Messages of `exchange` whose routing key matches `key` go to `queue`."""

    queue: str
    exchange: str
    key: str = "#"


@dataclass(frozen=True, slots=True)
class Topology:
    """What has to exist on the broker; declaring it twice is declaring it once."""

    exchanges: tuple[Exchange, ...] = ()
    queues: tuple[Queue, ...] = ()
    bindings: tuple[Binding, ...] = ()

    def only(self, queue: str) -> Topology:
        """Return that queue alone."""
        return Topology(queues=tuple(one for one in self.queues if one.name == queue))


@dataclass(frozen=True, slots=True)
class Message:
    """A message to publish: always persistent and mandatory.

    `exchange` "" is the default exchange, which takes a queue's name for the routing key.
    """

    exchange: str
    routing_key: str
    body: bytes
    content_type: str = "application/cloudevents+json"
    kind: str | None = None
    """The property `type`."""
    headers: Headers = field(default_factory=dict)
    id: str | None = None
    """The property `message_id`."""
    expires: float | None = None
    """Seconds after which a queue drops it, once nothing stands before it there."""


class Published(Enum):
    """What became of a published message."""

    CONFIRMED = "confirmed"
    RETURNED = "returned"
    """Confirmed, but no queue took it."""
    NACKED = "nacked"
    """A queue refused it, being full: publish it again."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message received.  `tag` is its place in its consumer's order of delivery, from 1."""

    tag: int
    exchange: str
    routing_key: str
    body: bytes
    redelivered: bool = False
    kind: str | None = None
    headers: Headers = field(default_factory=dict)
    offset: int | None = None
    """Its place in the stream that it was read from; None if it comes from a queue.

    Offsets begin with 0 and rise, but not always by one: a stream takes some for itself.
    """


@dataclass(frozen=True, slots=True)
class Survey:
    """What a queue shows: messages ready to be delivered, and registered consumers.

    Of a single-active queue RabbitMQ counts the one active consumer alone; of a stream it counts no
    reader, and its messages seconds late.
    """

    messages: int
    consumers: int


class Consumer(Protocol):
    """A consumer of one queue, on a channel of its own."""

    async def acknowledge(self, tag: int, *, multiple: bool = False) -> None:
        """Acknowledge a delivery, with `multiple` all up to it; raises ConnectionLost.

        Returns when the broker has been sent it, not when it has seen it.
        """

    async def close(self) -> None:
        """Close the channel: what is not acknowledged goes back to the queue, in its order."""


class Connection(Protocol):
    """One connection to the broker."""

    lost: asyncio.Future[str]
    """Done, with the reason, as soon as the connection or one of its channels is gone; closing it
    deliberately is a reason too."""

    @property
    def broker_version(self) -> str:
        """The version that the broker announces, such as `3.10.8`."""

    @property
    def is_blocked(self) -> bool:
        """Whether the broker has said that it takes no messages now (short of memory or disk).

        RabbitMQ says so to a connection when that next publishes; from then on it reads nothing of
        what comes on it, acknowledgements included.
        """

    async def declare(self, topology: Topology) -> None:
        """Make sure that all of it exists; raises TopologyConflict, ConnectionLost."""

    async def differences(self, topology: Topology) -> list[str]:
        """Say what of it is missing or other than wanted, one line each; nothing is changed.

        Bindings cannot be seen this way (AMQP 0-9-1).  Raises ConnectionLost.
        """

    async def unbind(self, bindings: Iterable[Binding]) -> None:
        """Make sure that these do not exist; raises ConnectionLost."""

    async def survey(self, queue: str) -> Survey | None:
        """Look at a queue; None if there is no such queue.

        Raises TransportError if it cannot be looked at now (its node is down, or has just started)
        or belongs to another connection; raises ConnectionLost.
        """

    async def delete(self, queue: str) -> bool:
        """Delete a queue that is empty and has no consumer; False if it is not so (it is left).

        A stream is always left: RabbitMQ does not say whether it is empty.  Raises what `survey`
        does.
        """

    async def consume(
        self, queue: str, deliver: Callable[[Delivery], None], *, prefetch: int
    ) -> Consumer:
        """Have `deliver` called with each message, in order, at most `prefetch` unacknowledged.

        `deliver` must only put the message somewhere: it is never awaited.  Raises ConnectionLost.
        """

    async def read(
        self,
        stream: str,
        deliver: Callable[[Delivery], None],
        *,
        since: Since,
        prefetch: int,
    ) -> Consumer:
        """Have `deliver` called with each message of a stream from an offset on, those to come too.

        `next`: only those to come.  A time: those published from then on, and perhaps some earlier
        ones.  What lies before the stream's oldest message begins with that.
        Acknowledging makes room for more and removes nothing.  `prefetch` is at least 1; RabbitMQ
        3.10 exceeds it by what was published in one go.  Raises ConnectionLost.
        """

    async def publish(self, message: Message) -> Published:
        """Publish and wait for the broker's answer; raises ConnectionLost if there was none.

        Calls may overlap; messages go out in the order of the calls.
        """

    async def close(self) -> None:
        """Close in good order; twice is once."""


class Transport(Protocol):
    """A way to a broker."""

    async def connect(self) -> Connection:
        """Make one connection; raises CannotConnect.  Trying again is the caller's affair."""
