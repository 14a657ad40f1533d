"""The deadlines of a shard: one heap, with entries dropped lazily.

A seat that changes its deadline leaves the old entry behind; the seat knows which one runs.  The
heap is rebuilt when stale entries outnumber the running ones, so that it stays within twice their
number.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

SeatKey = tuple[str, int]
"""Table id and seat number: the order in which deadlines of one instant fire."""

_SLACK = 64


class Deadlines:
    """At most one running deadline per seat, in order of instant, table id and seat."""

    def __init__(self) -> None:
        """Begin with none."""
        self._running: dict[SeatKey, int] = {}
        self._heap: list[tuple[int, SeatKey]] = []

    def __len__(self) -> int:
        return len(self._running)

    def set(self, seat: SeatKey, instant: int | None) -> None:
        """Set, move or (with None) drop a seat's deadline."""
        if instant is None:
            self._running.pop(seat, None)
        elif self._running.get(seat) != instant:
            self._running[seat] = instant
            heapq.heappush(self._heap, (instant, seat))
        if len(self._heap) > 2 * len(self._running) + _SLACK:
            self._heap = [(instant, seat) for seat, instant in self._running.items()]
            heapq.heapify(self._heap)

    def next(self) -> tuple[int, SeatKey] | None:
        """Return the soonest deadline and whose it is."""
        while self._heap:
            instant, seat = self._heap[0]
            if self._running.get(seat) == instant:
                return instant, seat
            heapq.heappop(self._heap)
        return None

    def within(self, start: int, end: int) -> Iterator[SeatKey]:
        """Yield the seats whose deadline lies in [start, end), soonest first."""
        found = sorted(
            (instant, seat) for seat, instant in self._running.items() if start <= instant < end
        )
        return (seat for _, seat in found)
