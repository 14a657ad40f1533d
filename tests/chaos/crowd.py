"""A game backend with many tables: says what happens there, and hears what is decided.

It does what the README asks of one: a durable queue of its own bound before the first event; the
same bytes again until the broker has confirmed them and not returned them; the order kept at each
table; a `turn.acted` for each decision.
"""

import asyncio
import itertools
import json
import random
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NamedTuple, Self

from actors.broker.slots import routing_key
from actors.broker.topology import DECISIONS, EVENTS, common
from actors.rabbit import RabbitTransport
from actors.transport import (
    Binding,
    Connection,
    Delivery,
    Message,
    Published,
    Queue,
    Topology,
    TransportError,
)
from statecharts.instants import SECOND, to_rfc3339
from tests.chaos.plans import Plan, Word, mixed

TOLD, SAID = "crowd.told", "crowd.said"
SOON = 20.0
FINISH_SECONDS = 60.0
AFTER_SECONDS = 1.5
"""So long it listens for what should not come, after all that should have."""


class Heard(NamedTuple):
    """A copy of an event as it went through the exchange."""

    body: bytes
    stamp_in_ms: int | None
    """The broker's."""
    received: int


class Copy(NamedTuple):
    """A copy of something that the service has published."""

    id: str
    body: bytes
    received: int


@dataclass
class Turn:
    """What became of one turn, as the backend knows it."""

    plan: Plan
    decisions: list[Copy] = field(default_factory=list)
    has_begun: bool = False
    has_acted: bool = False
    repeated: bool = False
    """An event of it had to be published again."""

    @property
    def is_over(self) -> bool:
        return self.has_acted or bool(self.decisions)


class Crowd:
    """All tables together, from the start of the `async with` to its end."""

    def __init__(self, *urls: str, heartbeat: int = 5) -> None:
        """`urls` are the nodes of one broker, which are tried in turn."""
        self.turns: dict[str, Turn] = {}
        self.heard: list[Heard] = []
        self.outputs: dict[str, list[Copy]] = defaultdict(list)
        """All that the service has published, by the `type` of the event."""
        self.overhears = True
        """Whether it hears the events from the exchange, with the broker's stamps."""
        self.began = 0
        """When the first `play` began, in microseconds since 1970."""
        self._transports = [RabbitTransport(url, heartbeat=heartbeat, timeout=3) for url in urls]
        self._preferred = 0
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._tasks: set[asyncio.Task[None]] = set()
        self._players: list[asyncio.Task[None]] = []
        self._seen: set[tuple[bytes, int | None]] = set()

    async def __aenter__(self) -> Self:
        connection = await self._connected()
        queues = (Queue(TOLD), Queue(SAID))
        bindings = (Binding(TOLD, DECISIONS), Binding(SAID, EVENTS))
        await connection.declare(Topology(common().exchanges, queues, bindings))
        self._begin(self._listen(TOLD, self._tell))
        self._begin(self._listen(SAID, self._overhear))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in [*self._players, *self._tasks]:
            task.cancel()
        await asyncio.gather(*self._players, *self._tasks, return_exceptions=True)
        if self._connection is not None:
            await self._connection.close()

    async def stop_overhearing(self) -> None:
        """Take for heard what was confirmed.

        The exchange returns what no queue takes, but for the queue that overhears it.
        """
        self.overhears = False
        await (await self._connected()).unbind([Binding(SAID, EVENTS)])

    # -- Playing

    def play(self, plans: Iterable[Plan]) -> None:
        """Begin to play these turns now."""
        begins = now()
        self.began = self.began or begins
        for plan in plans:
            self.turns[plan.turn] = turn = Turn(plan)
            self._players.append(asyncio.create_task(self._play(turn, begins)))

    @asynccontextmanager
    async def playing(self, turns: int, seconds: float, seed: int = 1) -> AsyncIterator[None]:
        """Have so many turns of all kinds begin in each so many seconds, until the end."""

        async def go_on() -> None:
            for number in itertools.count():
                self.play(mixed(turns, seconds, seed + number, f"{chr(97 + number % 26)}{number}-"))
                await asyncio.sleep(seconds)

        going = asyncio.create_task(go_on())
        try:
            yield
        finally:
            going.cancel()

    async def finish(self, seconds: float = FINISH_SECONDS) -> None:
        """Wait until all is said and each turn is over, at most so long; then a little more."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.gather(*self._players)
                while not all(turn.is_over for turn in self.turns.values()):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        await asyncio.sleep(AFTER_SECONDS)

    async def _play(self, turn: Turn, begins: int) -> None:
        plan = turn.plan
        previous, body = None, b""
        for number, word in enumerate(plan.words):
            at = begins + round(word.at * SECOND)
            await asyncio.sleep(max(0.0, (at - now()) / SECOND))
            if word.if_undecided and turn.decisions:
                continue
            if word is not previous:  # else the same bytes once more
                body = _event(plan, word, at, f"{plan.turn}-{number}")
            previous = word
            await self.say(turn, body)
            turn.has_begun |= word.name == "turn.started"
            turn.has_acted |= word.name == "turn.acted"

    async def say(self, turn: Turn, body: bytes) -> None:
        """Publish an event of a turn until the broker has it."""
        plan = turn.plan
        message = Message(EVENTS, routing_key(plan.table), body)
        async with self._locks[plan.table]:
            while True:
                with suppress(TransportError):
                    connection = await self._connected()
                    if await connection.publish(message) is Published.CONFIRMED:
                        if not self.overhears:
                            self.heard.append(Heard(body, None, now()))
                        return
                turn.repeated = True
                await asyncio.sleep(random.uniform(0.05, 0.15))

    def open_turns(self) -> int:
        """Return how many turns have begun and are not over."""
        return sum(turn.has_begun and not turn.is_over for turn in self.turns.values())

    # -- Hearing

    async def _listen(self, queue: str, hear: Callable[[Delivery], object]) -> None:
        while True:
            with suppress(TransportError):
                connection = await self._connected()
                arrived: asyncio.Queue[Delivery] = asyncio.Queue()
                consumer = await connection.consume(queue, arrived.put_nowait, prefetch=1000)
                while True:
                    delivery = await _next(connection, arrived)
                    hear(delivery)
                    while not arrived.empty():
                        delivery = arrived.get_nowait()
                        hear(delivery)
                    await consumer.acknowledge(delivery.tag, multiple=True)
            await asyncio.sleep(0.05)

    def _tell(self, delivery: Delivery) -> None:
        event = json.loads(delivery.body)
        copy = Copy(event["id"], delivery.body, now())
        self.outputs[event["type"].removeprefix("seatwarden.").removesuffix(".v1")].append(copy)
        if event["type"] != "seatwarden.decision.made.v1":
            return
        turn = self.turns[event["data"]["turn_id"]]
        turn.decisions.append(copy)
        if len(turn.decisions) == 1 and not turn.has_acted:
            data = {"hand_id": "h1", "turn_id": turn.plan.turn, "by": "decision"}
            body = _event(turn.plan, Word(0, "turn.acted", data), now(), f"{turn.plan.turn}-over")
            self._begin(self.say(turn, body))

    def _overhear(self, delivery: Delivery) -> None:
        stamp = delivery.headers.get("timestamp_in_ms")
        stamp = stamp if isinstance(stamp, int) else None
        if delivery.redelivered and (delivery.body, stamp) in self._seen:
            return
        self._seen.add((delivery.body, stamp))
        self.heard.append(Heard(delivery.body, stamp, now()))

    # -- The connection

    async def _connected(self) -> Connection:
        """Return the connection, a new one if it is lost; raises TransportError."""
        async with self._connecting:
            if self._connection is None or self._connection.lost.done():
                for _ in self._transports:
                    transport = self._transports[self._preferred % len(self._transports)]
                    try:
                        self._connection = await transport.connect()
                        break
                    except TransportError:
                        self._preferred += 1
                else:
                    await asyncio.sleep(0.1)
                    raise TransportError("no node takes us")
            return self._connection

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def _event(plan: Plan, word: Word, at: int, id_: str) -> bytes:
    event = {
        "specversion": "1.0",
        "id": id_,
        "source": "/gateways/chaos" if word.name.startswith("player.") else "/engines/chaos",
        "type": f"seatwarden.{word.name}.v1",
        "time": to_rfc3339(at),
        "subject": f"{plan.table}/{plan.seat}",
        "data": word.data,
    }
    return json.dumps(event).encode()


async def _next(connection: Connection, arrived: asyncio.Queue[Delivery]) -> Delivery:
    """Return the next delivery; raises TransportError when the connection is lost."""
    get = asyncio.ensure_future(arrived.get())
    try:
        ends: set[asyncio.Future[Any]] = {get, connection.lost}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if not get.done():
            raise TransportError(connection.lost.result())
        return get.result()
    finally:
        get.cancel()
