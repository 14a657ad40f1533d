"""The real service, which dies by `kill -9` before or after its n-th call of a kind to the broker.

`CHAOS_DIES` says when, such as `before record 2`.  Nothing of the product knows about it: the port
to the broker is wrapped.
"""

import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from actors import cli, service
from actors.broker.topology import AUDIT, DECISIONS
from actors.journal.records import MARKER, RECORD
from actors.rabbit import RabbitTransport
from actors.transport import Connection, Consumer, Delivery, Message, Published
from actors.work import ticks

T = TypeVar("T")

VARIABLE = "CHAOS_DIES"
KINDS = ("marker", "write", "record", "output", "audit", "tick", "acknowledge")
"""`write` is any record of a journal, `record` one that covers deliveries."""


class Point(NamedTuple):
    """Where to die."""

    when: str
    """`before` or `after`."""
    kind: str
    number: int = 1

    def __str__(self) -> str:
        return f"{self.when} {self.kind} {self.number}"

    @property
    def env(self) -> Mapping[str, str]:
        """What a process needs in its environment to die there."""
        return {VARIABLE: str(self)}


def parsed(text: str) -> Point:
    """Return the point of that name."""
    when, kind, number = text.split()
    return Point(when, kind, int(number))


class Failing(RabbitTransport):
    """A transport whose connections die there."""

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(url, **options)
        self._fuse = _Fuse(parsed(os.environ[VARIABLE]))

    async def connect(self) -> Any:
        return _Connection(await super().connect(), self._fuse)


class _Fuse:
    def __init__(self, point: Point) -> None:
        self._point = point
        self._left = point.number

    async def burn(self, kinds: set[str], call: Awaitable[T]) -> T:
        is_it = False
        if self._point.kind in kinds:  # others may begin before this one is done
            self._left -= 1
            is_it = self._left == 0
        if is_it and self._point.when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        done = await call
        if is_it:
            os.kill(os.getpid(), signal.SIGKILL)
        return done


class _Connection:
    def __init__(self, inner: Connection, fuse: _Fuse) -> None:
        self._inner = inner
        self._fuse = fuse

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def publish(self, message: Message) -> Published:
        return await self._fuse.burn(_kinds(message), self._inner.publish(message))

    async def consume(
        self, queue: str, deliver: Callable[[Delivery], None], *, prefetch: int
    ) -> Any:
        consumer = await self._inner.consume(queue, deliver, prefetch=prefetch)
        return _Consumer(consumer, self._fuse)


class _Consumer:
    def __init__(self, inner: Consumer, fuse: _Fuse) -> None:
        self._inner = inner
        self._fuse = fuse

    async def acknowledge(self, tag: int, *, multiple: bool = False) -> None:
        await self._fuse.burn({"acknowledge"}, self._inner.acknowledge(tag, multiple=multiple))

    async def close(self) -> None:
        await self._inner.close()


def _kinds(message: Message) -> set[str]:
    if message.kind == RECORD:
        return {"write"} if b'"covered":[]' in message.body else {"write", "record"}
    if message.kind == MARKER:
        return {"marker"}
    if message.kind == ticks.KIND:
        return {"tick"}
    if message.exchange == DECISIONS:
        return {"output"}
    return {"audit"} if message.routing_key == AUDIT else set()


if __name__ == "__main__":
    setattr(service, "RabbitTransport", Failing)  # noqa: B010 - it is not the module's to give
    cli.main()
