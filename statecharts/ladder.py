"""The ladder of a policy's grace: how long a disconnected player gets, by the size of the pot."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from statecharts.instants import from_seconds

Seconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False, strict=True)]
BigBlinds = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False, strict=True)]
Factor = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False, strict=True)]


class Keys(BaseModel):
    """Keys of a policy file; their descriptions are those that an editor shows."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class GraceStep(Keys):
    """One step of the ladder: a time, and the pots that it is for."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": ["seconds"]}, {"required": ["turn_time_factor"]}],
            "not": {"required": ["pot_below_big_blinds", "pot_at_most_big_blinds"]},
        }
    )

    seconds: Seconds | None = None
    """The disconnection time in seconds.  A step has this or `turn_time_factor`."""

    turn_time_factor: Factor | None = None
    """The disconnection time as a multiple of the turn time: 2 is twice the turn time."""

    pot_below_big_blinds: BigBlinds | None = None
    """The step is for pots smaller than so many big blinds; a pot of exactly that is beyond it."""

    pot_at_most_big_blinds: BigBlinds | None = None
    """The step is for pots of up to so many big blinds; a pot of exactly that is within it."""

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if (self.seconds is None) == (self.turn_time_factor is None):
            raise ValueError("a step has either seconds or turn_time_factor, and one of them")
        if None not in (self.pot_below_big_blinds, self.pot_at_most_big_blinds):
            raise ValueError("a step has pot_below_big_blinds or pot_at_most_big_blinds, not both")
        return self

    @property
    def bound(self) -> tuple[float, bool] | None:
        """Up to which pot, in big blinds, and whether exactly that is within; None: any pot."""
        if self.pot_at_most_big_blinds is not None:
            return self.pot_at_most_big_blinds, True
        if self.pot_below_big_blinds is not None:
            return self.pot_below_big_blinds, False
        return None

    def is_for(self, size: Fraction) -> bool:
        """Say whether the step is for a pot of that size, in big blinds."""
        if self.bound is None:
            return True
        limit, is_within = self.bound
        return size < limit or (is_within and size == limit)

    def lasts(self, turn_time: int) -> int:
        """Return the grace in microseconds, for a turn time in microseconds."""
        if self.turn_time_factor is not None:
            return round(turn_time * Fraction(str(self.turn_time_factor)))
        return from_seconds(self.seconds or 0)


def check(ladder: tuple[GraceStep, ...]) -> tuple[GraceStep, ...]:
    """Return a ladder of which each pot finds one step; raises ValueError."""
    if not ladder:
        return ladder
    *steps, last = ladder
    bounds = [step.bound for step in steps]
    if last.bound is not None or None in bounds:
        raise ValueError(
            "every step but the last needs pot_below_big_blinds or pot_at_most_big_blinds, "
            "the last has none"
        )
    if any(a >= b for a, b in pairwise(bounds) if a and b):
        raise ValueError(
            "pot_below_big_blinds or pot_at_most_big_blinds must grow from step to step"
        )
    if not any(step.seconds or step.turn_time_factor for step in ladder):
        raise ValueError("no step gives any time; [] is the ladder of a room without a grace")
    return ladder
