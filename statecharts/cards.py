"""The cards of a discard (policy D6): left to right as the player sees them."""

from __future__ import annotations

from collections.abc import Sequence


def rightmost(cards: Sequence[str]) -> str:
    """Return the card that goes when none was chosen (D6b)."""
    return cards[-1]


def variant_name(variant: str) -> str:
    """Bring a variant to the form of the policy files.

    >>> variant_name("Crazy Pineapple"), variant_name("crazy-pineapple")
    ('crazy_pineapple', 'crazy_pineapple')
    """
    return "_".join(variant.casefold().replace("-", " ").replace("_", " ").split())
