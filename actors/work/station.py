"""A worker's place in the line for one shard: it stands by, owns the shard, hands it over.

RabbitMQ serves one consumer of a shard's queue at a time, the one that registered first.  So the
first delivery says: it is your turn.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from uuid import uuid4

from actors.broker.closing import close
from actors.journal import Journal, JournalError, LeaseLost
from actors.observing.figures import Reason
from actors.transport import ConnectionLost, Consumer, Delivery, Published, TransportError
from actors.work.lease import Lease, Work
from actors.work.readiness import WELL, Standing, Trouble
from actors.work.tasks import pause_for
from actors.work.ticks import probe
from statecharts.lines import State

PROBE_EVERY = 10.0
"""Seconds between the probes of who stands by, should a wake-up have gone astray."""
SERVED_WITHIN = 0.3
"""Seconds within which the first probe comes back to who is not standing by."""
AGAIN_AFTER_LOSS = 0.5
AGAIN_AFTER_FAULT = 5.0
"""Seconds for which a shard that we cannot serve is left to others."""


class Station:
    """One shard, as one worker sees it, for the time of one connection."""

    def __init__(
        self, work: Work, shard: int, queue: str, journal: str, changed: Callable[[], None]
    ) -> None:
        """`changed` is called whenever `standing` has changed."""
        self.shard = shard
        self.standing = Standing.AWAY
        self.since = work.clock.now()
        """When it came to that, in microseconds since 1970."""
        self.fault = ""
        """Why it is failing."""
        self._log = work.log.bind(shard=shard)
        self._work = replace(work, log=self._log)
        self._queue = queue
        self._journal = journal
        self._changed = changed
        self._release = asyncio.Event()
        self._lacked_commits = False
        self._cannot_read = False
        self._mailbox: deque[Delivery] = deque()
        self._lease: Lease | None = None

    @property
    def is_owner(self) -> bool:
        """Whether the shard is ours, or about to be."""
        return self.standing in {Standing.TAKING_OVER, Standing.LIVE}

    @property
    def trouble(self) -> Trouble | None:
        """Why the worker is not ready, as far as it is this shard's affair."""
        if self.standing in WELL:
            return None
        fault = self.fault if self.standing is Standing.FAILING else ""
        return Trouble(self.shard, self.standing, self.since, fault)

    @property
    def seats(self) -> Mapping[State, int]:
        """How many seats of the shard we hold, by state."""
        return self._lease.seats if self._lease else {}

    @property
    def unsent(self) -> int:
        """How many of the shard's messages are not confirmed yet."""
        return self._lease.unsent if self._lease else 0

    async def backlog(self) -> int:
        """How many messages wait in the shard's queue, or here; raises TransportError."""
        survey = await self._work.connection.survey(self._queue)
        return (survey.messages if survey else 0) + len(self._mailbox)

    def release(self) -> None:
        """Hand the shard over, to stand by at the end of the line."""
        self._release.set()

    async def run(self, stop: asyncio.Event) -> None:
        """Stand in line until `stop` is set, then hand over; raises ConnectionLost."""
        while not stop.is_set():
            self._release = asyncio.Event()
            waiting = asyncio.ensure_future(_set_after(stop, self._release))
            try:
                pause = await self._stand()
            finally:
                waiting.cancel()
            if pause:
                await pause_for(pause, stop)

    async def _stand(self) -> float:
        """Stand in line once; returns how long to stay away from it then."""
        mailbox = self._mailbox = deque[Delivery]()
        woken = asyncio.Event()

        def put(delivery: Delivery) -> None:
            mailbox.append(delivery)
            woken.set()

        consumer = await self._work.connection.consume(
            self._queue, put, prefetch=self._work.options.prefetch
        )
        try:
            wait = SERVED_WITHIN
            while not woken.is_set() and not self._release.is_set():
                # Not waited for: who is served may be told so before the probe is confirmed.
                asking = asyncio.ensure_future(self._work.connection.publish(probe(self._queue)))
                asking.add_done_callback(_take_note)
                await _wait_for_either(woken, self._release, wait)
                if not woken.is_set():
                    self._stands(Standing.STANDING_BY)
                wait = PROBE_EVERY * random.uniform(0.5, 1)  # noqa: S311 - no secret
            if not self._release.is_set():
                return await self._own(consumer, mailbox, woken)
        finally:
            await close(consumer)
            if self.standing is not Standing.FAILING:
                self._stands(Standing.AWAY)
        return 0

    async def _own(
        self, consumer: Consumer, mailbox: deque[Delivery], woken: asyncio.Event
    ) -> float:
        self._stands(Standing.TAKING_OVER)
        work = self._work
        journal = Journal(work.connection, self._journal, uuid4().hex, work.options.lease_seconds)
        losses = work.figures.losses
        self._lease = Lease(work, self._queue, journal, consumer, mailbox, woken)
        try:
            await self._lease.hold(self._release, self._is_live, test=self._lacked_commits)
        except LeaseLost as lost:
            self._lacked_commits = True
            losses[lost.loss] += 1
            self._log.warning("lease lost", reason=str(lost))
            return AGAIN_AFTER_LOSS * random.uniform(0.5, 1)  # noqa: S311 - no secret
        except JournalError as error:
            self._cannot_read = True
            losses[Reason.JOURNAL] += 1
            return self._fails(str(error))
        except (ConnectionLost, asyncio.CancelledError):  # the worker cancels what it has lost
            losses[Reason.CONNECTION] += 1
            raise
        except TransportError as error:
            losses[Reason.BROKER] += 1
            return self._fails(str(error))
        except Exception as error:  # noqa: BLE001 - a fault of ours costs this shard's lease alone
            self._log.error("a fault of ours ended the lease", exc_info=error)
            losses[Reason.FAULT] += 1
            return self._fails("a fault of ours; the log has it")
        finally:
            self._lease = None
            await journal.close()
        self._log.info("handed over")
        return 0

    def _is_live(self) -> None:
        if self.standing is not Standing.LIVE:
            self._lacked_commits = self._cannot_read = False
            self.fault = ""
            self._log.info("owns the shard")
            self._stands(Standing.LIVE)

    def _fails(self, fault: str) -> float:
        self.fault = fault
        self._log.error("cannot serve the shard", reason=fault)
        self._stands(Standing.FAILING)
        return AGAIN_AFTER_FAULT

    def _stands(self, standing: Standing) -> None:
        """Take note; who cannot read a journal is failing until he can, standing by or not."""
        if not self._cannot_read or standing in {Standing.LIVE, Standing.FAILING}:
            if standing is not self.standing:
                self.since = self._work.clock.now()
            self.standing = standing
            self._changed()


def _take_note(asking: asyncio.Future[Published]) -> None:
    """A lost connection is told by itself."""
    if not asking.cancelled():
        asking.exception()


async def _set_after(first: asyncio.Event, second: asyncio.Event) -> None:
    await first.wait()
    second.set()


async def _wait_for_either(one: asyncio.Event, other: asyncio.Event, seconds: float) -> None:
    waits = [asyncio.ensure_future(event.wait()) for event in (one, other)]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
