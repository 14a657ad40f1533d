"""What a policy limits beyond one turn: a budget of disconnection time, uses, all-in protection."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal, get_args

from pydantic import Field

from statecharts.instants import from_seconds
from statecharts.ladder import Keys, Seconds

Count = Annotated[int, Field(ge=1, le=10_000, strict=True)]
AnySeconds = Annotated[Seconds, Field(gt=0)]


class Budget(Keys):
    """How much disconnection time a player has at a table, over all his turns.

    What a turn takes of it is from where its grace counts (`grace_counts_from`) until the turn is
    closed, by the player or by a decision.
    """

    seconds: AnySeconds
    """What he has when it is full."""

    per: Literal["hand", "session", "table"]
    """For what it is: new for each `hand`; for the `session`, until he leaves the seat; or for the
    `table`, also when he leaves and takes a seat again."""

    refill_every_hands: Count | None = None
    """Some of it comes back each time that he has played so many hands; null is never."""

    refill_seconds: AnySeconds | None = None
    """How much comes back then, never above `seconds`; null is all of it."""

    @cached_property
    def full(self) -> int:
        """All of it, in microseconds."""
        return from_seconds(self.seconds)

    def left(self, spent: int, hands: int) -> int:
        """Return what is left, in microseconds, of one so much `spent` so many `hands` ago."""
        if self.refill_every_hands is None:
            return max(0, self.full - spent)
        each = self.full if self.refill_seconds is None else from_seconds(self.refill_seconds)
        return min(self.full, max(0, self.full - spent) + hands // self.refill_every_hands * each)

    def hands_that_count(self, spent: int, hands: int) -> int:
        """Return the hands since the last refill, which go on counting when more is spent."""
        if self.refill_every_hands is None or self.left(spent, hands) == self.full:
            return 0
        return hands % self.refill_every_hands


Reason = Literal["closed", "ping-timeout", "background", "kicked"]

REASONS: tuple[str, ...] = get_args(Reason)
"""Why a connection was lost, as gateways tell it."""


class AllInProtection(Keys):
    """Who faces a bet and is away when his time is over plays on for what he has paid for."""

    uses: Count
    """How often for each player at a table, until `protection.reset`; where the engine says
    `protection_left`, that counts instead."""

    not_for_reasons: tuple[Reason, ...] = ()
    """Losses that are no disconnections, by the `reason` of the `player.disconnected`."""
