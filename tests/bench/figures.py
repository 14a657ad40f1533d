"""What a worker's counting adds to an event, and for how long a page of /metrics holds the loop.

The floor is an event that is taken: read, applied and on its way to the journal.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from itertools import islice
from statistics import median
from time import process_time

import structlog

from actors import policies
from actors.broker.slots import routing_key
from actors.broker.topology import EVENTS as EXCHANGE
from actors.clock import VirtualClock
from actors.health.backlogs import Backlogs
from actors.health.exposition import Exposition
from actors.journal import Record
from actors.memory import MemoryBroker, MemoryTransport
from actors.observing.figures import Figures
from actors.shards.pictures import Picture
from actors.shards.shard import Shard, Verdict
from actors.transport import Delivery
from actors.work.intake import Intake
from actors.work.options import Options
from actors.work.ticks import Ticker
from actors.work.worker import Worker
from statecharts.events import Event, decode
from statecharts.lines import Trigger
from statecharts.rules import Action, Rule
from tests.bench import simulation
from tests.bench.rounds import Prepare, Rounds, Run, table

EVENTS = 5_000
GROUP = 64
ROUNDS = 9
POLICIES = 12
FLOOR, COUNTED, UNCOUNTED = "floor: take it and count", "count it", "take it without counting"
LOG = structlog.wrap_logger(
    structlog.ReturnLogger(), wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR)
)


class _Uncounted(Intake):
    def _count(self, *_: object) -> None:
        pass


class _Counting:
    """Nothing but the counting."""

    def __init__(self, events: list[Event]) -> None:
        self._intake = _intake(Intake)
        self._keys = [(event.name, Verdict.APPLIED) for event in events]

    def run(self) -> None:
        intake, events = self._intake, self._intake._figures.events  # noqa: SLF001 - measured alone
        for start in range(0, len(self._keys), GROUP):
            for key in self._keys[start : start + GROUP]:
                intake._count(events, key)  # noqa: SLF001 - the same
            intake.committed()


def measure() -> str:
    """Time both."""
    return f"{_counting()}\n{_page()}"


def _intake(kind: type[Intake]) -> Intake:
    shard = Shard(policies.bundled(), timelines=True)
    # No time comes through here, and nothing is to be taken for an interruption.
    return kind(shard, Options(settle_seconds=1e9), LOG, Figures(), Record(Picture({}, {})), 0)


def _counting() -> str:
    lines = list(islice(simulation.lines(), EVENTS))
    events = [decode(line) for line in lines]
    deliveries = [
        Delivery(tag, EXCHANGE, routing_key(event.table_id), line)
        for tag, (event, line) in enumerate(zip(events, lines, strict=True), 1)
    ]

    def taking(kind: type[Intake]) -> Run:
        return partial(_take_all, _intake(kind), deliveries, [event.stamp for event in events])

    candidates: dict[str, Prepare] = {
        FLOOR: partial(taking, Intake),
        UNCOUNTED: partial(taking, _Uncounted),
        COUNTED: lambda: _Counting(events).run,
    }
    rounds = Rounds(candidates, ROUNDS)
    return table(
        f"Counting: {EVENTS:,} events in groups of {GROUP}, median of {ROUNDS} rounds",
        ("", "us/event", "x floor"),
        (
            (name, f"{rounds.seconds(name) / EVENTS * 1e6:.2f}", f"{rounds.ratio(name, FLOOR):.3f}")
            for name in candidates
        ),
    )


def _take_all(intake: Intake, deliveries: list[Delivery], stamps: list[int]) -> None:
    ticker = Ticker("bench")
    for start in range(0, len(deliveries), GROUP):
        for delivery in deliveries[start : start + GROUP]:
            intake.take(delivery, stamps[delivery.tag - 1], ticker)
        intake.take_changes()
        intake.take_covered()
        intake.shard.take_timelines()
        intake.committed()


def _page() -> str:
    pieces = asyncio.run(_pieces())
    return table(
        f"A page of /metrics with {POLICIES} policies and every label, median of {ROUNDS} rounds",
        ("", "ms"),
        (
            ("the whole page", f"{median(map(sum, pieces)) * 1e3:.2f}"),
            ("its longest piece without a pause", f"{median(map(max, pieces)) * 1e3:.2f}"),
        ),
    )


async def _pieces() -> list[list[float]]:
    """Return, for each round, the seconds of processor time of each piece of a page."""
    clock = VirtualClock()
    transport = MemoryTransport(MemoryBroker(clock))
    worker = Worker(transport, policies.bundled(), clock, Options(), LOG)
    for trigger in Trigger:
        worker.figures.events.update((trigger, verdict) for verdict in Verdict)
    for number in range(POLICIES):
        of = f"policy-{number}"
        pairs = ((rule, action) for rule in Rule for action in (Action.CHECK, Action.FOLD))
        worker.figures.decisions.update((rule, action, of) for rule, action in pairs)
    exposition = Exposition(worker, Backlogs(worker))
    rounds = []
    for _ in range(ROUNDS):
        page, taken = asyncio.ensure_future(exposition.page()), list[float]()
        while not page.done():
            began = process_time()
            await asyncio.sleep(0)
            taken.append(process_time() - began)
        rounds.append(taken)
    return rounds
