"""Main and side pots from what each player has put in (policy T5)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple


class Pots(NamedTuple):
    """The pots, main pot first, and what goes back to the player nobody could call in full."""

    pots: tuple[int, ...]
    uncalled: int


def pots(contributions: Sequence[int]) -> Pots:
    """Cut the players' contributions (minor units) into main pot and side pots.

    A level that one player alone has reached is no pot: it goes back uncalled.

    >>> pots([300, 500, 800])
    Pots(pots=(900, 400), uncalled=300)
    >>> pots([300, 500, 900, 1000])
    Pots(pots=(1200, 600, 800), uncalled=100)
    """
    layers = []
    uncalled = 0
    below = 0
    for level in sorted({amount for amount in contributions if amount > 0}):
        players = sum(amount >= level for amount in contributions)
        if players == 1:
            uncalled = level - below
        else:
            layers.append(players * (level - below))
        below = level
    return Pots(tuple(layers), uncalled)


def in_big_blinds(pot: int, big_blind: int) -> Fraction:
    """Return the pot in big blinds, exactly; both amounts in the same unit."""
    return Fraction(pot, big_blind)
