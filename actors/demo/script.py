"""What the made-up players do at their turns: the plans, as a table, and when each step happens.

A step happens at a fraction of a span of the turn (its time, its time bank, the buffer, the grace),
well away from the ends of it, so that no jitter of a live run can change what is decided.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from statecharts.instants import MILLISECOND


class Do(StrEnum):
    """What a player or his connection does."""

    ACT = "acts"
    LOSE = "loses his connection"
    BACK = "is back on a new connection"
    TAB = "opens a second tab"
    REPLACE = "is back, and says that his old connection is dead"
    CLOSE = "his older connection is reported lost"
    RESET = "his gateway restarts"
    CHOOSE = "chooses a card"
    WITHDRAW = "withdraws his choice"


class Span(StrEnum):
    """A part of a turn."""

    BEFORE = "before"
    TURN = "turn"
    BANK = "bank"
    BUFFER = "buffer"
    GRACE = "grace"


Window = tuple[float, float]
EARLY, MIDDLE, LATE = (0.15, 0.3), (0.4, 0.55), (0.65, 0.78)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happens, somewhere within a window of a span."""

    do: Do
    span: Span = Span.TURN
    window: Window = EARLY
    told_in: Span | None = None
    """The word of it reaches the broker only in this span."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What happens at a turn.  A plan without ACT ends with a decision."""

    name: str
    weight: int
    needs: frozenset[str]
    """What must be so: `betting` or `discard`, `connected` or `away` (when the turn begins),
    `grace` (faces a bet with money in the pot), `bank` (has a time bank)."""
    steps: tuple[Step, ...] = ()


def _betting(name: str, weight: int, needs: str, *steps: Step) -> Plan:
    return Plan(name, weight, frozenset({"betting", *needs.split()}), steps)


def _discard(name: str, weight: int, *steps: Step) -> Plan:
    return Plan(name, weight, frozenset({"discard", "connected"}), steps)


_LOSE = Step(Do.LOSE)
_BACK = Step(Do.BACK, window=MIDDLE)
_ACT = Step(Do.ACT, window=LATE)
_IN_BUFFER = Step(Do.BACK, Span.BUFFER, MIDDLE)
_IN_GRACE = Step(Do.BACK, Span.GRACE, EARLY)
_ACT_IN_GRACE = Step(Do.ACT, Span.GRACE, MIDDLE)
_CHOOSE_BEFORE = Step(Do.CHOOSE, Span.BEFORE, MIDDLE)

UNEVENTFUL = _betting("acts", 50, "connected", Step(Do.ACT))
PLANS: tuple[Plan, ...] = (
    UNEVENTFUL,
    _betting("leaves and stays away", 12, "connected", _LOSE),
    _betting("leaves, is back in time, acts", 3, "connected", _LOSE, _BACK, _ACT),
    _betting("leaves, is back in time, is silent", 2, "connected", _LOSE, _BACK),
    _betting("is silent", 4, "connected"),
    _betting("leaves, is back in the buffer, acts", 3, "connected grace",
             _LOSE, _IN_BUFFER, _ACT_IN_GRACE),
    _betting("leaves, is back in the grace, acts", 5, "connected grace",
             _LOSE, _IN_GRACE, _ACT_IN_GRACE),
    _betting("leaves, is back in the grace, is silent", 2, "connected grace", _LOSE, _IN_GRACE),
    _betting("leaves, is back in the grace, leaves again", 3, "connected grace",
             _LOSE, _IN_GRACE, Step(Do.LOSE, Span.GRACE, MIDDLE)),
    _betting("leaves; the word of it comes in the buffer", 5, "connected grace",
             Step(Do.LOSE, window=LATE, told_in=Span.BUFFER)),
    _betting("has two tabs, closes one, acts", 2, "connected",
             Step(Do.TAB), Step(Do.CLOSE, window=MIDDLE), _ACT),
    _betting("has two tabs, closes one, is silent", 1, "connected",
             Step(Do.TAB), Step(Do.CLOSE, window=MIDDLE)),
    _betting("is back on a new connection before the old one is lost", 2, "connected",
             Step(Do.REPLACE), Step(Do.CLOSE, window=MIDDLE), _ACT),
    _betting("is cut off by a restart of his gateway", 3, "connected", Step(Do.RESET)),
    _betting("is cut off by a restart of his gateway, is back, acts", 2, "connected",
             Step(Do.RESET), _BACK, _ACT),
    _betting("acts in his time bank", 8, "connected bank", Step(Do.ACT, Span.BANK, MIDDLE)),
    _betting("leaves, acts in his time bank", 4, "connected bank",
             _LOSE, _BACK, Step(Do.ACT, Span.BANK, MIDDLE)),
    _betting("is still away", 4, "away"),
    _betting("is back in time, acts", 5, "away", _BACK, _ACT),
    _betting("is back in the buffer, acts", 3, "away grace", _IN_BUFFER, _ACT_IN_GRACE),
    _betting("is back in the grace, is silent", 2, "away grace", _IN_GRACE),
    _discard("lets a card go", 4, Step(Do.ACT, window=MIDDLE)),
    _discard("has chosen a card, then leaves", 4, _CHOOSE_BEFORE, _LOSE),
    _discard("chooses a card, then leaves", 3, Step(Do.CHOOSE), Step(Do.LOSE, window=MIDDLE)),
    _discard("has chosen a card, is silent", 2, _CHOOSE_BEFORE),
    _discard("changes his mind, is silent", 1, _CHOOSE_BEFORE, Step(Do.CHOOSE, window=LATE)),
    _discard("withdraws his choice, then leaves", 2,
             _CHOOSE_BEFORE, Step(Do.WITHDRAW), Step(Do.LOSE, window=LATE)),
    _discard("leaves, no card chosen", 5, _LOSE),
    _discard("is silent, no card chosen", 2),
    Plan("is still away, no card chosen", 1, frozenset({"discard", "away"})),
    Plan("is back in time, lets a card go", 1, frozenset({"discard", "away"}), (_BACK, _ACT)),
)  # fmt: skip


def choose(facts: frozenset[str], chance: random.Random, *, is_eventful: bool) -> Plan:
    """Draw a plan that fits the facts of a turn; an eventful one is not just an action."""
    plans = [plan for plan in PLANS if not (is_eventful and plan is UNEVENTFUL)]
    fitting = [plan for plan in plans if plan.needs <= facts]
    return chance.choices(fitting, [plan.weight for plan in fitting])[0]


@dataclass(frozen=True, slots=True)
class Timeline:
    """When each span of a turn begins and ends, in microseconds since 1970."""

    spans: Mapping[Span, tuple[int, int]]

    def within(self, span: Span, window: Window, chance: random.Random) -> int:
        """Draw an instant, in whole milliseconds, which is what brokers stamp."""
        start, end = self.spans[span]
        instant = start + (end - start) * chance.uniform(*window)
        return round(instant / MILLISECOND) * MILLISECOND


def timeline(start: int, *, before: int, turn: int, bank: int, buffer: int, grace: int) -> Timeline:
    """Lay the spans of a turn end to end; all durations in microseconds."""
    turn_end = start + turn
    end = turn_end + bank
    return Timeline(
        {
            Span.BEFORE: (start - before, start),
            Span.TURN: (start, turn_end),
            Span.BANK: (turn_end, end),
            Span.BUFFER: (end, end + buffer),
            Span.GRACE: (end + buffer, end + buffer + grace),
        }
    )
