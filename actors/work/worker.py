"""A worker: stands in line for every shard, connects again when that is lost, stops in order."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

from structlog.typing import FilteringBoundLogger

from actors.broker import layout
from actors.broker.layout import LayoutError
from actors.broker.streams import StreamMissing
from actors.clock import Clock
from actors.observing.figures import Figures
from actors.transport import (
    Connection,
    ConnectionLost,
    TopologyConflict,
    Transport,
    TransportError,
)
from actors.work.census import Census
from actors.work.in_force import InForce
from actors.work.lease import Work
from actors.work.options import Options
from actors.work.readiness import WELL, Readiness, Standing, of_shards
from actors.work.station import Station
from actors.work.tasks import only, pause_for, unless_stopped
from statecharts.policy import Policies

FIRST_DELAY = 0.1
MAX_DELAY = 10.0
STOP_SECONDS = 10.0
"""So long may it take to finish and to hand over; a broker that is blocked may never answer."""


class GivenUp(Exception):
    """The worker could not do its work for `give_up_seconds`; the message says why."""


class Worker:
    """One process's part in the service: it holds nothing that is not in the journals."""

    def __init__(
        self,
        transport: Transport,
        policies: Policies,
        clock: Clock,
        options: Options,
        log: FilteringBoundLogger,
        name: str = "worker",
        ready: asyncio.Event | None = None,
    ) -> None:
        """`name` tells it from the others; `ready` is an event to be used as that."""
        self.ready = ready or asyncio.Event()
        """Set while it stands in line for every shard, and each that it owns is live: it consumes,
        and is confirmed to."""
        self.figures = Figures()
        """Of all that it has done."""
        self.stations: list[Station] = []
        self._transport = transport
        self._in_force = InForce(policies)
        self._clock = clock
        self._options = options
        self._log = log
        self._name = name
        self._since = clock.now()
        """When it became ready, or stopped being so."""
        self._idle_since: float | None = None
        """When it stopped being ready, by the loop's clock."""
        self._connection: Connection | None = None
        self._is_blocked = False
        self._fault = "it has not begun to work yet"
        """Why, as far as that is known."""
        self._delay = 0.0
        """How long to wait before the next try: not at all before the first."""

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set; raises GivenUp, LayoutError, TopologyConflict."""
        self._idle_since = asyncio.get_running_loop().time()
        try:
            async with asyncio.TaskGroup() as tasks:
                beside = [
                    tasks.create_task(self._give_up_some_time()),
                    tasks.create_task(self._stop_at_last(stop)),
                ]
                await self._serve(stop)
                for task in beside:
                    task.cancel()
        except BaseExceptionGroup as several:
            raise only(several, (GivenUp, LayoutError, TopologyConflict)) from None
        self._log.info("stopped", **self.counts)

    async def _serve(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            connection, pause = None, 0.0
            try:
                connection = self._connection = await self._transport.connect()
                self._log.info("connected", broker=connection.broker_version)
                await self._work(connection, stop)
            except TopologyConflict:
                raise
            except (TransportError, StreamMissing) as error:
                self._fault = str(error)
                pause = self._delay * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
                self._delay = min(max(FIRST_DELAY, 2 * self._delay), MAX_DELAY)
                told = "cannot reach the broker" if connection is None else "connection lost"
                self._log.warning(told, reason=str(error), again_in=round(pause, 2))
            finally:
                self.stations, self._connection = [], None
                self._see_whether_ready()
                if connection is not None:
                    await connection.close()
            if not stop.is_set():
                await pause_for(pause, stop)

    async def _work(self, connection: Connection, stop: asyncio.Event) -> None:
        options = self._options
        begin = layout.find_or_begin(
            connection, options.shards, options.audit_days, self._clock.now()
        )
        found = await unless_stopped(begin, stop)
        if found is None:
            return  # nothing is owned yet, and who begins later goes on from what there is
        if found.shards != options.shards:
            self._log.warning(
                "the broker's layout counts, not the setting; `seatwarden reshard` changes it",
                shards=found.shards, setting=options.shards,
            )  # fmt: skip
        work = Work(
            connection, self._in_force, self._clock, options, self._log, self.figures, self._name
        )
        self.stations = [
            Station(work, shard, found.queue(shard), found.journal(shard), self._see_whether_ready)
            for shard in range(found.shards)
        ]
        census = Census(connection, self.stations)
        try:
            async with asyncio.TaskGroup() as tasks:
                beside = [
                    tasks.create_task(self._fail_when_lost(connection)),
                    tasks.create_task(census.run()),
                ]
                await asyncio.gather(*(tasks.create_task(one.run(stop)) for one in self.stations))
                for task in beside:
                    task.cancel()
        except BaseExceptionGroup as several:
            raise only(several, (TransportError,)) from None

    def use(self, policies: Policies) -> None:
        """Have the turns that begin from now on be under these; the open ones keep theirs."""
        self._in_force.policies = policies

    def owns(self, shards: int) -> bool:
        """Say whether it owns so many shards, and all are live."""
        return sum(one.standing is Standing.LIVE for one in self.stations) == shards

    # -- What is told

    @property
    def counts(self) -> Counter[str]:
        """Deliveries by what became of them."""
        return self.figures.summary()

    @property
    def readiness(self) -> Readiness:
        """Whether it is ready, and if not, why."""
        if self.ready.is_set():
            return Readiness(self._since, "")
        found = (station.trouble for station in self.stations)
        troubles = tuple(trouble for trouble in found if trouble is not None)
        reason = self._fault if self._is_blocked or not troubles else of_shards(troubles)
        return Readiness(self._since, reason, troubles)

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection to the broker."""
        return self._connection is not None

    @property
    def is_blocked(self) -> bool:
        """Whether the broker takes no messages, as of a second ago."""
        return self._is_blocked

    async def backlogs(self) -> dict[int, int]:
        """How many messages wait for each shard that is ours; raises TransportError."""
        return {one.shard: await one.backlog() for one in self.stations if one.is_owner}

    # -- Readiness

    def _see_whether_ready(self) -> None:
        standings = {station.standing for station in self.stations}
        is_well = standings <= WELL and not self._is_blocked
        if standings and is_well:
            if not self.ready.is_set():
                self._log.info("ready")
                self._since = self._clock.now()
            self.ready.set()
            self._idle_since, self._delay = None, 0.0
        elif self._idle_since is None:
            self._log.info("not ready")
            self.ready.clear()
            self._since = self._clock.now()
            self._idle_since = asyncio.get_running_loop().time()

    async def _give_up_some_time(self) -> None:
        loop, patience = asyncio.get_running_loop(), self._options.give_up_seconds
        while True:
            await asyncio.sleep(1)
            self._see_whether_blocked()
            since = loop.time() if self._idle_since is None else self._idle_since
            if loop.time() - since > patience:
                faults = [station.fault for station in self.stations if station.fault]
                raise GivenUp("; ".join(faults) or self._fault)

    def _see_whether_blocked(self) -> None:
        is_blocked = self._connection is not None and self._connection.is_blocked
        if is_blocked == self._is_blocked:
            return
        self._is_blocked = is_blocked
        if is_blocked:
            self._fault = "the broker takes no messages: it is short of memory or disk"
            self._log.warning(self._fault)
        else:
            self._log.info("the broker takes messages again")
        self._see_whether_ready()

    async def _stop_at_last(self, stop: asyncio.Event) -> None:
        """End what cannot be ended in good order: others find it in the journals."""
        await stop.wait()
        await asyncio.sleep(STOP_SECONDS)
        raise GivenUp(f"told to stop, but not done within {STOP_SECONDS:g} s: {self._fault}")

    async def _fail_when_lost(self, connection: Connection) -> None:
        raise ConnectionLost(await asyncio.shield(connection.lost))
