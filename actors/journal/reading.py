"""Reading a journal back: which records count, where the last of them is, what they add up to.

What counts (the only fence there is): a marker opens an epoch, which is its offset.  A part counts
if its epoch is that of the newest marker before it and its number is the next one.  So what an
owner writes behind the marker of its successor is void, whatever the broker has confirmed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, NamedTuple

from actors.broker import streams
from actors.journal import records
from actors.journal.checkpoint import Checkpoint
from actors.journal.collector import collector
from actors.journal.records import MARKER, Outgoing, Owner, Place, Record
from actors.shards import pictures
from actors.transport import Connection, Delivery
from statecharts.policy import Policies
from statecharts.seat import SnapshotError

FIRST_WINDOW = 64
YIELD_EVERY = 200
"""Seats: so often restoring lets others go on."""
MORE = "; a newer version may read it, `seatwarden topology apply --begin-anew` gives it up"


class JournalError(Exception):
    """A journal that cannot be used; the message says which, why, and what to do."""


class Found(NamedTuple):
    """A whole record that counts, with the offsets of its first and last part."""

    first: int
    last: int
    epoch: int
    number: int
    """Of its last part."""
    body: bytes


class Counting:
    """Follows a journal forward and says which records count.

    Begun in the middle of an epoch, it cannot know whether the first record that it sees counts:
    that is proven by the next one of the same epoch, since an owner begins it only when it has read
    the one before as counting.
    """

    def __init__(self, *, proven: bool = False) -> None:
        """`proven`: the first record is known to count."""
        self._epoch = -1
        self._since: int | None = None
        """The offset of the first message: only before it may a marker stand that is not seen."""
        self._next = 0
        self._proven = proven
        self._parts: list[Delivery] = []
        self._waiting: list[Found] = []
        """Whole records that are not proven yet."""

    def hear(self, delivery: Delivery) -> list[Found]:
        """Take the next message; returns the records that now are known to count, in order."""
        if delivery.kind == MARKER:
            self._since = self._since or 0
            self._begin(delivery.offset or 0, 1)
            self._proven = True
            return []
        place = records.place(delivery)
        if self._since is None:
            self._since = delivery.offset or 0
        if place is None or place.epoch < self._epoch:
            return []
        if place.epoch > self._epoch:
            if place.epoch >= self._since:
                return []  # no marker stands there: whoever wrote this is no owner
            self._begin(place.epoch, place.number)
        elif place.number == self._next and place.part == 0:
            self._proven = True
        if place.number != self._next:
            return []
        self._next += 1
        return self._take(place, delivery)

    def _begin(self, epoch: int, number: int) -> None:
        self._epoch, self._next = epoch, number
        self._parts, self._waiting = [], []

    def _take(self, place: Place, delivery: Delivery) -> list[Found]:
        if place.part == len(self._parts):  # else the record's beginning has not been read
            self._parts.append(delivery)
        if not place.more:
            if self._parts and place.part == len(self._parts) - 1:
                self._waiting.append(_found(place, self._parts))
            self._parts = []
        counted: list[Found] = []
        if self._proven:
            counted, self._waiting = self._waiting, []
        return counted


def _found(last: Place, parts: list[Delivery]) -> Found:
    offsets = [part.offset or 0 for part in parts]
    body = b"".join(part.body for part in parts)
    return Found(offsets[0], offsets[-1], last.epoch, last.number, body)


async def last_counting(connection: Connection, stream: str, until: int) -> Found | None:
    """Return the last record before an offset that counts; None if there is none at all.

    Reads backwards in windows of doubling size.
    """
    window = FIRST_WINDOW
    while True:
        since = max(0, until - window)
        counting, last = Counting(), None
        async with streams.messages(connection, stream, since, until) as read:
            async for delivery in read:
                for found in counting.hear(delivery):
                    last = found
        if last is not None or since == 0:
            return last
        window *= 2


class Restored(NamedTuple):
    """A journal as one record, and what it takes to go on with it."""

    record: Record
    checkpoint: Checkpoint
    number: int
    """Of its last part that counts."""
    epoch: int


async def restore(connection: Connection, stream: str, last: Found, known: Policies) -> Restored:
    """Add the records up to the last one up; raises JournalError for what cannot be read."""
    try:
        with collector.rests():
            return await _restore(connection, stream, last, known)
    except SnapshotError as error:
        raise JournalError(f"the journal {stream} cannot be read: {error}{MORE}") from error
    except (LookupError, ValueError, TypeError) as error:
        told = f"a record that is none of ours ({type(error).__name__}: {error})"
        raise JournalError(f"the journal {stream} cannot be read: {told}{MORE}") from error


async def _restore(connection: Connection, stream: str, last: Found, known: Policies) -> Restored:
    whole = _Whole()
    newest = records.plain(last.body)
    since = newest["complete_from"]
    if since is not None and since < last.first:
        counting = Counting(proven=True)
        async with streams.messages(connection, stream, since, last.first) as read:
            begins = None
            async for delivery in read:
                begins = delivery.offset if begins is None else begins
                for found in counting.hear(delivery):
                    whole.lay(found.first, records.plain(found.body))
        if begins != since:
            raise JournalError(
                f"the journal {stream} has lost records that are still needed (from offset"
                f" {since}, its oldest is {begins}): its retention is too small. Its open turns"
                " cannot be known; begin anew with `seatwarden topology apply --begin-anew`"
            )
    whole.lay(last.first, newest)
    return Restored(await whole.record(known), whole.checkpoint, last.number, last.epoch)


class _Whole:
    """Records laid over one another, in their order; only the latest of each entry is decoded."""

    def __init__(self) -> None:
        self.checkpoint = Checkpoint()
        self._seats: dict[tuple[str, int], list[Any]] = {}
        self._tables: dict[str, list[Any]] = {}
        self._policies: dict[str, Any] = {}
        self._outbox: deque[Outgoing] = deque()
        self._covered: list[str] = []
        self._last: dict[str, Any] = {}

    def lay(self, at: int, plain: dict[str, Any]) -> None:
        """Lay the next record over."""
        seats = {pictures.seat_of(seat): seat for seat in plain["seats"]}
        tables = {table[0]: table for table in plain["tables"]}
        gone = [(table_id, number) for table_id, number in plain["seats_gone"]]
        self._seats.update(seats)
        self._tables.update(tables)
        for seat in gone:
            self._seats.pop(seat, None)
        for table in plain["tables_gone"]:
            self._tables.pop(table, None)
        self._policies.update(plain["policies"])
        outbox = [records.outgoing(entry) for entry in plain["outbox"]]
        self._outbox.extend(outbox)
        while self._outbox and self._outbox[0].number <= plain["sent_through"]:
            self._outbox.popleft()
        if plain["all_keys"]:
            self._covered = []
        self._covered = [*self._covered, *plain["covered"]][-plain["keep"] :]
        self.checkpoint.written(
            at,
            [*seats, *tables],
            [*gone, *plain["tables_gone"]],
            outbox[-1].number if outbox else 0,
            plain["sent_through"],
            all_keys=plain["all_keys"],
        )
        self._last = plain

    async def record(self, known: Policies) -> Record:
        """Return the whole as one record; lets others go on in between."""
        last = self._last
        policies = records.policies(self._policies, known)
        seats = {}
        for count, (key, seat) in enumerate(self._seats.items(), 1):
            seats[key] = pictures.load_seat(seat, policies)
            if count % YIELD_EVERY == 0:
                await asyncio.sleep(0)
        tables = dict(pictures.load_table(table) for table in self._tables.values())
        return Record(
            pictures.load_facts(last["facts"], seats, tables),
            tuple(self._outbox),
            last["sent_through"],
            tuple(self._covered),
            last["keep"],
            last["sign_of_life"],
            last["trying"],
            Owner(*last["owner"]) if last["owner"] else None,
        )
