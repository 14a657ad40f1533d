"""Whether a player has said that he is away: he sets it, and any action of his clears it."""

from __future__ import annotations

from typing import NamedTuple

MAX_STATUSES = 16


class Status(NamedTuple):
    """A player's word that he is away or back, or his own action, as told by a source."""

    player: int
    source: int
    stamp: int
    away: bool


Statuses = tuple[Status, ...]


def is_news(known: Statuses, said: Status) -> bool:
    """Say whether a word is later than what its source has said of that player.

    At equal times he is back.
    """
    return not any(
        one[:2] == said[:2] and (one.stamp, not one.away) >= (said.stamp, not said.away)
        for one in known
    )


def noted(known: Statuses, said: Status) -> Statuses:
    """Return the statuses with one more word."""
    others = tuple(one for one in known if one[:2] != said[:2])
    return (*others, said)[-MAX_STATUSES:]


def is_away(known: Statuses, player: int) -> bool:
    """Say whether a player is away, by the word that came last."""
    return next((one.away for one in reversed(known) if one.player == player), False)


def left(known: Statuses, player: int | None) -> Statuses:
    """Return the statuses after a player has left, or everybody; what they said stays known."""
    return tuple(one._replace(away=False) if player in (None, one.player) else one for one in known)
