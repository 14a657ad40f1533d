"""The demo on a broker: events published on time, decisions read from a queue of its own."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from uuid import uuid4

from actors.broker.topology import DECISIONS, EVENTS
from actors.clock import Clock
from actors.demo.engine import Engine
from actors.demo.sent import Sent
from actors.demo.words import name_of
from actors.transport import (
    Binding,
    Connection,
    ConnectionLost,
    Delivery,
    Exchange,
    Published,
    Queue,
    Topology,
    TransportError,
)
from statecharts.decisions import DecisionMade

PREFETCH = 1000
PAUSE_WHEN_NACKED = 0.2


class NobodyListens(TransportError):
    """No queue takes the events."""


class Watcher(Protocol):
    """Who is shown what happens."""

    def sent(self, sent: Sent) -> None:
        """An event has been published and confirmed."""

    def received(self, event: Mapping[str, Any]) -> None:
        """The service has published something, a CloudEvent."""


class Live:
    """One run on one connection."""

    def __init__(
        self,
        engine: Engine,
        connection: Connection,
        clock: Clock,
        watchers: Sequence[Watcher],
        hold: Callable[[int | None], None] = lambda _: None,
    ) -> None:
        """`hold` is told before which instant the next move has to be made."""
        self._engine = engine
        self._connection = connection
        self._clock = clock
        self._watchers = watchers
        self._hold = hold
        self._inbox: deque[Delivery] = deque()
        self._woken = asyncio.Event()

    async def run(self) -> None:
        """Play to the end; raises NobodyListens, ConnectionLost."""
        queue = f"seatwarden.demo.{uuid4()}"
        topology = Topology(
            exchanges=(Exchange(EVENTS), Exchange(DECISIONS)),
            queues=(Queue(queue, kind="private"),),
            bindings=(Binding(queue, DECISIONS),),
        )
        await self._connection.declare(topology)
        consumer = await self._connection.consume(queue, self._put, prefetch=PREFETCH)
        self._connection.lost.add_done_callback(lambda _: self._woken.set())
        while (at := self._engine.next()) is not None:
            self._hold(at)
            await self._clock.wait(self._woken, at)
            self._woken.clear()
            if self._connection.lost.done():
                raise ConnectionLost(self._connection.lost.result())
            if last := self._read():
                await consumer.acknowledge(last.tag, multiple=True)
            await asyncio.gather(*map(self._publish, self._due()))

    def _read(self) -> Delivery | None:
        """Take what has come, and return the last of it."""
        last = None
        while self._inbox:
            last = self._inbox.popleft()
            event = json.loads(last.body)
            if event["data"].get("table_id") not in self._engine.table_ids:
                continue  # somebody else's
            if name_of(event) == DecisionMade.name:
                self._engine.decide(event["data"])
            for watcher in self._watchers:
                watcher.received(event)
        return last

    def _due(self) -> list[Sent]:
        now, due = self._clock.now(), []
        while (at := self._engine.next()) is not None and at <= now:
            if sent := self._engine.move():
                due.append(sent)
        return due

    async def _publish(self, sent: Sent) -> None:
        """Publish until confirmed."""
        while (answer := await self._connection.publish(sent.message)) is not Published.CONFIRMED:
            if answer is Published.RETURNED:
                raise NobodyListens(
                    "no queue takes the events: run `seatwarden run` on this broker first"
                )
            await asyncio.sleep(PAUSE_WHEN_NACKED)
        for watcher in self._watchers:
            watcher.sent(sent)

    def _put(self, delivery: Delivery) -> None:
        self._inbox.append(delivery)
        self._woken.set()
