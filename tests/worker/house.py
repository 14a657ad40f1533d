"""A house of play in virtual time: a memory broker, a worker, and a game backend that listens."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import structlog

from actors import policies
from actors.broker.slots import routing_key
from actors.broker.topology import DEAD_LETTERS, DECISIONS, EVENTS, Layout, common
from actors.clock import VirtualClock
from actors.memory import MemoryBroker, MemoryTransport
from actors.transport import Binding, Connection, Delivery, Message, Published, Queue, Topology
from actors.work.options import Options
from actors.work.ticks import KIND
from actors.work.worker import Worker
from statecharts.instants import SECOND, from_rfc3339, from_seconds, to_rfc3339

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from statecharts.policy import Policies

START = from_rfc3339("2026-03-01T12:00:00Z")
STEP = 50_000
SETTLED_AFTER = 120
LAYOUT = Layout(1, 1)
QUEUE, JOURNAL = LAYOUT.queue(0), LAYOUT.journal(0)


class House:
    """Everything stands still between calls; time passes in `pass_time` alone."""

    def __init__(
        self,
        options: Options | None = None,
        *,
        stamps: bool = False,
        shards: int = 1,
        known: Policies | None = None,
    ) -> None:
        self.clock = VirtualClock(START)
        self.broker = MemoryBroker(self.clock, stamps=stamps)
        self.options = replace(options or Options(), shards=shards)
        self.policies = known or policies.bundled()
        """For workers that start."""
        self.log = structlog.wrap_logger(structlog.ReturnLogger())
        self.told: list[dict[str, Any]] = []
        self.worker = self._worker()
        self._stop = asyncio.Event()
        self.running: asyncio.Task[None] | None = None
        self._backend: Connection | None = None
        self._peer: object = None
        self._ids = itertools.count()

    # -- The worker

    def restart(self) -> None:
        """Start a new worker after the old one has stopped."""
        self.worker = self._worker()
        self.begin()

    def begin(self) -> None:
        """Start the worker."""
        self._stop = asyncio.Event()
        self.running = asyncio.create_task(self.worker.run(self._stop))

    async def stop(self) -> None:
        """Tell the worker to stop, and wait until it has."""
        self._stop.set()
        if self.running is not None:
            await self.running

    async def kill(self) -> None:
        """End the worker as a crash would: wherever it is; a new one has the journal alone."""
        if self.running is not None:
            self.running.cancel()
            await asyncio.gather(self.running, return_exceptions=True)
        self.worker = self._worker()

    def join(self) -> Callable[[], Awaitable[None]]:
        """Start a second worker, which stands by; returns how to stop it."""
        stop = asyncio.Event()
        running = asyncio.create_task(self._worker().run(stop))

        async def end() -> None:
            stop.set()
            await running

        return end

    def forget(self) -> None:
        """The worker has ended by itself."""
        self.running = None

    def another(self, name: str) -> Worker:
        """Return one more worker."""
        transport = MemoryTransport(self.broker)
        return Worker(transport, self.policies, self.clock, self.options, self.log, name)

    def _worker(self) -> Worker:
        return self.another("worker")

    def cut_worker(self, reason: str) -> None:
        """Drop the worker's connection, without a notice."""
        for peer in self.broker.connections:
            if peer is not self._peer:
                self.broker.cut(peer, reason)

    # -- The game backend

    async def publish(
        self,
        name: str,
        data: Mapping[str, Any],
        *,
        subject: str = "t1/1",
        seconds: float | None = None,
        key: str | None = None,
    ) -> None:
        """Publish an event stamped `seconds` after the start, now if left out."""
        stamp = self.clock.now() if seconds is None else START + from_seconds(seconds)
        event = {
            "specversion": "1.0",
            "id": f"e{next(self._ids)}",
            "source": "/engine",
            "type": f"seatwarden.{name}.v1",
            "time": to_rfc3339(stamp),
            "subject": subject,
            "data": data,
        }
        await self.publish_raw(
            json.dumps(event).encode(), key or routing_key(subject.split("/", maxsplit=1)[0])
        )

    async def publish_raw(self, body: bytes, key: str) -> None:
        """Publish bytes as they are."""
        assert self._backend is not None
        assert await self._backend.publish(Message(EVENTS, key, body)) is Published.CONFIRMED
        await settle()

    async def forge_tick(self, body: bytes) -> None:
        """Publish to the shard's queue itself what claims to be a tick."""
        assert self._backend is not None
        await self._backend.publish(Message("", QUEUE, body, kind=KIND))
        await settle()

    async def turn(self, turn_id: str = "u1", subject: str = "t1/1", **changes: Any) -> None:
        """Start a turn of 20 s for a player with money in the pot who faces a bet."""
        data = {
            "hand_id": "h1",
            "turn_id": turn_id,
            "player_id": "p1",
            "turn_seconds": 20,
            "format": "cash",
            "to_call": 100,
            "contributed": 50,
            "pots": [150],
            "big_blind": 100,
        }
        await self.publish("turn.started", {**data, **changes}, subject=subject)

    async def lose(self, session_id: str = "s1") -> None:
        """Lose the player's session."""
        await self.publish("player.disconnected", {"player_id": "p1", "session_id": session_id})

    async def listen(self) -> None:
        """Connect, and bind a queue for all that the service publishes."""
        self._backend = await MemoryTransport(self.broker).connect()
        [self._peer] = self.broker.connections
        queue = Queue("backend")
        await self.declare(common())
        await self.declare(Topology(queues=(queue,), bindings=(Binding(queue.name, DECISIONS),)))
        await self._backend.consume(queue.name, self._hear, prefetch=10_000)

    async def declare(self, topology: Topology) -> None:
        """Have something exist on the broker."""
        assert self._backend is not None
        await self._backend.declare(topology)

    def _hear(self, delivery: Delivery) -> None:
        self.told.append(json.loads(delivery.body))

    # -- What has come of it

    async def pass_time(self, seconds: float) -> None:
        """Let time pass in small steps, with all work done between them."""
        until = self.clock.now() + from_seconds(seconds)
        while self.clock.now() < until:
            self.clock.advance(min(STEP, until - self.clock.now()))
            await settle()

    def decisions(self) -> list[tuple[str, str, str, float]]:
        """Return turn, action, rule and the deadline in seconds since the start."""
        return [
            (
                event["data"]["turn_id"],
                event["data"]["action"],
                event["data"]["rule"],
                (from_rfc3339(event["data"]["deadline"]) - START) / SECOND,
            )
            for event in self.told
            if event["type"] == "seatwarden.decision.made.v1"
        ]

    def of_type(self, name: str) -> list[dict[str, Any]]:
        """Return the payloads of one type."""
        return [event["data"] for event in self.told if event["type"] == f"seatwarden.{name}.v1"]

    def dead_letters(self) -> list[Message]:
        """Return what lies in the dead letters."""
        return self.broker.messages(DEAD_LETTERS)


@asynccontextmanager
async def a_house(
    options: Options | None = None, *, stamps: bool = False, known: Policies | None = None
) -> AsyncIterator[House]:
    """A house with its worker at work; it is stopped in good order."""
    house = House(options, stamps=stamps, known=known)
    await house.listen()
    house.begin()
    await house.worker.ready.wait()
    await settle()
    yield house
    await house.stop()


async def settle() -> None:
    """Let everything that can go on without time passing go on."""
    for _ in range(SETTLED_AFTER):
        await asyncio.sleep(0)
