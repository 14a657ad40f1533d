"""The cards of a discard (policy D6): left to right as the player sees them."""

from __future__ import annotations

from collections.abc import Sequence


def rightmost(cards: Sequence[str]) -> str:
    """Return the card that goes when none was chosen (D6b)."""
    return cards[-1]


def variant_name(variant: str) -> str:
    """Bring a variant to one form: however it is spelt, its letters and digits tell it.

    >>> variant_name("Crazy Pineapple"), variant_name("crazy_pineapple"), variant_name("Hi/Lo")
    ('crazypineapple', 'crazypineapple', 'hilo')
    """
    return "".join(letter for letter in variant.casefold() if letter.isalnum())
