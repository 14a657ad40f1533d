"""The demo on a broker: embedded with accelerated time, and on RabbitMQ in real time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from actors import policies
from actors.broker.topology import DECISIONS, EVENTS
from actors.clock import Clock, SystemClock
from actors.demo import deals, pace, records
from actors.demo.clock import PacedClock
from actors.demo.embedded import embedded
from actors.demo.engine import Engine
from actors.demo.live import Live, NobodyListens
from actors.demo.pace import Pace
from actors.demo.rehearsal import rehearse
from actors.demo.sent import Sent
from actors.demo.show import START
from actors.demo.tally import Tally
from actors.logs import make_log
from actors.memory import MemoryBroker, MemoryTransport
from actors.rabbit import RabbitTransport
from actors.shards.shard import Shard
from actors.transport import Binding, ConnectionLost, Exchange, Message, Queue, Topology
from actors.work.options import Options
from actors.work.worker import Worker
from statecharts.instants import MILLISECOND, SECOND
from statecharts.ladder import GraceStep
from statecharts.lines import Trigger
from statecharts.policy import Policies, Policy
from tests.conftest import Broker

KNOWN = policies.bundled()
RECORDS = {record.name: record for record in records.bundled()}
A_FEW = deals.all_of(
    [RECORDS[name] for name in ("made 4", "made 9", "real 1", "crazy_pineapple 2")], 4
)


def engine(
    dealt: deals.Deals = A_FEW,
    start: int = START,
    pace_: Pace = pace.ACCELERATED,
    policy: Policy = KNOWN.default,
) -> Engine:
    return Engine(dealt, run="test", seed=3, pace=pace_, policy=policy, start=start)


async def play_embedded(speed: float) -> Tally:
    one, tally, clock = engine(), Tally(), PacedClock(START, speed)
    clock.hold(one.next())
    async with embedded(KNOWN, clock) as connection:
        await Live(one, connection, clock, [tally], clock.hold).run()
    return tally


@pytest.mark.parametrize("speed", [100, 400])
async def test_the_embedded_run_is_the_rehearsed_one_at_any_speed(speed: float) -> None:
    rehearsed = Tally()
    for each in rehearse(engine(), Shard(KNOWN)):
        if isinstance(each, Sent):
            rehearsed.sent(each)
        else:
            rehearsed.received(each.cloudevent())
    tally = await play_embedded(speed)
    assert tally.lines == rehearsed.lines
    assert len(tally.decisions) == len(rehearsed.decisions) > 0
    comparison = tally.compared(KNOWN)
    assert (comparison.differences, comparison.gap_ms) == ([], 0)


class Pretender:
    """A service of a test: decides at once, and always the same, whatever is asked."""

    def __init__(self, broker: MemoryBroker, answer: Mapping[str, Any] | None) -> None:
        self._transport = MemoryTransport(broker)
        self._answer = answer
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        self._connection = await self._transport.connect()
        await self._connection.declare(
            Topology(
                exchanges=(Exchange(EVENTS), Exchange(DECISIONS)),
                queues=(Queue("pretender"),),
                bindings=(Binding("pretender", EVENTS),),
            )
        )
        await self._connection.consume("pretender", self._take, prefetch=0)

    def _take(self, delivery: Any) -> None:
        event = json.loads(delivery.body)
        if self._answer is None or event["type"] != f"seatwarden.{Trigger.TURN_STARTED}.v1":
            return
        table, _, seat = event["subject"].partition("/")
        data = {
            "table_id": table,
            "seat": int(seat),
            "turn_id": event["data"]["turn_id"],
            "deadline": event["time"],
            **self._answer,
        }
        decision = {**event, "type": "seatwarden.decision.made.v1", "data": data}
        message = Message(DECISIONS, "decision.made.x.1", json.dumps(decision).encode())
        task = asyncio.ensure_future(self._connection.publish(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def play_with(answer: Mapping[str, Any] | None) -> tuple[Tally, Engine]:
    one, tally, clock = engine(), Tally(), PacedClock(START, 5000)
    broker = MemoryBroker(clock)
    pretender = Pretender(broker, answer)
    await pretender.start()
    connection = await MemoryTransport(broker).connect()
    clock.hold(one.next())
    await Live(one, connection, clock, [tally], clock.hold).run()
    return tally, one


async def test_what_simulate_decides_otherwise_is_told() -> None:
    tally, _ = await play_with({"action": "fold", "rule": "grace-expired"})
    differences = tally.compared(KNOWN).differences
    assert differences
    assert all(difference.endswith("only the service decides") for difference in differences)


async def test_a_service_that_says_nothing_is_told_and_ends_the_demo_all_the_same() -> None:
    tally, _ = await play_with(None)
    differences = tally.compared(KNOWN).differences
    assert differences
    assert all("the service decides nothing" in difference for difference in differences)


async def test_decisions_about_other_tables_are_let_pass() -> None:
    elsewhere = {"table_id": "elsewhere", "action": "fold", "rule": "grace-expired"}
    tally, _ = await play_with(elsewhere)
    assert not tally.decisions


async def test_without_a_service_the_demo_says_what_to_run() -> None:
    clock = PacedClock(START, 5000)
    connection = await MemoryTransport(MemoryBroker(clock)).connect()
    with pytest.raises(NobodyListens, match="seatwarden run"):
        await Live(engine(), connection, clock, [], clock.hold).run()


async def test_a_lost_connection_ends_the_demo_even_while_it_waits() -> None:
    clock = PacedClock(START, 1)
    broker = MemoryBroker(clock)
    await Pretender(broker, None).start()
    connection = await MemoryTransport(broker).connect()
    asyncio.get_running_loop().call_later(0.1, broker.stop)
    with pytest.raises(ConnectionLost):
        await Live(engine(), connection, clock, [], clock.hold).run()


async def test_a_paced_clock_waits_for_what_is_held() -> None:
    clock = PacedClock(START, 1000)
    clock.hold(START + SECOND)
    await asyncio.sleep(0.01)
    for _ in range(10):
        clock.now()
        await asyncio.sleep(0.002)
    assert clock.now() == START + SECOND
    clock.hold(None)
    await clock.wait(asyncio.Event(), START + 2 * SECOND)
    assert clock.now() >= START + 2 * SECOND


async def test_a_paced_clock_loses_no_deadline_when_the_process_stands_still() -> None:
    clock = PacedClock(START, 1000)
    await asyncio.sleep(0.05)  # 50 s of its time, at which nobody looks
    assert clock.now() <= START + SECOND


QUICK = Policy(name="quick", buffer_seconds=3, grace=(GraceStep(seconds=3),))
"""As adda52, but for a grace that a test can wait for."""


async def test_on_rabbitmq_the_decisions_are_those_of_simulate(broker: Broker) -> None:
    known = Policies({**KNOWN.by_name, QUICK.name: QUICK}, KNOWN.default.name)
    hands = [record for record in RECORDS.values() if record.name.startswith("made")]
    clock: Clock = SystemClock()
    stamps = broker.node.version.startswith("4.")
    worker = Worker(
        RabbitTransport(broker.url),
        known,
        clock,
        Options(broker_stamps=stamps),
        make_log("json", "error"),
    )
    stop, tally = asyncio.Event(), Tally()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(worker.run(stop))
        await worker.ready.wait()
        connection = await RabbitTransport(broker.url).connect()
        start = clock.now() // MILLISECOND * MILLISECOND + SECOND
        one = engine(deals.every_turn(hands), start, pace.REAL, QUICK)
        await Live(one, connection, clock, [tally]).run()
        await connection.close()
        stop.set()
    assert tally.turns == 55
    assert len(tally.decisions) > 20
    comparison = tally.compared(known)
    assert (comparison.differences, comparison.gap_ms) == ([], 0)
