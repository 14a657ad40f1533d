"""What a policy limits beyond one turn: a budget of disconnection time, uses, all-in protection."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

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


class StormRule(Keys):
    """When it is a storm (`connection.storm`) that players lose their connection, and what then.

    Counted in each shard, of the players with an open turn under the policy: all of them, and those
    of each gateway.
    """

    share: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False, strict=True)] = 0.5
    """More than this share of them."""

    within_seconds: Annotated[AnySeconds, Field(le=600)] = 10
    """Lost within so many seconds."""

    at_least_players: Count = 20
    """And at least so many: few players are no storm."""

    hold_seconds: Annotated[Seconds, Field(le=600)] = 0
    """What would be decided for those who are away is held until so many seconds after the storm
    began, once in a turn; 0 holds nothing."""


class Advice(Keys):
    """Advice to the backend (`seat.advice`), given once until the player acts himself again.

    It counts the decisions made for him while he was away, from his last action on.
    """

    advise: Literal["sit_out", "vacate"]
    """To have him sit out, or to give his seat to others."""

    after_decisions: Count | None = None
    """After so many decisions.  An advice has this or `after_hands`."""

    after_hands: Count | None = None
    """After decisions in so many hands."""

    when: Literal["at_once", "hand_end"] = "at_once"
    """When the backend should follow it."""

    at_most_seconds: AnySeconds | None = None
    """For how long he may sit out before his seat is given to others; null is not said."""

    @model_validator(mode="after")
    def _counts_one(self) -> Self:
        if (self.after_decisions is None) == (self.after_hands is None):
            raise ValueError("an advice has either after_decisions or after_hands, and one of them")
        if self.at_most_seconds is not None and self.advise != "sit_out":
            raise ValueError("at_most_seconds is of sit_out alone")
        return self

    def is_reached(self, decisions: int, hands: int) -> bool:
        """Say whether it is time for it."""
        if self.after_decisions is not None:
            return decisions >= self.after_decisions
        return hands >= (self.after_hands or 0)
