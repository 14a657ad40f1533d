"""What is known around a seat: of its table, and of the shard that both belong to.

Immutable values: a step reads them, the shard replaces them.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

from statecharts.presence import Resets
from statecharts.storms import Storm
from statecharts.tables import Table


class Interruption(NamedTuple):
    """A time in which nothing could be heard: `end` includes the time to settle after it."""

    start: int
    end: int


class Surroundings(NamedTuple):
    """All that a step may read beside the seat itself."""

    table: Table = Table()
    resets: Resets = MappingProxyType({})
    interruptions: tuple[Interruption, ...] = ()
    storms: tuple[Storm, ...] = ()


def settled(instant: int, interruptions: tuple[Interruption, ...]) -> int:
    """Return an instant moved out of every interruption in which it lies."""
    for interruption in interruptions:
        if interruption.start <= instant <= interruption.end:
            instant = interruption.end
    return instant
