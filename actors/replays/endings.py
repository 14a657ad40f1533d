"""How a turn ends under a policy.  Instants are microseconds since 1970."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from statecharts.decisions import DecisionMade
from statecharts.events import Event
from statecharts.instants import from_seconds

TurnKey = tuple[str, str]
"""Table id and turn id."""


class Kind(StrEnum):
    """What ends a turn."""

    DECIDED = "decided"
    ACTED = "acted"
    LEFT = "left to the engine"
    UNCOVERED = "not covered"
    OFF = "off"


class Answer(NamedTuple):
    """What becomes of a turn, whenever that is: two policies agree if their answers are equal."""

    kind: Kind
    action: str = ""
    rule: str = ""
    card: str = ""
    detail: str = ""
    """Why it is not covered, or what has called it off."""

    def __str__(self) -> str:
        if self.kind is Kind.DECIDED:
            return f"{' '.join(filter(None, (self.action, self.card)))}, {self.rule}"
        if self.kind is Kind.ACTED:
            return "he acts himself"
        return f"{self.kind} ({self.detail})" if self.detail else str(self.kind)


@dataclass(frozen=True, slots=True)
class Ending:
    """An answer and its instant: the decision's deadline, the arrival of his action, and so on."""

    answer: Answer
    at: int


@dataclass(slots=True)
class Met:
    """A turn as it began, and what was heard of its player's connection while it was open."""

    event: Event
    """The `turn.started`."""
    started: int
    """Its reference time, from which the turn time counts."""
    presence: list[tuple[int, bool]] = field(default_factory=list)
    """Connected or not: at the start, then each change of it, by arrival."""

    @property
    def data(self) -> Any:  # noqa: ANN401 - the payload, of `statecharts.payloads`
        """What the engine has said of it."""
        return self.event.data

    @property
    def over(self) -> int:
        """The end of the turn time, before any time bank."""
        return self.started + from_seconds(self.data.turn_seconds)

    @property
    def returned(self) -> int | None:
        """When he came back for the last time, None for who was never away or is away still."""
        if not self.presence or not self.presence[-1][1] or len(self.presence) == 1:
            return None
        return self.presence[-1][0]

    @property
    def is_with_absence(self) -> bool:
        """Whether he was away at any time while it was open."""
        return not all(connected for _, connected in self.presence)


@dataclass(slots=True)
class Replayed:
    """All turns of a replay, in the order in which they began, and how each ended."""

    turns: dict[TurnKey, Met] = field(default_factory=dict)
    endings: dict[TurnKey, Ending] = field(default_factory=dict)
    refused: list[tuple[int, str]] = field(default_factory=list)
    """Line and reason of each message that the service would have refused."""

    def waited(self, key: TurnKey) -> int | None:
        """Return for how long (microseconds) the table waited beyond a turn's own time.

        Time banks are within it.  None where the policy does not cover the turn: how long the
        engine waits then, nobody has said.
        """
        ending = self.endings[key]
        if ending.answer.kind is Kind.UNCOVERED:
            return None
        return max(0, ending.at - self.turns[key].over)


def decided(made: DecisionMade) -> Ending:
    """Return the ending that a decision is."""
    answer = Answer(Kind.DECIDED, made.action.value, made.rule.value, made.card or "")
    return Ending(answer, made.at)
