"""A consumer's channel as the broker sees it: what is out on it and not yet acknowledged."""

from collections.abc import Callable
from itertools import takewhile
from typing import Generic, TypeVar

from actors.transport import Delivery, Headers, Message

T = TypeVar("T")


class UnknownTagError(Exception):
    """An acknowledgement names a delivery that is not outstanding."""


class Channel(Generic[T]):
    """Hands out messages and keeps, for each that is outstanding, what it stands for."""

    def __init__(self, prefetch: int, hand: Callable[[Delivery], None]) -> None:
        """Have at most `prefetch` messages (0: any number) outstanding; `hand` sends one off."""
        self.outstanding: dict[int, T] = {}
        self._prefetch = prefetch
        self._hand = hand
        self._last_tag = 0
        self._void: set[int] = set()

    @property
    def has_room(self) -> bool:
        """Whether the prefetch allows another message."""
        return not self._prefetch or len(self.outstanding) < self._prefetch

    def send(
        self,
        what: T,
        message: Message,
        headers: Headers,
        *,
        redelivered: bool = False,
        offset: int | None = None,
    ) -> None:
        """Send a message off to the consumer."""
        self._last_tag += 1
        self.outstanding[self._last_tag] = what
        self._hand(
            Delivery(
                tag=self._last_tag,
                exchange=message.exchange,
                routing_key=message.routing_key,
                body=message.body,
                redelivered=redelivered,
                kind=message.kind,
                headers=headers,
                offset=offset,
            )
        )

    def settle(self, tag: int, *, multiple: bool) -> None:
        """Let go of a tag, or of all up to it; raises UnknownTagError.

        Tags that were taken back are let go of without effect.
        """
        if tag not in self.outstanding and tag not in self._void:
            raise UnknownTagError(tag)
        if multiple:
            done = set(takewhile(lambda one: one <= tag, self.outstanding))
            self._void = {one for one in self._void if one > tag}
        else:
            done = {tag} & self.outstanding.keys()
            self._void.discard(tag)
        for one in done:
            del self.outstanding[one]

    def take_back(self) -> list[T]:
        """Return all that is outstanding; the consumer is not told and may acknowledge it still."""
        back = list(self.outstanding.values())
        self._void.update(self.outstanding)
        self.outstanding = {}
        return back
