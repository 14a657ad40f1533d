"""How fast the made-up players live: for accelerated time, and for a real broker in real time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """Durations in seconds; a tuple is a choice."""

    turn: tuple[float, ...]
    discard: float
    bank: tuple[float, ...]
    """Mostly none."""
    pause: tuple[float, float]
    """Between two turns: at least, at most."""
    reaction: float
    """From a deadline to the engine's `turn.acted`, by when the decision should be there."""
    stagger: float
    """From one table's start to the next one's, lest all speak at once."""
    patience: float
    """How long after the last possible deadline the engine acts itself."""


ACCELERATED = Pace(
    turn=(10, 12), discard=8, bank=(0, 0, 0, 6), pause=(0.6, 1.8), reaction=1,
    stagger=0.5, patience=60,
)  # fmt: skip
REAL = Pace(
    turn=(2, 2.5, 3), discard=3, bank=(0, 0, 0, 1.5), pause=(0.2, 0.4), reaction=0.5,
    stagger=0.06, patience=10,
)  # fmt: skip
