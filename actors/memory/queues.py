"""A queue and its consumers, as the broker sees them: who gets which message, and in what order."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

from actors.transport import Delivery, Headers, Message, Queue


class UnknownTagError(Exception):
    """An acknowledgement names a delivery that is not outstanding."""


@dataclass(slots=True, eq=False)
class _Held:
    """A message in a queue."""

    message: Message
    place: int
    returned: int = 0
    """How often it was given out and came back."""


class Subscriber:
    """A consumer's channel: what was given out on it and is not yet acknowledged."""

    def __init__(
        self, queue: "MessageQueue", prefetch: int, hand: Callable[[Delivery], None]
    ) -> None:
        """Have at most `prefetch` messages (0: any number) outstanding; `hand` sends one off."""
        self.queue = queue
        self.outstanding: dict[int, _Held] = {}
        self._prefetch = prefetch
        self._hand = hand
        self._last_tag = 0

    @property
    def has_room(self) -> bool:
        """Whether the prefetch allows another message."""
        return not self._prefetch or len(self.outstanding) < self._prefetch

    def give(self, held: _Held) -> None:
        """Send a message off to the consumer."""
        self._last_tag += 1
        self.outstanding[self._last_tag] = held
        message = held.message
        headers: Headers = message.headers
        if held.returned and self.queue.properties.kind == "quorum":
            headers = {**headers, "x-delivery-count": held.returned}
        self._hand(
            Delivery(
                tag=self._last_tag,
                exchange=message.exchange,
                routing_key=message.routing_key,
                body=message.body,
                redelivered=held.returned > 0,
                kind=message.kind,
                headers=headers,
            )
        )

    def acknowledge(self, tag: int, *, multiple: bool) -> None:
        """Drop the message of a tag, or all up to it; raises UnknownTagError."""
        if tag not in self.outstanding:
            raise UnknownTagError(tag)
        done = list(takewhile(lambda one: one <= tag, self.outstanding)) if multiple else [tag]
        for one in done:
            del self.outstanding[one]
        self.queue.serve()


class MessageQueue:
    """Messages in their order, and the consumers that wait for them."""

    def __init__(self, properties: Queue, owner: object | None) -> None:
        """Make an empty queue; `owner` is the connection that a private one lives and dies with."""
        self.properties = properties
        self.owner = owner
        self.subscribers: deque[Subscriber] = deque()
        """In order of registration where only the first is active, else the next in turn first."""
        self._ready: deque[_Held] = deque()
        self._next_place = 0

    @property
    def is_full(self) -> bool:
        """Whether messages are refused; those given out do not count, as with RabbitMQ."""
        limit = self.properties.max_length
        return limit is not None and len(self._ready) >= limit

    def put(self, message: Message) -> None:
        """Take a message in."""
        self._ready.append(_Held(message, self._next_place))
        self._next_place += 1
        self.serve()

    def join(self, subscriber: Subscriber) -> None:
        """Let a consumer in, at the end of the line."""
        self.subscribers.append(subscriber)
        self.serve()

    def leave(self, subscriber: Subscriber) -> None:
        """See a consumer off; what it did not acknowledge goes back to where it was."""
        self.subscribers.remove(subscriber)
        back = subscriber.outstanding.values()
        for held in back:
            held.returned += 1
        self._ready = deque(sorted((*back, *self._ready), key=lambda held: held.place))
        subscriber.outstanding = {}
        self.serve()

    def serve(self) -> None:
        """Give out what the consumers have room for."""
        while self._ready and (subscriber := self._next_in_turn()):
            subscriber.give(self._ready.popleft())

    def messages(self) -> list[Message]:
        """Return all that it holds in order, given out or not."""
        out = (held for one in self.subscribers for held in one.outstanding.values())
        return [held.message for held in sorted((*out, *self._ready), key=lambda held: held.place)]

    def _next_in_turn(self) -> Subscriber | None:
        if self.properties.single_active:
            first = self.subscribers[0] if self.subscribers else None
            return first if first and first.has_room else None
        for _ in range(len(self.subscribers)):
            subscriber = self.subscribers[0]
            self.subscribers.rotate(-1)
            if subscriber.has_room:
                return subscriber
        return None
