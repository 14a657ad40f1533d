"""A room's disconnection policy, as data.

A policy parametrises the guards and durations of the one chart; it is no code.  Where its text
leaves something open, a key says how the room reads it (`reading 1`, ... in the documentation of
the keys).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from statecharts.cards import variant_name
from statecharts.digests import long
from statecharts.instants import from_seconds
from statecharts.pots import in_big_blinds

Seconds = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False, strict=True)]
Variant = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(variant_name)]


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GraceStep(_Keys):
    """One step of the ladder: so many seconds while the pot is below so many big blinds."""

    seconds: Seconds
    pot_below_big_blinds: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class Policy(_Keys):
    """The keys of a policy file.  Durations are in seconds, pots in big blinds."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
    source: str = ""
    """Where the room has published its policy."""

    covers_formats: tuple[Literal["cash", "tournament"], ...] = ("cash",)
    """Turns of other formats get a `turn.uncovered` notice (policy, first note)."""

    covers_discards: tuple[Variant, ...] = ("crazypineapple",)
    """The variants whose discards are covered; one that names no variant is (D6, reading 6)."""

    buffer_seconds: Seconds = 3
    """The system's time before the grace (T7)."""

    buffer_for: Literal["everyone", "away"] = "everyone"
    """Whom the buffer is for where a bet is faced with money in the pot (reading 1): `everyone`,
    since the word of a loss may be on its way, or only those known to be `away`."""

    grace: Annotated[tuple[GraceStep, ...], Field(min_length=1)]
    """The disconnection time by the size of the pot (I.ii.B): the first step that holds counts."""

    time_bank_while_away: Literal["in_grace_branch", "always", "never"] = "in_grace_branch"
    """Whether the time bank of a disconnected player runs (reading 3): only where the grace would
    follow, always, or never."""

    min_seconds_after_return: Seconds = 0
    """The least time to act after the first return of a turn (reading 2)."""

    away_before_turn: Literal["same", "no_grace"] = "same"
    """Who was away before his turn began and stays away: as one who left during it, or without a
    grace (reading 8)."""

    @model_validator(mode="after")
    def _ladder_climbs(self) -> Self:
        *steps, last = self.grace
        bounds = [step.pot_below_big_blinds for step in steps]
        if last.pot_below_big_blinds is not None or None in bounds:
            msg = "grace: every step but the last needs pot_below_big_blinds, the last has none"
            raise ValueError(msg)
        if any(a >= b for a, b in pairwise(bounds) if a and b):
            msg = "grace: pot_below_big_blinds must grow from step to step"
            raise ValueError(msg)
        return self

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the rules: two policies that decide alike by their keys share it."""
        return long(self.model_dump_json(exclude={"source"}))[:16]

    @cached_property
    def buffer(self) -> int:
        """The buffer in microseconds."""
        return from_seconds(self.buffer_seconds)

    @cached_property
    def after_return(self) -> int:
        """The least time to act after a return, in microseconds."""
        return from_seconds(self.min_seconds_after_return)

    def grace_for(self, pot: int, big_blind: int) -> int:
        """Return the grace in microseconds for a pot, both amounts in one unit (I.ii.B, NOTE)."""
        size = in_big_blinds(pot, big_blind)
        for step in self.grace:
            if step.pot_below_big_blinds is None or size < step.pot_below_big_blinds:
                return from_seconds(step.seconds)
        raise AssertionError(self.grace)  # the last step has no bound: see _ladder_climbs

    def uncovered(self, format_: str, kind: str, variant: str | None) -> str | None:
        """Return why a turn is not covered: `format` or `variant`; None if it is."""
        if format_ not in self.covers_formats:
            return "format"
        if kind == "discard" and variant and variant_name(variant) not in self.covers_discards:
            return "variant"
        return None


class Policies:
    """The policies at hand by name, and the one for turns that name none."""

    def __init__(self, policies: Mapping[str, Policy], default: str) -> None:
        """`default` must be among `policies`."""
        self.by_name = dict(policies)
        self.by_digest = {policy.digest: policy for policy in policies.values()}
        self.default = self.by_name[default]

    def named(self, name: str | None) -> Policy | None:
        """Return the policy of that name, the default for None, None for an unknown name."""
        return self.default if name is None else self.by_name.get(name)
