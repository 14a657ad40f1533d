"""A stream and its readers, as the broker sees them."""

from collections.abc import Callable

from actors.memory.channels import Channel
from actors.transport import Delivery, Message, Queue, Since


class Reader(Channel[int]):
    """A reader of a stream, at its own offset."""

    def __init__(
        self, queue: "Stream", prefetch: int, hand: Callable[[Delivery], None], since: Since
    ) -> None:
        super().__init__(prefetch, hand)
        self.queue = queue
        if isinstance(since, int):
            self._at = since
        else:  # it keeps no times: for a time, all of them
            self._at = queue.next if since == "next" else queue.first

    def serve(self) -> None:
        """Send off what there is room for."""
        while self.has_room and (self._at < self.queue.next):
            self._at = max(self._at, self.queue.first)
            if message := self.queue.at(self._at):
                self.send(self._at, message, message.headers, offset=self._at)
            self._at += 1

    def acknowledge(self, tag: int, *, multiple: bool) -> None:
        """Make room for more; raises UnknownTagError."""
        self.settle(tag, multiple=multiple)
        self.serve()

    def join(self) -> None:
        """Begin to read."""
        self.queue.subscribers.append(self)
        self.serve()

    def leave(self) -> None:
        """End reading."""
        self.queue.subscribers.remove(self)


class Stream:
    """Messages that stay, each at its offset, and their readers.

    As with RabbitMQ, each new segment takes an offset for itself, so there are gaps.  The oldest
    messages are dropped one by one as soon as the bodies exceed `max_bytes`, down to one message;
    no message is ever too old.
    """

    owner: object | None = None
    is_full = False
    consumers = 0
    """It shows none of its readers, as with RabbitMQ."""

    def __init__(self, properties: Queue) -> None:
        """Make an empty stream."""
        self.properties = properties
        self.subscribers: list[Reader] = []
        self.first = 0
        """The offset of the oldest message."""
        self.next = 0
        """The offset of the next message."""
        self._messages: dict[int, Message] = {}
        self._bytes = 0
        self._segment = 0

    @property
    def ready(self) -> int:
        """How many messages it holds."""
        return len(self._messages)

    def put(self, message: Message) -> None:
        """Take a message in."""
        self._begin_segment()
        self._messages[self.next] = message
        self.next += 1
        self._bytes += len(message.body)
        self._segment += len(message.body)
        self._retain()
        for reader in self.subscribers:
            reader.serve()

    def at(self, offset: int) -> Message | None:
        """Return the message at an offset, if there is one."""
        return self._messages.get(offset)

    def messages(self) -> list[Message]:
        """Return all that it holds, in order."""
        return list(self._messages.values())

    def _begin_segment(self) -> None:
        size = self.properties.segment_bytes
        if size is not None and self._segment >= size:
            self._segment = 0
            self.next += 1

    def _retain(self) -> None:
        limit = self.properties.max_bytes
        while limit is not None and self._bytes > limit and len(self._messages) > 1:
            self._bytes -= len(self._messages.pop(self.first).body)
            self.first = next(iter(self._messages))
