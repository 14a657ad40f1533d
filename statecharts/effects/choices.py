"""Effects of choices of a card."""

from __future__ import annotations

from statecharts.lines import Row
from statecharts.seat import MAX_CHOICES
from statecharts.step import Step


def choose(step: Step, row: Row) -> None:
    """The choice counts for the open discard."""
    keep_choice(step, row)
    step.seat.turn = step.turn._replace(choice=step.seat.choices[-1])


def keep_choice(step: Step, _row: Row) -> None:
    """Keep the choice: it may be for a discard to come, and a repeated one must be known."""
    choice = step.choice(step.data.card)
    step.seat.choices = (*step.seat.choices, choice)[-MAX_CHOICES:]
