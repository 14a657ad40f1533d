"""The port to the journal: what a shard has done, written before anybody is told of it.

A record is committed as a whole or not at all.  `MemoryJournal` keeps it in the process: what is
lost with a connection is restored from it, what is lost with the process is not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeVar

from actors.deadlines import SeatKey
from actors.pictures import Known, Picture
from actors.transport import Message
from statecharts.seat import Seat
from statecharts.surroundings import Table

Key = TypeVar("Key")
Value = TypeVar("Value")


class Outgoing(NamedTuple):
    """A message to be sent, numbered in the order of the shard's outputs."""

    number: int
    message: Message


@dataclass(frozen=True, slots=True)
class Record:
    """One group of deliveries: what changed, what is to be sent, and which deliveries it covers."""

    changes: Picture
    outbox: tuple[Outgoing, ...]
    covered: tuple[str, ...]
    """Keys of the deliveries, whatever their verdict; delivered again, they are skipped."""
    sent_through: int
    """All up to this number has been confirmed."""
    sign_of_life: int | None
    """When a tick was last back (microseconds since 1970): the shard was alive then."""


class Journal(Protocol):
    """Where a shard's records go."""

    async def commit(self, record: Record) -> None:
        """Return when the record is committed; raises ConnectionLost if that cannot be known."""

    async def restore(self) -> Record | None:
        """Return the whole as one record, or None if nothing has been written."""


class MemoryJournal:
    """A journal that lasts as long as the process; `keys` is how many covered keys are kept."""

    def __init__(self, keys: int = 4096) -> None:
        """Begin with nothing written."""
        self._last: Record | None = None
        self._seats: dict[SeatKey, Known[Seat]] = {}
        self._tables: dict[str, Known[Table]] = {}
        self._outbox: deque[Outgoing] = deque()
        self._covered: deque[str] = deque(maxlen=keys)

    async def commit(self, record: Record) -> None:
        _lay_over(self._seats, record.changes.seats)
        _lay_over(self._tables, record.changes.tables)
        self._outbox.extend(record.outbox)
        while self._outbox and self._outbox[0].number <= record.sent_through:
            self._outbox.popleft()
        self._covered.extend(record.covered)
        self._last = record

    async def restore(self) -> Record | None:
        if self._last is None:
            return None
        whole = replace(self._last.changes, seats=dict(self._seats), tables=dict(self._tables))
        return replace(
            self._last, changes=whole, outbox=tuple(self._outbox), covered=tuple(self._covered)
        )


def _lay_over(whole: dict[Key, Known[Value]], changes: Mapping[Key, Known[Value] | None]) -> None:
    for key, known in changes.items():
        if known is None:
            whole.pop(key, None)
        else:
            whole[key] = known
