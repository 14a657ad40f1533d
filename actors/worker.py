"""A worker: stands in line for every shard, connects again when that is lost, stops in order."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

from structlog.typing import FilteringBoundLogger

from actors import layout
from actors.census import Census
from actors.clock import Clock
from actors.lease import Work
from actors.options import Options
from actors.station import Standing, Station
from actors.transport import CannotConnect, Connection, ConnectionLost, Transport
from statecharts.policy import Policies

FIRST_DELAY = 0.1
MAX_DELAY = 10.0


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
    ) -> None:
        """`name` tells it from the others."""
        self.ready = asyncio.Event()
        """Set while it stands in line for every shard, and each that it owns is live: it consumes,
        and is confirmed to."""
        self.counts: Counter[str] = Counter()
        """Deliveries by what became of them."""
        self.stations: list[Station] = []
        self._transport = transport
        self._policies = policies
        self._clock = clock
        self._options = options
        self._log = log
        self._name = name
        self._idle_since: float | None = None
        """When it stopped being ready, by the loop's clock."""

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set; raises GivenUp, LayoutError, TransportError."""
        self._idle_since = asyncio.get_running_loop().time()
        while not stop.is_set():
            connection = await self._connect(stop)
            if connection is None:
                break
            try:
                await self._work(connection, stop)
            except ConnectionLost as lost:
                self._log.warning("connection lost", reason=str(lost))
            finally:
                self.stations = []
                self._see_whether_ready()
                await connection.close()
        self._log.info("stopped", **self.counts)

    async def _work(self, connection: Connection, stop: asyncio.Event) -> None:
        options = self._options
        found = await layout.find_or_begin(
            connection, options.shards, options.audit_days, self._clock.now()
        )
        if found.shards != options.shards:
            self._log.warning(
                "the broker's layout counts, not the setting; `seatwarden reshard` changes it",
                shards=found.shards, setting=options.shards,
            )  # fmt: skip
        work = Work(
            connection, self._policies, self._clock, options, self._log, self.counts, self._name
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
                    tasks.create_task(self._give_up_some_time()),
                    tasks.create_task(census.run()),
                ]
                await asyncio.gather(*(tasks.create_task(one.run(stop)) for one in self.stations))
                for task in beside:
                    task.cancel()
        except BaseExceptionGroup as several:
            raise _the_one(several) from None

    def owns(self, shards: int) -> bool:
        """Say whether it owns so many shards, and all are live."""
        return sum(one.standing is Standing.LIVE for one in self.stations) == shards

    # -- Readiness

    def _see_whether_ready(self) -> None:
        standings = {station.standing for station in self.stations}
        if standings and standings <= {Standing.STANDING_BY, Standing.LIVE}:
            if not self.ready.is_set():
                self._log.info("ready")
            self.ready.set()
            self._idle_since = None
        elif self._idle_since is None:
            self._log.info("not ready")
            self.ready.clear()
            self._idle_since = asyncio.get_running_loop().time()

    def _idle_for(self) -> float:
        return asyncio.get_running_loop().time() - (self._idle_since or float("inf"))

    async def _give_up_some_time(self) -> None:
        while True:
            await asyncio.sleep(1)
            faults = [station.fault for station in self.stations if station.fault]
            if self._idle_for() > self._options.give_up_seconds:
                raise GivenUp("; ".join(faults) or "not ready for too long")

    async def _fail_when_lost(self, connection: Connection) -> None:
        raise ConnectionLost(await asyncio.shield(connection.lost))

    # -- Connecting

    async def _connect(self, stop: asyncio.Event) -> Connection | None:
        """Connect, with jittered back-off; None if told to stop meanwhile."""
        delay = FIRST_DELAY
        while not stop.is_set():
            try:
                connection = await self._transport.connect()
            except CannotConnect as error:
                left = self._options.give_up_seconds - self._idle_for()
                if left <= 0:
                    raise GivenUp(str(error)) from None
                pause = min(delay * random.uniform(0.5, 1.0), left)  # noqa: S311
                self._log.warning(
                    "cannot reach the broker", reason=str(error), again_in=round(pause, 1)
                )
                delay = min(2 * delay, MAX_DELAY)
                await _pause(pause, stop)
            else:
                self._log.info("connected", broker=connection.broker_version)
                return connection
        return None


def _the_one(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return what ended the work; the whole group if that is anything unexpected."""
    one: BaseException = several
    while isinstance(one, BaseExceptionGroup):
        one = one.exceptions[0]
    _, others = several.split((ConnectionLost, GivenUp))
    return several if others else one


async def _pause(seconds: float, stop: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return
