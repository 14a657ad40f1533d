"""The broker in memory as the simulation needs it: what it has seen, and a network that can stall.

A client learns of the end of its connection as over a network: behind all that is on its way to it,
and not while the way is interrupted or its process is frozen.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextvars import Context
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from actors.clock import Clock
from actors.memory import MemoryBroker, MemoryConnection, MemoryTransport
from actors.memory.broker import Consumer, Peer
from actors.memory.directory import Store
from actors.memory.pipes import Pipe
from actors.memory.streams import Stream
from actors.transport import CannotConnect, Delivery, Message, Published, Since
from tests.simulation.loop import context_of


class SimPipe(Pipe):
    """A pipe that belongs to a process, and can stall as a network does."""

    def __init__(self, latency: Callable[[], float] | None, context: Context) -> None:
        super().__init__(latency)
        self._context = context
        self._stalled = False
        self._behind = 0

    def put(self, action: Callable[..., object], *arguments: object) -> None:
        self._context.copy().run(super().put, action, *arguments)

    def stall(self) -> None:
        """Let nothing through until `go_on`."""
        self._stalled = True

    def go_on(self) -> None:
        """Let through what has been waiting, and what comes."""
        self._stalled = False
        while self._behind:
            self._behind -= 1
            self._loop.call_soon(self._let_through, context=self._context.copy())

    def _let_through(self) -> None:
        if self._stalled:
            self._behind += 1
        else:
            super()._let_through()


@dataclass(frozen=True, slots=True)
class Taken:
    """A message that a shard's queue has taken, with the broker's time in milliseconds."""

    message: Message
    at: int


class SimBroker(MemoryBroker):
    """A broker that remembers what every queue has taken, and what was acknowledged of it."""

    def __init__(self, clock: Clock, *, stamps: bool, lag: Callable[[], float] | None) -> None:
        """`lag`: by how many seconds a delivery may come later than other answers of the broker."""
        super().__init__(clock, stamps=stamps)
        self._lag = lag
        self.node: Callable[[], int] = int
        """By how many milliseconds the clock is wrong by which the next message is stamped."""
        self.readers: dict[Peer, list[SimPipe]] = defaultdict(list)
        """By connection, the ways of what it reads from streams."""
        self.history: dict[str, list[Taken]] = defaultdict(list)
        self.acknowledged: dict[str, list[Message]] = defaultdict(list)

    @property
    def is_blocking(self) -> bool:
        """Whether it takes nothing in."""
        return self._blocked

    def _put(self, message: Message, targets: Iterable[Store]) -> Published:
        at = self._clock.now() // 1_000 + self.node()
        if self._stamps:
            message = replace(message, headers={**message.headers, "timestamp_in_ms": at})
        answer = Published.RETURNED
        for store in targets:
            if not isinstance(store, Stream):
                self.history[store.properties.name].append(Taken(message, at))
            store.put(message)
            answer = Published.CONFIRMED
        return answer

    def subscribe(
        self,
        connection: Peer,
        name: str,
        prefetch: int,
        hand: Callable[[Delivery], None],
        since: Since | None,
    ) -> Consumer | None:
        # Order holds within a channel only: a confirm may overtake what a reader is yet to see.
        channel = SimPipe(self._lag, context_of(""))
        if since is not None:
            self.readers[connection].append(channel)
        return super().subscribe(connection, name, prefetch, partial(channel.put, hand), since)

    def acknowledge(
        self, connection: Peer, subscriber: Consumer, tag: int, *, multiple: bool
    ) -> None:
        before: dict[int, Any] = dict(subscriber.outstanding)
        super().acknowledge(connection, subscriber, tag, multiple=multiple)
        if isinstance(subscriber.queue, Stream) or tag not in before:
            return
        name = subscriber.queue.properties.name
        self.acknowledged[name] += [
            held.message
            for one, held in before.items()
            if (one <= tag if multiple else one == tag) and one not in subscriber.outstanding
        ]


class SimConnection(MemoryConnection):
    """A connection of one process."""

    def __init__(
        self, broker: SimBroker, latency: Callable[[], float] | None, process: str
    ) -> None:
        super().__init__(broker)
        self.sent = self._sent = SimPipe(latency, context_of(""))
        self.received = self._received = SimPipe(latency, context_of(process))
        if broker.is_blocking:
            self.block()

    def drop(self, reason: str) -> None:
        self._sent.close()
        self._received.put(self._end, reason)

    def stall(self) -> None:
        """Let nothing through, either way."""
        self.sent.stall()
        self.received.stall()

    def go_on(self) -> None:
        """Let everything through again."""
        self.sent.go_on()
        self.received.go_on()

    def give_up(self, reason: str) -> None:
        """Take the broker to be gone, as when its heartbeats are missed; it learns nothing."""
        self._sent.close()
        self._end(reason)


class SimTransport(MemoryTransport):
    """One process's way to the broker."""

    def __init__(
        self, broker: SimBroker, latency: Callable[[], float] | None, process: str
    ) -> None:
        super().__init__(broker, latency)
        self._broker: SimBroker = broker
        self._process = process
        self.connection: SimConnection | None = None
        self.is_split = False

    async def connect(self) -> SimConnection:
        await asyncio.sleep(self._latency() if self._latency else 0)
        if self.is_split or not self._broker.is_running:
            raise CannotConnect("the broker cannot be reached")
        self.connection = SimConnection(self._broker, self._latency, self._process)
        return self.connection
