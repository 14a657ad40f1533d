"""The journal of a shard, as its owner writes it: the only fence between owners.

To become the owner is to write a marker; from its offset on, older owners' records are void.  A
record is committed when its owner has read it back as counting: a confirm says less, since the
broker confirms a void record too.  Nothing is ever written twice.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

from actors.broker import streams
from actors.broker.closing import close
from actors.journal import reading, records
from actors.journal.checkpoint import Checkpoint, Entry
from actors.journal.reading import JournalError
from actors.journal.records import MARKER, Record
from actors.shards.pictures import Picture
from actors.transport import (
    Connection,
    ConnectionLost,
    Consumer,
    Delivery,
    Message,
    Published,
)
from statecharts.policy import Policies

PATIENCE = 5.0
READ_AHEAD = 1000
"""How many messages the reader of the journal may hold."""
BEGIN_AGAIN_AFTER = 0.5
"""Seconds, about, between attempts to begin a journal that somebody else takes from us."""
RELEASE_EVERY = 25
"""So many it holds at the most, if it is quick: there is one a second at the least, and a broker
whose `consumer_timeout` is a minute closes the connection over one that is held for longer."""

T = TypeVar("T")


class Loss(StrEnum):
    """Why a shard is not ours any more."""

    TAKEN_OVER = "taken-over"
    NO_ANSWER = "no-answer"
    NOT_TAKEN = "not-taken"
    NO_COMMITS = "no-commits"


class LeaseLost(Exception):
    """The shard is somebody else's, or may be: nothing more may be done in its name."""

    def __init__(self, loss: Loss, told: str) -> None:
        """`told` says it in words."""
        super().__init__(told)
        self.loss = loss


class _Awaited(NamedTuple):
    """A record that has been written and not been read back: numbers of its first and last part."""

    first: int
    last: int
    read_back: asyncio.Future[int]


class Journal:
    """One epoch of one journal."""

    def __init__(
        self, connection: Connection, stream: str, nonce: str, patience: float = PATIENCE
    ) -> None:
        """`nonce` is unique to this epoch; `patience` (seconds) is for each answer of the broker.

        While the broker takes no messages from anybody, that does not count.
        """
        self.lost: asyncio.Future[tuple[Loss, str]] = asyncio.get_running_loop().create_future()
        """Done, with the reason, when a successor's marker has been read, or nothing is taken."""
        self.epoch: int | None = None
        self._connection = connection
        self._stream = stream
        self._nonce = nonce
        self._patience = patience
        self._reader: Consumer | None = None
        self._heard = 0
        self._released = 0
        self._opened: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._number = 0
        self._expected = 1
        self._first_at = 0
        self._awaited: _Awaited | None = None
        self._checkpoint = Checkpoint()
        self._keys: deque[str] = deque()
        self._publishing: set[asyncio.Task[None]] = set()

    # -- Opening

    async def open(self, known: Policies, *, test: bool = False) -> Record:
        """Become the owner, and return all that the journal says, as one record.

        `test`: have the broker confirm a message without meaning first.  Raises JournalError for a
        journal that is missing or cannot be read, LeaseLost, ConnectionLost.
        """
        if test:
            message = Message("", self._stream, b"test", kind="seatwarden.test")
            await self._until(self._send(message))
        until = await self.begin()
        last = await reading.last_counting(self._connection, self._stream, until)
        if last is None:
            raise JournalError(
                f"the journal {self._stream} has no first record: it was deleted, or never begun;"
                " `seatwarden topology check` says more"
            )
        restored = await reading.restore(self._connection, self._stream, last, known)
        self._checkpoint = restored.checkpoint
        self._keys.extend(restored.record.covered)
        return restored.record

    async def begin(self) -> int:
        """Write the marker, and return its offset when it has been read back."""
        if await self._connection.survey(self._stream) is None:
            raise JournalError(
                f"the journal {self._stream} is missing; `seatwarden topology check` says more"
            )
        self._reader = await self._connection.read(
            self._stream, self._hear, since="next", prefetch=READ_AHEAD
        )
        marker = Message(
            "", self._stream, json.dumps({"nonce": self._nonce}).encode(),
            "application/json", MARKER, {"nonce": self._nonce},
        )  # fmt: skip
        self._send(marker)
        return await self._until(self._opened)

    # -- Writing

    async def commit(self, record: Record) -> int:
        """Write a record; returns its bytes when it has been read back as counting.

        Raises LeaseLost, ConnectionLost; then it is not known whether it counts.
        """
        checkpoint = self._checkpoint
        all_keys = checkpoint.wants_all_keys
        self._keys.extend(record.covered)
        while len(self._keys) > record.keep:
            self._keys.popleft()
        entries = _entries(record.changes)
        body = records.encoded(
            replace(record, covered=tuple(self._keys)) if all_keys else record,
            checkpoint.complete_from(entries, record.sent_through, all_keys=all_keys),
            all_keys=all_keys,
        )
        assert self.epoch is not None  # noqa: S101 - it has been opened
        parts = [*records.messages(self._stream, body, self.epoch, self._number + 1)]
        self._number += len(parts)
        read_back: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._awaited = _Awaited(self._number - len(parts) + 1, self._number, read_back)
        for part in parts:
            self._send(part)
        await self._until(read_back)
        gone = _gone(record.changes)
        checkpoint.written(
            self._first_at, entries, gone,
            record.outbox[-1].number if record.outbox else 0, record.sent_through,
            all_keys=all_keys,
        )  # fmt: skip
        await self._make_room()
        return len(body)

    def with_oldest(self, record: Record, look_up: Callable[[list[Entry]], Picture]) -> Record:
        """Return a record that carries some of what was written longest ago, too."""
        oldest = self._checkpoint.oldest(_entries(record.changes))
        if not oldest:
            return record
        more, changes = look_up(oldest), record.changes
        return replace(
            record,
            changes=replace(
                changes,
                seats={**more.seats, **changes.seats},
                tables={**more.tables, **changes.tables},
            ),
        )

    async def close(self) -> None:
        """Stop reading.  What is being written may still arrive; it counts if nobody came after."""
        for task in self._publishing:
            task.cancel()
        if self._reader is not None:
            await close(self._reader)

    # -- Within

    def _hear(self, delivery: Delivery) -> None:
        self._heard = delivery.tag
        offset = delivery.offset or 0
        if delivery.kind == MARKER:
            if delivery.headers.get("nonce") == self._nonce:
                self.epoch = offset
                if not self._opened.done():
                    self._opened.set_result(offset)
            elif self.epoch is not None and not self.lost.done():
                told = "another worker has taken the shard over"
                self.lost.set_result((Loss.TAKEN_OVER, told))
            return
        place = records.place(delivery)
        if place is None or (place.epoch, place.number) != (self.epoch, self._expected):
            return
        self._expected += 1
        if self.lost.done() or self._awaited is None:
            return  # behind a successor's marker it is void
        if place.number == self._awaited.first:
            self._first_at = offset
        if place.number == self._awaited.last and not self._awaited.read_back.done():
            self._awaited.read_back.set_result(offset)

    def _send(self, message: Message) -> asyncio.Task[None]:
        task = asyncio.create_task(self._publish(message))
        self._publishing.add(task)
        task.add_done_callback(self._published)
        return task

    def _published(self, task: asyncio.Task[None]) -> None:
        self._publishing.discard(task)
        # A lost connection is told to all who wait, by itself.
        error = None if task.cancelled() else task.exception()
        if isinstance(error, JournalError) and not self.lost.done():
            self.lost.set_result((Loss.NOT_TAKEN, str(error)))

    async def _publish(self, message: Message) -> None:
        answer = await self._connection.publish(message)
        if answer is not Published.CONFIRMED:
            raise JournalError(f"the broker does not take what goes to the journal {self._stream}")

    async def _until(self, wanted: asyncio.Future[T]) -> T:
        """Wait for something; raises LeaseLost or ConnectionLost if that is over before."""
        ends: set[asyncio.Future[Any]] = {wanted, self.lost, self._connection.lost}
        done: set[asyncio.Future[Any]] = set()
        while not done:
            done, _ = await asyncio.wait(
                ends, timeout=self._patience, return_when=asyncio.FIRST_COMPLETED
            )
            if not done and not self._connection.is_blocked:
                told = f"no answer of the broker within {self._patience:g} s"
                raise LeaseLost(Loss.NO_ANSWER, told)
        if self.lost.done():
            raise LeaseLost(*self.lost.result())
        if self._connection.lost.done():
            raise ConnectionLost(self._connection.lost.result())
        return wanted.result()

    async def _make_room(self) -> None:
        if self._reader is not None and self._heard - self._released >= RELEASE_EVERY:
            self._released = self._heard
            await self._reader.acknowledge(self._heard, multiple=True)


def _entries(picture: Picture) -> dict[Entry, None]:
    return dict.fromkeys([*picture.seats, *picture.tables])


def _gone(picture: Picture) -> list[Entry]:
    return [
        *(key for key, known in picture.seats.items() if known is None),
        *(key for key, known in picture.tables.items() if known is None),
    ]


async def begin(connection: Connection, stream: str, first: Record, *, anew: bool = False) -> None:
    """Write a journal's first record, unless it has one; raises JournalError, ConnectionLost.

    `anew`: even if it has one; what it says is forgotten.
    """
    while anew or not await _has_a_record(connection, stream):
        journal = Journal(connection, stream, uuid4().hex)
        try:
            until = await journal.begin()
            if anew or await reading.last_counting(connection, stream, until) is None:
                await journal.commit(first)
        except LeaseLost:  # to somebody else, who may not come to the end of it
            await asyncio.sleep(BEGIN_AGAIN_AFTER * random.uniform(0.5, 1))  # noqa: S311 - no secret
        else:
            return
        finally:
            await journal.close()


async def _has_a_record(connection: Connection, stream: str) -> bool:
    """Look for one without taking the shard from its owner."""
    try:
        until = await streams.end_of(connection, stream)
    except streams.StreamMissing as missing:
        raise JournalError(str(missing)) from None
    return await reading.last_counting(connection, stream, until) is not None
