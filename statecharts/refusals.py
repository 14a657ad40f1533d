"""Why a message is refused: a code, what was wrong, and whom it concerns if that is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Code(StrEnum):
    """The refusal codes; the README says what to do about each."""

    MALFORMED = "malformed"
    UNKNOWN_TYPE = "unknown-type"
    INVALID = "invalid"
    TOO_LARGE = "too-large"
    UNKNOWN_CARD = "unknown-card"
    STALE = "stale"
    NO_DECISION_TO_MAKE = "no-decision-to-make"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Identity:
    """As much of a message's identity as could be read."""

    source: str | None = None
    id: str | None = None
    table_id: str | None = None
    seat: int | None = None
    hand_id: str | None = None
    turn_id: str | None = None
    player_id: str | None = None


@dataclass(slots=True)
class Refusal(Exception):
    """A message that is not applied; nothing has changed by it."""

    code: Code
    detail: str
    identity: Identity = field(default_factory=Identity)

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}"
