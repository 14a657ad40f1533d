"""What is known around a seat: of its table, and of the shard that both belong to.

Immutable values: a step reads them, the shard replaces them.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

from statecharts.presence import Resets

MAX_HANDS = 32
MAX_SOURCES = 8


class Interruption(NamedTuple):
    """A time in which nothing could be heard: `end` includes the time to settle after it."""

    start: int
    end: int


class Pause(NamedTuple):
    """The latest pause or resumption of a table, as told by `source`; `at` is its reference."""

    source: int
    stamp: int
    at: int
    is_over: bool

    def is_news_after(self, known: Pause | None) -> bool:
        """Say whether this counts after a known one: by the stamps of one clock, else as it came.

        At equal times the table goes on.
        """
        if known is None or known.source != self.source:
            return True
        return (self.stamp, self.is_over) > (known.stamp, known.is_over)


class Table(NamedTuple):
    """A table's facts: the hands that have ended (digests), and its latest closing by source."""

    ended_hands: tuple[int, ...] = ()
    closings: tuple[tuple[int, int], ...] = ()
    pause: Pause | None = None

    @property
    def paused_at(self) -> int | None:
        """Since when the table is paused, if it is."""
        return None if self.pause is None or self.pause.is_over else self.pause.at


class Surroundings(NamedTuple):
    """All that a step may read beside the seat itself."""

    table: Table = Table()
    resets: Resets = MappingProxyType({})
    interruptions: tuple[Interruption, ...] = ()


def settled(instant: int, interruptions: tuple[Interruption, ...]) -> int:
    """Return an instant moved out of every interruption in which it lies."""
    for interruption in interruptions:
        if interruption.start <= instant <= interruption.end:
            instant = interruption.end
    return instant
