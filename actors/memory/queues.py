"""A queue and its consumers, as the broker sees them: who gets which message, and in what order."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from actors.memory.channels import Channel
from actors.transport import Delivery, Message, Queue


@dataclass(slots=True, eq=False)
class _Held:
    """A message in a queue."""

    message: Message
    place: int
    expires: int | None
    """From which instant on it is dropped rather than given out."""
    returned: int = 0
    """How often it was given out and came back."""


class Subscriber(Channel[_Held]):
    """A consumer of a queue."""

    def __init__(
        self, queue: "MessageQueue", prefetch: int, hand: Callable[[Delivery], None]
    ) -> None:
        super().__init__(prefetch, hand)
        self.queue = queue

    def give(self, held: _Held) -> None:
        """Send a message off to the consumer."""
        headers = held.message.headers
        if held.returned and self.queue.properties.kind == "quorum":
            headers = {**headers, "x-delivery-count": held.returned}
        self.send(held, held.message, headers, redelivered=held.returned > 0)

    def acknowledge(self, tag: int, *, multiple: bool) -> None:
        """Drop the message of a tag, or all up to it; raises UnknownTagError."""
        self.settle(tag, multiple=multiple)
        self.queue.serve()

    def join(self) -> None:
        """Begin to consume."""
        self.queue.join(self)

    def leave(self) -> None:
        """End consuming."""
        self.queue.leave(self)


class MessageQueue:
    """Messages in their order, and the consumers that wait for them."""

    def __init__(self, properties: Queue, owner: object | None, now: Callable[[], int]) -> None:
        """Make an empty queue; `owner` is the connection that a private one lives and dies with.

        `now` gives the time by which messages expire, in microseconds.
        """
        self.properties = properties
        self.owner = owner
        self.subscribers: deque[Subscriber] = deque()
        """In order of registration where only the first is active, else the next in turn first."""
        self._ready: deque[_Held] = deque()
        self._next_place = 0
        self._now = now

    @property
    def is_full(self) -> bool:
        """Whether messages are refused; those given out do not count, as with RabbitMQ."""
        many, large = self.properties.max_length, self.properties.max_bytes
        if many is not None and self.ready >= many:
            return True
        return large is not None and sum(len(one.message.body) for one in self._ready) >= large

    @property
    def ready(self) -> int:
        """How many messages wait to be given out."""
        self._expire()
        return len(self._ready)

    @property
    def consumers(self) -> int:
        """How many consumers it shows: of a single-active queue, the active one."""
        return min(len(self.subscribers), 1) if self._is_single else len(self.subscribers)

    def put(self, message: Message) -> None:
        """Take a message in."""
        expires = None
        if message.expires is not None:
            expires = self._now() + round(message.expires * 1_000_000)
        self._ready.append(_Held(message, self._next_place, expires))
        self._next_place += 1
        self.serve()

    def join(self, subscriber: Subscriber) -> None:
        """Let a consumer in, at the end of the line."""
        self.subscribers.append(subscriber)
        self.serve()

    def leave(self, subscriber: Subscriber) -> None:
        """See a consumer off; what it did not acknowledge goes back to where it was."""
        self.subscribers.remove(subscriber)
        self._return(subscriber.take_back())
        self.serve()

    def take_back(self) -> None:
        """Return what the active consumers hold to its place, and give it out again."""
        active = islice(self.subscribers, 1 if self._is_single else None)
        for subscriber in active:
            self._return(subscriber.take_back())
        self.serve()

    def usurp(self) -> None:
        """Put the active consumer at the end of the line; what it holds goes to the next one."""
        if self.subscribers:
            self._return(self.subscribers[0].take_back())
            self.subscribers.rotate(-1)
            self.serve()

    def serve(self) -> None:
        """Give out what the consumers have room for."""
        while self.ready and (subscriber := self._next_in_turn()):
            subscriber.give(self._ready.popleft())

    def messages(self) -> list[Message]:
        """Return all that it holds in order, given out or not."""
        self._expire()
        out = (held for one in self.subscribers for held in one.outstanding.values())
        return [held.message for held in sorted((*out, *self._ready), key=lambda held: held.place)]

    @property
    def _is_single(self) -> bool:
        return self.properties.single_active

    def _return(self, back: list[_Held]) -> None:
        for held in back:
            held.returned += 1
        self._ready = deque(sorted((*back, *self._ready), key=lambda held: held.place))

    def _expire(self) -> None:
        while self._ready:
            expires = self._ready[0].expires
            if expires is None or expires > self._now():
                return
            self._ready.popleft()

    def _next_in_turn(self) -> Subscriber | None:
        if self._is_single:
            first = self.subscribers[0] if self.subscribers else None
            return first if first and first.has_room else None
        for _ in range(len(self.subscribers)):
            subscriber = self.subscribers[0]
            self.subscribers.rotate(-1)
            if subscriber.has_room:
                return subscriber
        return None
