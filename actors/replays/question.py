"""What was asked, and what was found: all that the text and the JSON are written from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actors.replays.changes import Comparison
from actors.replays.reasons import Reasons
from statecharts.policy import Policy


@dataclass(frozen=True, slots=True)
class Answered:
    """A comparison of two policies over a record."""

    one: Policy
    other: Policy
    labels: tuple[str, str]
    """What the two are called here: their names, or, where these are the same, what was given."""
    record: Mapping[str, Any]
    """What was replayed: the file or the hands, and how connections were made up."""
    comparison: Comparison
    reasons: Reasons
