"""A room's disconnection policy, as data.

A policy parametrises the guards and durations of the one chart; it is no code.  The default of each
key is how `adda52` has it: where its text leaves something open, a key says how the room reads it
(`reading 1`, ... in `policies/adda52.md`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from statecharts import ladder
from statecharts.cards import variant_name
from statecharts.contradictions import Contradictions, contradictions
from statecharts.digests import long
from statecharts.instants import from_seconds
from statecharts.ladder import GraceStep, Keys, Seconds
from statecharts.limits import Advice, AllInProtection, Budget, Count, StormRule
from statecharts.pots import in_big_blinds

Variant = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(variant_name)]

WITHOUT_GRACE: Mapping[str, object] = {"buffer_seconds": 0, "time_bank_while_away": "never"}
"""What keys are where the ladder is empty, if the file does not give them."""


class Policy(Keys):
    """The keys of a policy file.  Durations are in seconds, pots in big blinds."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
    """The name that turns and decisions carry."""

    source: str = ""
    """Where the room has published its policy."""

    covers_formats: Annotated[tuple[Literal["cash", "tournament"], ...], Field(min_length=1)] = (
        "cash",
    )
    """Turns of other formats get a `turn.uncovered` notice, and the engine decides them."""

    covers_bring_ins: Annotated[bool, Field(strict=True)] = False
    """Whether the bring-in of stud games is posted for who does not act in time."""

    covers_draws: Annotated[bool, Field(strict=True)] = False
    """Whether who does not act in time in a draw game stands pat."""

    covers_discards: tuple[Variant, ...] = ("crazypineapple", "crazypineapplehilo")
    """The variants whose discards are covered; one that names no variant is."""

    grace: Annotated[tuple[GraceStep, ...], AfterValidator(ladder.check)]
    """The disconnection time of one who is away at the turn end, by the size of the pot: the first
    step that is for it counts.  [] is no grace at all: he is decided for at the turn end."""

    grace_needs: Literal["any_chip", "voluntary_chip", "nothing"] = "any_chip"
    """What a player must have in the pot to be given the grace: `any_chip` of his, blinds and antes
    included; a `voluntary_chip`, forced bets excepted (`contributed_voluntarily` of the turn; where
    the engine does not tell it, any chip will do); or `nothing`."""

    pot_that_counts: Literal["total", "main"] = "total"
    """By which pot the ladder goes: the `total` of main and side pots, or the `main` pot alone."""

    grace_counts_from: Literal["turn_end", "loss"] = "turn_end"
    """From when its seconds count: from the turn end (or the end of the buffer after it), or from
    the `loss` of his connection, be it before that."""

    grace_uses_per_turn: Count | None = None
    """How often he may be away in the grace of one turn; null is no limit: the grace has one end,
    however often he comes and goes.  Who leaves once more is decided for at once."""

    grace_uses_per_hand: Count | None = None
    """In how many turns of a hand he may have a grace; null is no limit."""

    budget: Budget | None = None
    """How much disconnection time he has over all his turns; null is no limit."""

    all_in_protection: AllInProtection | None = None
    """Whether he is all in for what he has paid for, instead of a fold; null is not."""

    buffer_seconds: Seconds = 3
    """The system's time between the turn end and the grace, in which words that were on their way
    still arrive; 0 is no buffer.  Where `grace` is empty it is 0."""

    buffer_for: Literal["everyone", "away"] = "everyone"
    """Whom the buffer is for where the grace may follow: `everyone`, since the word of a loss may
    be on its way, or only those known to be `away`."""

    free_check: Literal["at_turn_end", "after_grace", "never"] = "at_turn_end"
    """When a free check is taken for one who is away: at once `at_turn_end`, or `after_grace`: then
    the grace runs although a check is free; or `never`: he is folded, after the grace too."""

    time_bank_while_away: Literal["in_grace_branch", "with_money_in_pot", "always", "never"] = (
        "in_grace_branch"
    )
    """Whether the time bank of one who is away runs: only where the grace would follow, only where
    he has money in the pot, always, or never.  Where `grace` is empty it is `never`, unless given.
    """

    min_seconds_after_return: Seconds = 0
    """Who comes back has the rest of the grace to act, but on his first return in a turn at least
    so many seconds."""

    max_seconds_after_return: Annotated[Seconds, Field(gt=0)] | None = None
    """And on his first return at most so many; null is no limit.  The same as
    `min_seconds_after_return`: he has so many fresh seconds, whatever is left of the grace."""

    away_before_turn: Literal["same", "no_grace"] = "same"
    """Who was away before his turn began and stays away: the `same` as one who left during it, or
    `no_grace` for him."""

    away_status: Literal["not_offered", "check_else_fold", "fold"] = "not_offered"
    """What is done, at once, in the turns of a player who has said that he is away
    (`player.away`), until he says that he is back, or acts: a check where it is free, else a fold;
    or always a `fold`.  Where it is `not_offered` what he says has no effect."""

    connected_but_silent: Literal["check_else_fold", "engine"] = "check_else_fold"
    """Who is connected at the turn end and has not acted: a check where it is free, else a fold; or
    nothing is decided and the turn is left to the `engine`."""

    storm: StormRule = StormRule()
    """Many players lost at once: when that is told, and whether decisions are held."""

    advice: tuple[Advice, ...] = ()
    """What the backend is advised to do with a seat whose player does not come back."""

    @model_validator(mode="before")
    @classmethod
    def _without_grace(cls, keys: Any) -> Any:  # noqa: ANN401 - whatever a file holds
        if isinstance(keys, Mapping) and keys.get("grace") in ([], ()):
            return {**WITHOUT_GRACE, **keys}
        return keys

    @model_validator(mode="after")
    def _can_be(self) -> Self:
        if found := tuple(contradictions(self)):
            raise Contradictions(found)
        return self

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the rules: two policies that decide alike by their keys share it."""
        # Without what is as it is where nothing is said, so that a key more changes no digest.
        return long(self.model_dump_json(exclude={"source"}, exclude_defaults=True))[:16]

    @cached_property
    def buffer(self) -> int:
        """The buffer in microseconds."""
        return from_seconds(self.buffer_seconds)

    @cached_property
    def after_return(self) -> int:
        """The least time to act after a return, in microseconds."""
        return from_seconds(self.min_seconds_after_return)

    def until_after_return(self, returned: int, grace_end: int) -> int:
        """Return until when one who is back for the first time may act, in microseconds."""
        until = max(grace_end, returned + self.after_return) if self.after_return else grace_end
        if self.max_seconds_after_return is None:
            return until
        return min(until, returned + from_seconds(self.max_seconds_after_return))

    def grace_for(self, pot: int, big_blind: int, turn_time: int) -> int:
        """Return the grace in microseconds for a pot and a turn time.

        `pot` is the one that counts, in the unit of the big blind; 0 where the ladder is empty.
        """
        size = in_big_blinds(pot, big_blind)
        return next((step.lasts(turn_time) for step in self.grace if step.is_for(size)), 0)

    def uncovered(self, format_: str, kind: str, variant: str | None) -> str | None:
        """Return why a turn is not covered: `format`, `kind` or `variant`; None if it is."""
        if format_ not in self.covers_formats:
            return "format"
        if (kind == "bring_in" and not self.covers_bring_ins) or (
            kind == "draw" and not self.covers_draws
        ):
            return "kind"
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
