"""Made-up connections: what a player and his network do around one of his turns, by chance.

It is drawn with no regard to any policy, so that two of them are compared by the same stimuli and
the same seed gives the same ones whatever is compared.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import log2

from statecharts.instants import MILLISECOND, SECOND

BEFORE = 30.0
"""Who is away before his turn has been so for at most so many seconds."""
_AWAY_BEFORE = 0.25
_SILENT = 0.05
_SILENT_AFTER_RETURN = 0.15
_LEAVES_AGAIN = 0.1
_NOTICED_AT_ONCE = 0.5
_AT_ONCE, _BY_PINGS = (0.0, 0.3), (2.0, 6.0)
_SHORTEST = 2.0
_THINKS = (1.0, 6.0)
_BANK_TURNS = 0.25
_USES_BANK = 0.2


@dataclass(frozen=True, slots=True)
class Habits:
    """How often and for how long players are away; durations in seconds, shares from 0 to 1."""

    away: float = 0.3
    """The share of turns at which the player loses his connection."""
    stay_away: float = 0.3
    """Of these, the share of those who do not come back."""
    longest: float = 120
    """The others are away for 2 seconds to this, short absences as often as long ones: from 2 to
    4 as often as from 60 to 120."""
    turn_seconds: float = 20
    time_bank_seconds: float = 30
    """At every fourth turn, by chance; 0 is none."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A connection is lost: its last sign of life, and when the word of it arrives."""

    at: int
    heard: int


@dataclass(frozen=True, slots=True)
class Course:
    """What happens around a turn, in microseconds from its start; negative is before it."""

    bank: int = 0
    """The time bank that the turn has."""
    losses: tuple[Loss, ...] = ()
    back: int | None = None
    """After the first loss; None is never."""
    acts: int | None = None
    """When the player acts, if the turn is still his; None: he is silent."""


def draw(habits: Habits, chance: random.Random) -> Course:
    """Draw the course of one turn."""
    has_bank = habits.time_bank_seconds > 0 and chance.random() < _BANK_TURNS
    bank = _micro(habits.time_bank_seconds) if has_bank else 0
    if chance.random() >= habits.away:
        return Course(bank, acts=_acts_here(habits, chance, bank))
    returns = chance.random() >= habits.stay_away
    lasts = _lasting(habits.longest, chance) if returns else None
    if chance.random() < _AWAY_BEFORE:
        lost = -chance.uniform(0, BEFORE if lasts is None else min(BEFORE, lasts))
    else:
        lost = chance.uniform(0, habits.turn_seconds)
    loss = _loss(lost, chance)
    if lasts is None:
        return Course(bank, (loss,))
    back = _micro(lost + lasts)
    acts = back + _micro(chance.uniform(*_THINKS))
    if chance.random() < _LEAVES_AGAIN:
        again = (back + chance.uniform(0, 1) * (acts - back)) / SECOND
        return Course(bank, (loss, _loss(again, chance)), back)
    is_silent = chance.random() < _SILENT_AFTER_RETURN
    return Course(bank, (loss,), back, None if is_silent else acts)


def longest(habits: Habits) -> float:
    """Return by when all of a turn's events have arrived, in seconds from its start."""
    latest = max(
        habits.turn_seconds + habits.longest, habits.turn_seconds + habits.time_bank_seconds
    )
    return latest + _THINKS[1] + _BY_PINGS[1]


def _acts_here(habits: Habits, chance: random.Random, bank: int) -> int | None:
    """Say when one who is connected all the time acts."""
    if chance.random() < _SILENT:
        return None
    turn = _micro(habits.turn_seconds)
    if bank and chance.random() < _USES_BANK:
        return turn + round(bank * chance.uniform(0.05, 0.95) / MILLISECOND) * MILLISECOND
    return round(turn * chance.uniform(0.05, 0.95) / MILLISECOND) * MILLISECOND


def _loss(at: float, chance: random.Random) -> Loss:
    """A closed socket is known at once, a dead network when pings remain unanswered."""
    span = _AT_ONCE if chance.random() < _NOTICED_AT_ONCE else _BY_PINGS
    return Loss(_micro(at), _micro(at + chance.uniform(*span)))


def _lasting(most: float, chance: random.Random) -> float:
    """Draw how long an absence lasts: each doubling is as likely as the next."""
    if most <= _SHORTEST:
        return most
    return _SHORTEST * 2 ** chance.uniform(0, log2(most / _SHORTEST))


def _micro(seconds: float) -> int:
    """Return microseconds, in whole milliseconds, which is what brokers stamp."""
    return round(seconds * 1000) * MILLISECOND
