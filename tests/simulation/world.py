"""One run: a broker, workers in processes of their own, a backend, and everything going wrong.

When the faults are over the run goes on until nothing is left to be decided: that it comes to that
is part of what is checked.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, cast
from unittest import mock

from structlog.typing import FilteringBoundLogger

from actors.broker.topology import DECISIONS, EVENTS, Layout, common
from actors.memory import MemoryConnection
from actors.transport import Binding, ConnectionLost, Message, Queue, Topology
from actors.work.lease import Lease
from actors.work.ticks import KIND, PROBE
from actors.work.worker import Worker
from tests.simulation.loop import LoopClock, SimLoop, SimTask, Stuck, context_of
from tests.simulation.network import SimBroker, SimConnection, SimTransport
from tests.simulation.plan import START, Fault, Plan
from tests.simulation.traces import Traces, traced

BACKEND = "backend"
PATIENCE = 150.0
"""Seconds after the last fault within which everything must have come to rest."""
MAX_STEPS = 600_000
UNHEARD = 10.0
"""Seconds without a heartbeat, about, after which one side gives the other up."""
REPEAT_AFTER = 3.0
"""Seconds for which the backend waits for a confirm."""


class Log:
    """Keeps what is an error, and prints everything if asked to."""

    def __init__(self, world: World, process: str, *, verbose: bool) -> None:
        self._world = world
        self._process = process
        self._verbose = verbose

    def bind(self, **_: Any) -> Log:
        return self

    def debug(self, event: str, **values: Any) -> None:
        self._write("debug", event, values)

    def info(self, event: str, **values: Any) -> None:
        self._write("info", event, values)

    def warning(self, event: str, **values: Any) -> None:
        self._write("warning", event, values)

    def error(self, event: str, **values: Any) -> None:
        self._write("ERROR", event, values)
        told = f"{self._process}: {event} {values}"
        if not self._world.is_over:
            self._world.problems.append(told)

    def _write(self, level: str, event: str, values: dict[str, Any]) -> None:
        if self._verbose:
            self._world.say(f"{self._process} {level}: {event} {values or ''}")


@dataclass(slots=True)
class Process:
    """One worker's process."""

    name: str
    worker: Worker
    transport: SimTransport
    stop: asyncio.Event
    is_dead: bool = False
    task: SimTask | None = None

    @property
    def connection(self) -> SimConnection | None:
        """The connection that it has, or had last."""
        return self.transport.connection


@dataclass(slots=True)
class Ran:
    """What is left of a run, for the oracle."""

    plan: Plan
    layout: Layout
    broker: SimBroker
    traces: Traces
    problems: list[str]
    faults: Counter[str] = field(default_factory=Counter)
    digest: str = ""
    steps: int = 0
    seconds: float = 0.0


class World:
    """Everything there is in one run."""

    def __init__(self, plan: Plan, loop: SimLoop, traces: Traces, *, verbose: bool) -> None:
        self.plan = plan
        self.problems: list[str] = []
        self.faults: Counter[str] = Counter()
        self.is_over = False
        self._loop = loop
        self._traces = traces
        self._verbose = verbose
        self._chance = random.Random(f"world {plan.seed}")
        self.layout = Layout(1, plan.options.shards)
        self._clock = LoopClock(loop, START)
        self.broker = SimBroker(
            self._clock, stamps=plan.options.broker_stamps, lag=self._random(plan.lag)
        )
        if plan.apart:
            self.broker.node = lambda: self._chance.choice((0, 0, -plan.apart))
        self._processes: dict[int, Process] = {}
        self._count = 0
        self._connecting: asyncio.Task[MemoryConnection] | None = None
        self._unconfirmed = len(plan.words)
        self._busy: set[asyncio.Task[None]] = set()

    def say(self, what: str) -> None:
        """Print a line with the time."""
        if self._verbose:
            print(f"{self._loop.time():10.6f} {what}")  # noqa: T201

    # -- The whole run

    async def run(self) -> None:
        """Live through everything."""
        connection = await self._backend()
        queue = Queue(BACKEND)
        await connection.declare(common())
        await connection.declare(Topology(queues=(queue,), bindings=(Binding(BACKEND, DECISIONS),)))
        for slot in range(self.plan.workers):
            self._later(self._start(slot, self._chance.uniform(0, 0.5)))
        for word in self.plan.words:
            self._later(self._publish(word.at, Message(EVENTS, word.key, word.body)))
        for fault in self.plan.faults:
            self._later(self._go_wrong(fault))
        while self._busy:
            await asyncio.wait(self._busy)
        self.say("the faults are over")
        self._loop.at_step.clear()
        self._traces.on_write.clear()
        self._traces.on_decide.clear()
        for slot in range(self.plan.workers):
            process = self._processes.get(slot)
            if process is None or process.is_dead or process.stop.is_set():
                await self._start(slot, 0)
        await self._rest()
        if self.plan.ends_in_order:
            await self._end_in_order()
        self.is_over = True

    async def _rest(self) -> None:
        until = self._loop.time() + PATIENCE
        while left := self._unrest():
            if self._loop.time() > until:
                self.problems.append(f"never comes to rest: {left}")
                return
            await asyncio.sleep(0.25)

    def _unrest(self) -> list[str]:
        left = [f"{self._unconfirmed} words unconfirmed"] if self._unconfirmed else []
        for shard in range(self.layout.shards):
            lease = self._owner(shard)
            if lease is None:
                left.append(f"shard {shard} without an owner")
                continue
            waiting = [
                message
                for message in self.broker.messages(self.layout.queue(shard))
                if message.kind not in {KIND, PROBE}
            ]
            outbox = lease._outbox
            if waiting:
                left.append(f"shard {shard}: {len(waiting)} messages in the queue")
            if lease._intake.shard.deadlines.next():
                left.append(f"shard {shard}: open deadlines")
            if outbox.sent_through != outbox._last:
                left.append(f"shard {shard}: unsent messages")
            if not lease._ticker.has_returned:
                left.append(f"shard {shard}: no tick has returned")
        return left

    def _owner(self, shard: int) -> Lease | None:
        leases = self._traces.leases.get(self.layout.journal(shard), [])
        alive = {one.name: one for one in self._processes.values() if not one.is_dead}
        found = [
            (lease._journal.epoch or 0, lease)
            for lease, process in leases
            if process in alive and not lease._journal.lost.done()
            and lease._work.connection is alive[process].connection
            and not lease._work.connection.lost.done()
        ]  # fmt: skip
        return max(found, key=lambda one: one[0])[1] if found else None

    async def _end_in_order(self) -> None:
        for process in self._processes.values():
            process.stop.set()
        tasks = [one.task for one in self._processes.values() if one.task]
        _, pending = await asyncio.wait(tasks, timeout=30)
        if pending:
            self.problems.append("a worker does not stop when told to")

    # -- Workers

    async def _start(self, slot: int, after: float) -> None:
        await asyncio.sleep(after)
        before = self._processes.get(slot)
        if before is not None and not before.is_dead and not before.stop.is_set():
            return  # another fault has had it started already
        self._count += 1
        name = f"w{slot}.{self._count}"
        transport = SimTransport(self.broker, self._latency(), name)
        clock = LoopClock(self._loop, START, self.plan.ahead[slot])
        log = cast("FilteringBoundLogger", Log(self, name, verbose=self._verbose))
        context = context_of(name)
        worker = context.run(
            Worker, transport, self.plan.policies, clock, self.plan.options, log, name
        )
        process = Process(name, worker, transport, asyncio.Event())
        self._processes[slot] = process
        self.say(f"{name} starts")
        process.task = self._loop.create_task(self._work(process), context=context)

    async def _work(self, process: Process) -> None:
        try:
            await process.worker.run(process.stop)
        except Exception as error:  # noqa: BLE001 - whatever ends a worker is of interest
            if not self.is_over:
                self.problems.append(f"{process.name} has ended: {error!r}")

    def _latency(self) -> Callable[[], float] | None:
        return self._random(self.plan.latency)

    def _random(self, bounds: tuple[float, float]) -> Callable[[], float] | None:
        return (lambda: self._chance.uniform(*bounds)) if bounds[1] else None

    def _kill(self, process: Process) -> None:
        if process.is_dead:
            return
        self.say(f"{process.name} is killed")
        process.is_dead = True
        self._loop.freeze(process.name)
        self._loop.at_step.pop(process.name, None)
        if process.connection is not None:
            process.connection.sever(deliver_sent=self._chance.random() < 0.5)

    async def _bury(self, slot: int, process: Process) -> None:
        """Have the broker notice that a process is gone, and start another."""
        noticed, replaced = (self._chance.choice((0.0, 0.2, 2.0, 9.0)) for _ in range(2))
        await asyncio.sleep(min(noticed, replaced))
        if noticed <= replaced:
            self._cut(process, "the broker noticed that it is gone")
            await self._start(slot, replaced - noticed)
        else:
            await self._start(slot, 0)
            await asyncio.sleep(noticed - replaced)
            self._cut(process, "the broker noticed that it is gone")

    def _cut(self, process: Process, reason: str, connection: SimConnection | None = None) -> None:
        connection = connection or process.connection
        if connection is not None:
            self.broker.cut(connection, reason)

    # -- Faults

    async def _go_wrong(self, fault: Fault) -> None:
        await asyncio.sleep(fault.at)
        self.say(f"fault: {fault}")
        self.faults[fault.kind] += 1
        if fault.kind in _OF_THE_BROKER:
            begin, end = _OF_THE_BROKER[fault.kind]
            begin(self.broker)
            await asyncio.sleep(fault.seconds)
            end(self.broker)
            if fault.kind == "lose confirms":  # a broker that has lost them has lost connections
                for one in self._processes.values():
                    self._cut(one, "the broker lost its memory")
            return
        if fault.kind in _OF_A_QUEUE:
            try:
                _OF_A_QUEUE[fault.kind](self.broker, self.layout.queue(fault.target))
            except KeyError:
                self.say("there is no such queue yet")
            return
        process = self._processes.get(fault.target)
        if fault.kind == "overtake":
            process = self._process_of(fault.target)
        if process is None or process.is_dead or process.stop.is_set():
            return
        await _OF_A_WORKER[fault.kind](self, process, fault)

    def _process_of(self, shard: int) -> Process | None:
        """Return the process that owns a shard."""
        lease = self._owner(shard)
        return next(
            (
                one
                for one in self._processes.values()
                if lease is not None and one.connection is lease._work.connection
            ),
            None,
        )

    async def _overtake(self, process: Process, fault: Fault) -> None:
        """Freeze an owner at a step, have the broker make another one active, and wake it."""
        if not await self._at_moment(process, fault, lambda: self._loop.freeze(process.name)):
            return
        if self._chance.random() < 0.5:
            self._later(self._lag(process, fault))
        self.broker.usurp(self.layout.queue(fault.target))
        await asyncio.sleep(min(fault.seconds, 4.0) * self._chance.choice((0.01, 0.1, 1)))
        if not process.is_dead:
            self._loop.thaw(process.name)

    async def _lag(self, process: Process, fault: Fault) -> None:
        """Have the broker show a process late what stands in streams, as a slow replica does."""
        if process.connection is None:
            return
        ways = list(self.broker.readers[process.connection])
        for way in ways:
            way.stall()
        await asyncio.sleep(min(fault.seconds, 6.0))
        for way in ways:
            way.go_on()

    async def _crash(self, process: Process, fault: Fault) -> None:
        self._kill(process)
        await self._bury(fault.target, process)

    async def _crash_at_step(self, process: Process, fault: Fault) -> None:
        if await self._at_moment(process, fault, lambda: self._kill(process)):
            await self._bury(fault.target, process)

    async def _at_moment(self, process: Process, fault: Fault, act: Callable[[], None]) -> bool:
        """Do something after some steps of a process; False if it does not come to that.

        Mostly they count from when it begins to write what events have led to, or a decision.
        """
        name, done = process.name, asyncio.Event()

        def act_now() -> None:
            act()
            done.set()

        def count(steps: int) -> None:
            self._loop.at_step[name] = (self._loop.steps[name] + steps, act_now)

        if fault.steps % 3 == 1:
            self._traces.on_write[name] = lambda: count(fault.steps // 3 % 25)
        elif fault.steps % 3 == 2:
            self._traces.on_decide[name] = lambda: count(fault.steps // 3 % 25)
        else:
            count(fault.steps)
        try:
            async with asyncio.timeout(15):
                await done.wait()
        except TimeoutError:
            self._loop.at_step.pop(name, None)
            self._traces.on_write.pop(name, None)
            self._traces.on_decide.pop(name, None)
        return done.is_set()

    async def _freeze(self, process: Process, fault: Fault) -> None:
        self._loop.freeze(process.name)
        connection = process.connection
        unheard = UNHEARD * self._chance.uniform(0.8, 1.2)
        await asyncio.sleep(min(unheard, fault.seconds))
        if fault.seconds > unheard:
            self._cut(process, "the broker missed its heartbeats", connection)
            await asyncio.sleep(fault.seconds - unheard)
        if not process.is_dead:
            self.say(f"{process.name} wakes")
            self._loop.thaw(process.name)

    async def _split(self, process: Process, fault: Fault) -> None:
        transport, connection = process.transport, process.connection
        transport.is_split = True
        if connection is not None:
            connection.stall()
        self._later(self._give_up(process, connection, fault.seconds))
        unheard = UNHEARD * self._chance.uniform(0.8, 1.2)
        await asyncio.sleep(fault.seconds)
        transport.is_split = False
        if connection is not None:
            connection.go_on()
            if fault.seconds > 0.6 * UNHEARD:
                await asyncio.sleep(max(0.0, unheard - fault.seconds))
                self._cut(process, "the broker missed its heartbeats", connection)

    async def _give_up(
        self, process: Process, connection: SimConnection | None, seconds: float
    ) -> None:
        unheard = UNHEARD * self._chance.uniform(0.6, 1.2)
        if connection is None or seconds < unheard:
            return
        await asyncio.sleep(unheard)
        context = context_of(process.name)
        self._loop.call_soon(connection.give_up, "missed heartbeats", context=context)

    async def _cut_off(self, process: Process, fault: Fault) -> None:
        await self._at_moment(process, fault, lambda: self._cut(process, "cut"))

    async def _hand_over(self, process: Process, fault: Fault) -> None:
        process.stop.set()
        assert process.task is not None
        await asyncio.wait([process.task], timeout=6)
        if not process.task.done():
            self._kill(process)
            await self._bury(fault.target, process)
        else:
            await self._start(fault.target, min(fault.seconds, 3.0))

    # -- The backend

    def _later(self, coroutine: Any) -> None:
        task: asyncio.Task[None] = self._loop.create_task(coroutine)
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)
        task.add_done_callback(self._raise)

    def _raise(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            self.problems.append(f"the simulation itself: {error!r}")

    async def _backend(self) -> MemoryConnection:
        """Return the backend's connection, a new one if it is lost."""
        if self._connecting is not None and self._connecting.done():
            connecting = self._connecting
            if connecting.exception() or connecting.result().lost.done():
                self._connecting = None
        if self._connecting is None:
            transport = SimTransport(self.broker, self._latency(), "")
            self._connecting = self._loop.create_task(transport.connect())
        return await asyncio.shield(self._connecting)

    async def _publish(self, at: float, message: Message) -> None:
        """Publish until it is confirmed."""
        await asyncio.sleep(at - self._loop.time())
        while True:
            try:
                connection = await self._backend()
                async with asyncio.timeout(REPEAT_AFTER):
                    await connection.publish(message)
            except (ConnectionLost, TimeoutError):
                await asyncio.sleep(self._chance.uniform(0.05, 0.5))
            except Exception:  # noqa: BLE001 - it cannot connect
                await asyncio.sleep(0.5)
            else:
                self._unconfirmed -= 1
                return


_OF_THE_BROKER: dict[str, tuple[Callable[[SimBroker], None], Callable[[SimBroker], None]]] = {
    "hold confirms": (SimBroker.hold_confirms, SimBroker.release_confirms),
    "lose confirms": (SimBroker.lose_confirms, SimBroker.release_confirms),
    "block": (SimBroker.block, SimBroker.unblock),
    "stop the broker": (SimBroker.stop, SimBroker.start),
}
_OF_A_QUEUE: dict[str, Callable[[SimBroker, str], None]] = {
    "usurp": SimBroker.usurp,
    "return unnoticed": SimBroker.return_unnoticed,
}
_OF_A_WORKER: dict[str, Callable[[World, Process, Fault], Any]] = {
    "crash": World._crash,
    "crash at a step": World._crash_at_step,
    "freeze": World._freeze,
    "split": World._split,
    "cut": World._cut_off,
    "hand over": World._hand_over,
    "overtake": World._overtake,
    "lag": World._lag,
}


def run(plan: Plan, *, verbose: bool = False) -> Ran:
    """Run a plan; the same plan gives the same run, callback by callback."""
    ids = random.Random(f"ids {plan.seed}")
    state = random.getstate()
    random.seed(plan.seed)
    loop = SimLoop(random.Random(f"loop {plan.seed}"), in_order=plan.in_order, max_steps=MAX_STEPS)
    with ExitStack() as stack:
        traces = stack.enter_context(traced())
        for module in ("actors.work.station", "actors.broker.streams", "actors.journal.journal"):
            stack.enter_context(mock.patch(f"{module}.uuid4", side_effect=lambda: _a_uuid(ids)))
        for name, size in plan.sizes.items():
            stack.enter_context(mock.patch(name, size))
        try:
            world = World(plan, loop, traces, verbose=verbose)
            try:
                loop.run_until_complete(world.run())
            except Stuck as stuck:
                world.problems.append(f"{stuck}: {world._unrest()}")
            ran = Ran(
                plan, world.layout, world.broker, traces, world.problems + loop.problems,
                world.faults, "", loop.total, loop.time(),
            )  # fmt: skip
            ran.digest = _digest(ran)
            world.is_over = True
            loop.bury()
        finally:
            loop.close()
            random.setstate(state)
    return ran


def _a_uuid(chance: random.Random) -> uuid.UUID:
    return uuid.UUID(int=chance.getrandbits(128))


def _digest(ran: Ran) -> str:
    """Return a digest of the run: its steps, its end, and what every queue has taken and when."""
    told = hashlib.blake2b(digest_size=8)
    told.update(f"{ran.steps} {ran.seconds:.6f}".encode())
    for name, taken in sorted(ran.broker.history.items()):
        for one in taken:
            told.update(f"{name} {one.at} {one.message.routing_key}".encode())
            told.update(one.message.body)
    return told.hexdigest()
