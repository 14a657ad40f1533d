"""Instants as integers: microseconds since 1970 in UTC, and their RFC 3339 form.

Integers keep comparisons and sums exact; the monotonic clock to sleep on is the runtime's affair.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

SECOND = 1_000_000
MILLISECOND = 1_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What `datetime` could not add a turn to without running over its end is no stamp of a poker hand.
_LATEST = datetime(9000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_RFC3339 = re.compile(
    r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII
)


def from_rfc3339(text: str) -> int:
    """Read a stamp with an offset; digits below a microsecond are dropped.

    Raises ValueError, with what is wrong, for anything else: a naive stamp, another format, a day
    that does not exist, a year before 1970 or after 8999.
    """
    if not _RFC3339.fullmatch(text):
        msg = "must be an RFC 3339 stamp with an offset, like 2026-01-31T20:15:00.250Z"
        raise ValueError(msg)
    moment = datetime.fromisoformat(text.upper())
    if not _EPOCH <= moment < _LATEST:
        msg = "must lie between the years 1970 and 8999"
        raise ValueError(msg)
    return (moment - _EPOCH) // _MICROSECOND


def to_rfc3339(instant: int) -> str:
    """Write a stamp in UTC, always with six digits: the same instant is the same text."""
    return to_datetime(instant).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def to_datetime(instant: int) -> datetime:
    """Return an instant as a datetime in UTC."""
    return _EPOCH + timedelta(microseconds=instant)


def from_seconds(seconds: float) -> int:
    """A duration in seconds, rounded to microseconds."""
    return round(seconds * SECOND)
