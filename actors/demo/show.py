"""One run of the demo from end to end: rehearse, play, compare, sum up."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from rich.console import Console
from rich.live import Live as Screen

from actors import policies
from actors.clock import Clock, SystemClock
from actors.demo import deals, pace, records, summary
from actors.demo.clock import PacedClock
from actors.demo.deals import Deals
from actors.demo.embedded import embedded
from actors.demo.engine import Engine
from actors.demo.live import Live, Watcher
from actors.demo.plain import Plain
from actors.demo.records import RecordError
from actors.demo.rehearsal import rehearse
from actors.demo.sent import Sent
from actors.demo.tally import Tally
from actors.demo.view import View
from actors.shards.shard import Shard
from actors.transport import Connection
from statecharts.instants import MILLISECOND, SECOND, from_rfc3339
from statecharts.policy import Policies

START = from_rfc3339("2026-01-01T20:00:00Z")
"""When an accelerated run begins, so that a seed always gives the same events."""
TABLES = 6
LAST_START = START + 260 * SECOND
"""From then on no table begins another of the bundled hands, which would take too long."""
SECONDS = 28
"""How long an accelerated run takes unless a speed is given."""
FRAMES_PER_SECOND = 12
_LEAD = SECOND
"""From the end of the preparations to the first event, in real time."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for."""

    seed: int
    speed: float | None = None
    tables: int | None = None
    amqp: str | None = None
    hands: Sequence[Path] = ()
    every_turn: bool = False
    record: BinaryIO | None = None


def run(wanted: Wanted, console: Console) -> bool:
    """Play, show and compare; returns whether all was decided as `simulate` decides it.

    Raises RecordError for a file of hands, TransportError.
    """
    known, dealt = policies.bundled(), _deal(wanted)
    events, seconds = _rehearsed(wanted, dealt, known)
    speed = wanted.speed or max(1.0, seconds / SECONDS)
    clock = SystemClock() if wanted.amqp else PacedClock(START, speed)
    engine = _engine(wanted, dealt, known, _soon() if wanted.amqp else START)
    tally = Tally()
    is_pretty = console.is_terminal and not console.is_dumb_terminal
    view = View(_title(wanted, dealt, clock), clock, events)
    screen = Screen(view, console=console, auto_refresh=False) if is_pretty else None
    began = time.monotonic()
    watchers = (tally, view if is_pretty else Plain(console))
    asyncio.run(_play(engine, clock, watchers, _connection(wanted.amqp, known, clock), screen))
    if wanted.record:
        wanted.record.writelines(tally.lines)
    comparison = tally.compared(known)
    summary.show(console, tally, comparison, time.monotonic() - began, is_pretty=is_pretty)
    return not comparison.differences and not tally.refused


def _title(wanted: Wanted, dealt: Deals, clock: SystemClock | PacedClock) -> str:
    how = "real time"
    if isinstance(clock, PacedClock):
        how = f"{clock.speed:.0f} times as fast as life"
    return f"seed {wanted.seed}, {len(dealt)} tables, {how}"


def _soon() -> int:
    """Return an instant a moment ahead, in whole milliseconds, which is what brokers stamp."""
    return time.time_ns() // 1_000_000 * MILLISECOND + _LEAD


def _deal(wanted: Wanted) -> Deals:
    hands = [record for path in wanted.hands for record in records.read(path)]
    if wanted.hands and not hands:
        raise RecordError("no hand with blinds in " + ", ".join(map(str, wanted.hands)))
    if wanted.every_turn:
        return deals.every_turn(hands or records.bundled())
    if hands or wanted.amqp:
        hands = hands or records.bundled()
        return deals.all_of(hands, wanted.tables or (len(hands) if wanted.amqp else TABLES))
    chance = random.Random(wanted.seed)  # noqa: S311 - it keeps no secrets
    return deals.shuffled(records.bundled(), wanted.tables or TABLES, chance)


def _engine(wanted: Wanted, dealt: Deals, known: Policies, start: int) -> Engine:
    return Engine(
        dealt,
        run=f"{start // MILLISECOND:x}" if wanted.amqp else str(wanted.seed),
        seed=wanted.seed,
        pace=pace.REAL if wanted.amqp else pace.ACCELERATED,
        policy=known.default,
        start=start,
        last_start=None if wanted.hands or wanted.amqp or wanted.every_turn else LAST_START,
    )


def _rehearsed(wanted: Wanted, dealt: Deals, known: Policies) -> tuple[int, float]:
    """Play all in virtual time, and return how many events there are, and how many seconds."""
    played = rehearse(_engine(wanted, dealt, known, START), Shard(known))
    arrivals = [one.arrival for one in played if isinstance(one, Sent)]
    return len(arrivals), (max(arrivals) - START) / SECOND


async def _play(
    engine: Engine,
    clock: SystemClock | PacedClock,
    watchers: Sequence[Watcher],
    connected: AbstractAsyncContextManager[Connection],
    screen: Screen | None,
) -> None:
    hold = clock.hold if isinstance(clock, PacedClock) else _never
    hold(engine.next())
    async with connected as connection, _shown(screen):
        await Live(engine, connection, clock, watchers, hold).run()


def _never(_: int | None) -> None:
    """Real time holds for nobody."""


@asynccontextmanager
async def _connection(amqp: str | None, known: Policies, clock: Clock) -> AsyncIterator[Connection]:
    """Connect to a broker with a running service, or to one with a worker in this process."""
    if amqp is None:
        async with embedded(known, clock) as connection:
            yield connection
        return
    from actors.rabbit import RabbitTransport  # noqa: PLC0415 - AMQP is needed here alone

    connection = await RabbitTransport(amqp, name="seatwarden demo").connect()
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def _shown(screen: Screen | None) -> AsyncIterator[None]:
    """Draw the screen many times a second, if there is one."""
    if screen is None:
        yield
        return
    with screen:
        drawing = asyncio.create_task(_draw(screen))
        try:
            yield
        finally:
            drawing.cancel()


async def _draw(screen: Screen) -> None:
    while True:
        screen.refresh()
        await asyncio.sleep(1 / FRAMES_PER_SECOND)
