"""One lease of a shard: take over; then deliveries in, steps, journal, acknowledgement, messages.

The deliveries that are there are taken as a group, stepped in order, and written to the journal as
one record.  When that is read back they are acknowledged and their messages sent.  Time comes
through the queue itself, with the tick.  All that the lease knows ends with it: who comes after,
here or elsewhere, begins from the journal.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from structlog.typing import FilteringBoundLogger

from actors.clock import Clock
from actors.journal import Journal, LeaseLost, Loss, Owner, Record
from actors.journal.collector import collector
from actors.observing.figures import Figures, Total
from actors.shards.shard import Shard
from actors.stories.audit import audit_messages
from actors.transport import Connection, ConnectionLost, Consumer, Delivery, Message, Published
from actors.work.in_force import InForce
from actors.work.intake import Intake
from actors.work.options import Options
from actors.work.outbox import Outbox
from actors.work.tasks import only
from actors.work.ticks import Ticker, is_probe, is_tick
from statecharts.instants import from_seconds
from statecharts.lines import State

MAX_TRIES = 5
"""What was tried alone in so many leases, each of which ended before its verdict, is parked."""
FIRST_AGE = 0.25
"""Seconds that a lease has to live before it tries again what was tried; doubled with each try."""
AGAIN_SECONDS = 0.05
DRAIN_SECONDS = 2.0
"""How long a lease that ends in good order waits for its messages to be confirmed."""


@dataclass(frozen=True, slots=True)
class Work:
    """What all shards of a worker share."""

    connection: Connection
    in_force: InForce
    clock: Clock
    options: Options
    log: FilteringBoundLogger
    figures: Figures
    name: str
    """The worker's."""
    trying: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the shard that tries what is under suspicion."""


class Watch:
    """Says whether a lease still holds by the clock: a silence may mean that others have it now."""

    def __init__(self, connection: Connection, seconds: float) -> None:
        """A lease is lost after `seconds` without a commit, unless the broker blocks us."""
        self._connection = connection
        self._seconds = seconds
        self._last = asyncio.get_running_loop().time()

    def committed(self) -> None:
        """Something was committed now."""
        self._last = asyncio.get_running_loop().time()

    def check(self) -> None:
        """Raise LeaseLost if it does not hold any more."""
        now = asyncio.get_running_loop().time()
        if self._connection.is_blocked:
            self._last = now
        if now - self._last > self._seconds:
            told = f"nothing was committed for {now - self._last:.1f} s"
            raise LeaseLost(Loss.NO_COMMITS, told)

    async def keep(self) -> None:
        """Check again and again."""
        while True:
            await asyncio.sleep(self._seconds / 10)
            self.check()


class Lease:
    """The loop of one shard, from its first delivery to the end of the lease."""

    def __init__(
        self,
        work: Work,
        queue: str,
        journal: Journal,
        consumer: Consumer,
        mailbox: deque[Delivery],
        woken: asyncio.Event,
    ) -> None:
        """`consumer` fills `mailbox` and sets `woken`."""
        self._work = work
        self._queue = queue
        self._journal = journal
        self._consumer = consumer
        self._mailbox = mailbox
        self._woken = woken
        self._ticks: set[asyncio.Task[Published]] = set()
        self._has_begun = False
        self._taken = 0
        """Deliveries taken since the newest tick was sent, ticks aside."""

    async def hold(
        self, release: asyncio.Event, is_live: Callable[[], None], *, test: bool
    ) -> None:
        """Work until `release` is set, then end in good order.

        `is_live` is called when the first tick is back and committed: the shard publishes, is
        confirmed, and consumes.  `test`: see `Journal.open`.  Raises LeaseLost, JournalError,
        ConnectionLost.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        restored = await self._journal.open(self._work.in_force.policies, test=test)
        with collector.rests():
            self._begin(restored)
        self._work.figures.restores.observe(loop.time() - began)
        try:
            async with asyncio.TaskGroup() as tasks:
                beside = [
                    tasks.create_task(self._watch.keep()),
                    tasks.create_task(self._keep_ticking(tasks)),
                    tasks.create_task(self._outbox.run(self._work.connection, self._watch.check)),
                    tasks.create_task(self._end_with_journal()),
                    tasks.create_task(self._wake_on(release)),
                ]
                await self._loop(tasks, release, is_live)
                await self._drain()
                for task in (*beside, *self._ticks):
                    task.cancel()
        except BaseExceptionGroup as several:
            raise only(several, (LeaseLost, ConnectionLost)) from None

    @property
    def seats(self) -> Mapping[State, int]:
        """How many seats there are, by state; none before `hold` has read the journal."""
        return self._intake.shard.states if self._has_begun else {}

    @property
    def unsent(self) -> int:
        """How many messages are not confirmed yet; 0 before `hold` has read the journal."""
        return len(self._outbox) if self._has_begun else 0

    def _begin(self, restored: Record) -> None:
        work = self._work
        options, clock = work.options, work.clock
        lag = from_seconds(options.max_clock_lag)
        shard = Shard(work.in_force.policies, max_clock_lag=lag, timelines=True)
        self._intake = Intake(shard, options, work.log, work.figures, restored, clock.now())
        self._outbox = Outbox(work.log, work.figures, clock)
        self._outbox.restore(restored.outbox, restored.sent_through)
        self._watch = Watch(work.connection, options.lease_seconds)
        self._ticker = Ticker(f"{work.name}-{self._journal.epoch}")
        self._owner = Owner(work.name, clock.now())
        self._has_begun = True

    async def _loop(
        self, tasks: asyncio.TaskGroup, release: asyncio.Event, is_live: Callable[[], None]
    ) -> None:
        clock, ticker, deadlines = self._work.clock, self._ticker, self._intake.shard.deadlines
        await self._commit([])  # proves that the epoch counts
        quarter = max(1, self._work.options.prefetch // 4)
        while not release.is_set():
            now = clock.now()
            soonest = deadlines.next()
            due = ticker.due(soonest[0] if soonest else None)
            if self._taken >= quarter and not ticker.is_awaited:
                due = now
            if now >= due and self._send_tick(tasks, now):
                continue
            await clock.wait(self._woken, due if now < due else None)
            self._woken.clear()
            if self._mailbox:
                await self._take_group()
                if ticker.has_returned:
                    is_live()
            if self._mailbox:
                self._woken.set()

    async def _take_group(self) -> None:
        """Take what is there, up to a group; acknowledge it, but for the last, when committed.

        The last stays with us: should we die, it goes to who stands by, and wakes him.
        """
        await self._outbox.room()
        group, suspects = self._next_group()
        if not suspects:
            await self._take(group)
            return
        await self._outlive(suspects)
        # One shard of a worker at a time: else what is tried here would be blamed for what ends the
        # worker there.
        async with self._work.trying:
            self._intake.try_(suspects)
            await self._commit([])
            await self._take(group)

    async def _outlive(self, suspects: list[Delivery]) -> None:
        """Wait until this lease is so old that who dies now dies of what is tried.

        A worker that dies soon after its start, whatever the cause, would else be blamed on the
        first message of its queue, each time.
        """
        if tries := max(map(self._intake.tries, suspects)):
            options, clock = self._work.options, self._work.clock
            age = min(FIRST_AGE * 2**tries, options.lease_seconds / 2)
            await clock.wait(asyncio.Event(), self._owner.since + from_seconds(age))

    async def _take(self, group: list[Delivery]) -> None:
        """Take a group, all of it under the same policies."""
        self._intake.shard.policies = self._work.in_force.policies
        now, messages = self._work.clock.now(), list[Message]()
        for delivery in group:
            if self._intake.tries(delivery) > MAX_TRIES:
                messages.extend(self._intake.park(delivery, now))
            else:
                messages.extend(self._intake.take(delivery, now, self._ticker))
        if messages or not all(map(is_probe, group)):
            await self._commit(messages)
            self._work.figures.groups.observe(len(group))
        self._taken += sum(not is_tick(delivery) for delivery in group)
        if (last := group[-1].tag) > 1:
            self._watch.check()
            await self._consumer.acknowledge(last - 1, multiple=True)

    def _next_group(self) -> tuple[list[Delivery], list[Delivery]]:
        """Return the next group, and which of it are under suspicion.

        At first such deliveries are tried together; who has been tried before, is tried alone.
        """
        group: list[Delivery] = []
        suspects: list[Delivery] = []
        while self._mailbox and len(group) < self._work.options.group:
            delivery = self._mailbox[0]
            is_suspect = self._intake.suspects(delivery)
            is_alone = is_suspect and self._intake.tries(delivery) > 0
            if is_alone and group:
                break
            group.append(self._mailbox.popleft())
            if is_suspect:
                suspects.append(delivery)
            if is_alone:
                break
        return group, suspects

    async def _commit(self, messages: list[Message]) -> None:
        """Write one record; when it is committed, its messages go out."""
        intake = self._intake
        messages.extend(audit_messages(intake.shard.take_timelines()))
        record = Record(
            intake.take_changes(),
            self._outbox.add(messages),
            self._outbox.sent_through,
            intake.take_covered(),
            intake.keep,
            intake.sign_of_life,
            dict(intake.trying),
            self._owner,
        )
        loop, figures = asyncio.get_running_loop(), self._work.figures
        began = loop.time()
        size = await self._journal.commit(self._journal.with_oldest(record, intake.shard.entries))
        self._watch.committed()
        figures.commits.observe(loop.time() - began)
        figures.totals[Total.JOURNAL_BYTES] += size
        intake.committed()
        self._outbox.committed()

    async def _drain(self) -> None:
        """Have what was decided confirmed, and say so to who comes after."""
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await self._outbox.empty()
        await self._commit([])

    def _send_tick(self, tasks: asyncio.TaskGroup, now: int) -> bool:
        """Send a tick, unless it is not known that the broker has taken the last one.

        Who sent them all the same would, when it takes them again, see no silence in the queue.
        """
        if self._ticks and self._ticker.is_awaited:
            return False
        self._taken = 0
        tick = self._ticker.next(now)
        self._intake.arrivals.tick_sent(now)
        task = tasks.create_task(self._work.connection.publish(tick.message(self._queue)))
        self._ticks.add(task)
        task.add_done_callback(self._tick_answered)
        return True

    def _tick_answered(self, task: asyncio.Task[Published]) -> None:
        self._ticks.discard(task)
        self._woken.set()

    async def _keep_ticking(self, tasks: asyncio.TaskGroup) -> None:
        """Send the regular ticks while the loop is busy, else it would look like a silence."""
        clock, never = self._work.clock, asyncio.Event()
        while True:
            await clock.wait(never, self._ticker.regular)
            if not self._send_tick(tasks, clock.now()):
                await asyncio.sleep(AGAIN_SECONDS)

    async def _end_with_journal(self) -> None:
        raise LeaseLost(*await asyncio.shield(self._journal.lost))

    async def _wake_on(self, release: asyncio.Event) -> None:
        await release.wait()
        self._woken.set()
