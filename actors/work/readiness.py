"""Whether a worker is ready, and if not, why and since when: for probes and those who ask."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Standing(StrEnum):
    """How a worker stands to a shard."""

    AWAY = "away"
    STANDING_BY = "standing by"
    TAKING_OVER = "taking over"
    LIVE = "live"
    FAILING = "failing"


WELL = frozenset({Standing.STANDING_BY, Standing.LIVE})
"""A worker that stands so to each of its shards is ready."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A shard to which the worker stands otherwise than it should, since when, and why."""

    shard: int
    standing: Standing
    since: int
    """Microseconds since 1970."""
    fault: str
    """"" if it is only on its way."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """The answer; `reason` is "" if the worker is ready."""

    since: int
    """When it became ready, or stopped being so: microseconds since 1970."""
    reason: str
    troubles: tuple[Trouble, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Whether the worker is ready."""
        return not self.reason


def of_shards(troubles: tuple[Trouble, ...]) -> str:
    """Say which shards are in trouble.

    >>> of_shards((Trouble(3, Standing.AWAY, 0, ""), Trouble(5, Standing.FAILING, 0, "no way")))
    'not at work: shard 3 (away), 5 (failing: no way)'
    """
    told = (
        f"{one.shard} ({one.standing}{f': {one.fault}' if one.fault else ''})" for one in troubles
    )
    return f"not at work: shard {', '.join(told)}"
