"""One connection's time with a shard: deliveries in, steps, journal, messages out, all confirmed.

The deliveries that are there are taken as a group, stepped in order, written to the journal as one
record, their messages sent and confirmed, and only then acknowledged.  Time comes through the queue
itself, with the tick.  When the connection goes, all this ends; shard, outbox and journal live on
in the next lease.
"""

from __future__ import annotations

import asyncio
from collections import deque

from actors.clock import Clock
from actors.intake import Intake
from actors.journal import Journal, Record
from actors.options import Options
from actors.outbox import Outbox
from actors.ticks import Ticker
from actors.transport import Connection, ConnectionLost, Delivery, Message, Published


class Lease:
    """The loop of one shard on one connection."""

    def __init__(
        self,
        connection: Connection,
        queue: str,
        intake: Intake,
        outbox: Outbox,
        journal: Journal,
        clock: Clock,
        options: Options,
    ) -> None:
        """Nothing is consumed before `hold`."""
        self._connection = connection
        self._queue = queue
        self._intake = intake
        self._outbox = outbox
        self._journal = journal
        self._clock = clock
        self._options = options
        self._mailbox: deque[Delivery] = deque()
        self._woken = asyncio.Event()
        self._ticker = Ticker(f"{clock.now()}")
        self._has_begun = False
        """A message has come on this connection: who stands by gets none."""
        self._ticks: set[asyncio.Task[Published]] = set()

    async def hold(self, stop: asyncio.Event, ready: asyncio.Event) -> None:
        """Work until `stop` is set, then finish what has been taken; raises ConnectionLost.

        `ready` is set when the first tick is back: the shard publishes, is confirmed, and consumes.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                beside = [
                    tasks.create_task(self._outbox.resend(self._connection)),
                    tasks.create_task(self._fail_when_lost()),
                    tasks.create_task(self._wake_on(stop)),
                ]
                await self._loop(tasks, stop, ready)
                for task in (*beside, *self._ticks):
                    task.cancel()
        except* ConnectionLost as lost:
            raise ConnectionLost(str(lost.exceptions[0])) from None

    async def _loop(
        self, tasks: asyncio.TaskGroup, stop: asyncio.Event, ready: asyncio.Event
    ) -> None:
        intake, ticker = self._intake, self._ticker
        intake.arrivals.begin()
        await self._finish([])
        consumer = await self._connection.consume(
            self._queue, self._put, prefetch=self._options.prefetch
        )
        while not stop.is_set():
            now = self._clock.now()
            soonest = intake.shard.deadlines.next()
            due = ticker.due(soonest[0] if soonest else None)
            if now >= due:
                self._send_tick(tasks, now)
                continue
            await self._clock.wait(self._woken, due)
            self._woken.clear()
            if self._mailbox:
                if not self._has_begun:
                    self._has_begun = True
                    ticker.hurry()
                last = await self._take_group()
                await consumer.acknowledge(last.tag, multiple=True)
            if ticker.has_returned:
                ready.set()

    async def _take_group(self) -> Delivery:
        """Take what is there, up to a group, and return the last of it when all is confirmed."""
        now = self._clock.now()
        size = min(len(self._mailbox), self._options.group)
        group = [self._mailbox.popleft() for _ in range(size)]
        messages = self._intake.notice_interruption(now)
        for delivery in group:
            messages.extend(self._intake.take(delivery, now, self._ticker))
        if self._mailbox:
            self._woken.set()
        await self._finish(messages)
        return group[-1]

    async def _finish(self, messages: list[Message]) -> None:
        """Write one record, and have its messages confirmed."""
        await self._journal.commit(
            Record(
                self._intake.shard.take_changes(),
                self._outbox.add(messages),
                self._intake.take_covered(),
                self._outbox.sent_through,
                self._intake.sign_of_life,
            )
        )
        await self._outbox.send(self._connection)

    def _send_tick(self, tasks: asyncio.TaskGroup, now: int) -> None:
        tick = self._ticker.next(now)
        self._intake.arrivals.tick_sent(now)
        task = tasks.create_task(self._connection.publish(tick.message(self._queue)))
        self._ticks.add(task)
        task.add_done_callback(self._ticks.discard)

    def _put(self, delivery: Delivery) -> None:
        self._mailbox.append(delivery)
        self._woken.set()

    async def _fail_when_lost(self) -> None:
        raise ConnectionLost(await asyncio.shield(self._connection.lost))

    async def _wake_on(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._woken.set()
