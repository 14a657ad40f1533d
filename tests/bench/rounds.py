"""Measuring: several rounds, interleaved, and the median of each candidate.

A machine is faster in one second than in the next, so nothing is compared with what was measured at
another time: in each round every candidate has its turn, and a ratio is taken within a round.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from time import process_time

Run = Callable[[], object]
Prepare = Callable[[], Run]
"""Makes a candidate ready, which is not timed, and returns what is."""


class Rounds:
    """What each candidate took in each round, in seconds."""

    def __init__(self, candidates: Mapping[str, Prepare], rounds: int) -> None:
        """Measure processor time, without the collector, which bills one candidate for another."""
        self.taken: dict[str, list[float]] = {name: [] for name in candidates}
        for _ in range(rounds):
            for name, prepare in candidates.items():
                run = prepare()
                with no_collector():
                    began = process_time()
                    run()
                    self.taken[name].append(process_time() - began)

    def seconds(self, name: str) -> float:
        """The median of a candidate."""
        return median(self.taken[name])

    def ratio(self, name: str, floor: str) -> float:
        """The median of a candidate's ratios to another of the same round."""
        return median(
            taken / least for taken, least in zip(self.taken[name], self.taken[floor], strict=True)
        )


@contextmanager
def no_collector() -> Iterator[None]:
    """Collect garbage now, and not before the end."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def traced_bytes(make: Callable[[], object]) -> int:
    """Return the bytes that are held when `make` has run, by tracemalloc, while its value lives."""
    gc.collect()
    tracemalloc.start()
    try:
        made = make()
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del made
    return held


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table: the first column to the left, numbers to the right."""
    lines = [heads, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    told = [
        "  ".join(
            (
                first.ljust(widths[0]),
                *(cell.rjust(w) for cell, w in zip(rest, widths[1:], strict=True)),
            )
        )
        for first, *rest in lines
    ]
    return "\n".join((title, *(f"  {line}".rstrip() for line in told), ""))
