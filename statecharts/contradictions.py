"""What a policy cannot say: keys that contradict each other, or that nothing would use.

A key that has no effect is refused rather than ignored: who wrote it believes that it has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from statecharts.policy import Policy

NO_GRACE = "`grace` is empty"


class Contradiction(NamedTuple):
    """The key that is to be changed, and why."""

    key: str
    reason: str


class Contradictions(ValueError):
    """All the contradictions of a policy."""

    def __init__(self, found: tuple[Contradiction, ...]) -> None:
        """`found` must not be empty."""
        super().__init__("; ".join(f"{key}: {reason}" for key, reason in found))
        self.found = found


def contradictions(policy: Policy) -> Iterator[Contradiction]:
    """Yield what a policy says that cannot be."""
    if policy.grace:
        yield from _with_a_grace(policy)
    else:
        yield from _without_a_grace(policy)
    yield from _of_the_limits(policy)
    yield from _of_the_advice(policy)


def _with_a_grace(policy: Policy) -> Iterator[Contradiction]:
    if policy.pot_that_counts == "main" and len(policy.grace) == 1:
        yield Contradiction(
            "pot_that_counts", "`grace` has one step, so the size of the pot decides nothing"
        )
    if policy.buffer_for == "away" and not policy.buffer_seconds:
        yield Contradiction("buffer_for", "there is no buffer: `buffer_seconds` is 0")
    most = policy.max_seconds_after_return
    if most is not None and most < policy.buffer_seconds:
        yield Contradiction(
            "max_seconds_after_return",
            f"{most:g} is below buffer_seconds, {policy.buffer_seconds:g}: who comes back in the "
            "buffer would be decided for before it is over",
        )
    if most is not None and most < policy.min_seconds_after_return:
        yield Contradiction(
            "max_seconds_after_return",
            f"{most:g} is below min_seconds_after_return, {policy.min_seconds_after_return:g}",
        )
    if policy.grace_counts_from == "loss" and policy.buffer_seconds:
        yield Contradiction(
            "grace_counts_from",
            "counted from the loss the grace runs already when the buffer begins: set "
            "buffer_seconds to 0",
        )
    if policy.budget and policy.min_seconds_after_return:
        yield Contradiction(
            "min_seconds_after_return",
            "would give more than `budget` has: leave one of them out",
        )


def _of_the_limits(policy: Policy) -> Iterator[Contradiction]:
    budget = policy.budget
    if budget is None:
        return
    if budget.per == "hand" and (budget.refill_every_hands or budget.refill_seconds):
        yield Contradiction("budget", "is new for each hand, so nothing of it is ever refilled")
    elif budget.refill_seconds is not None and budget.refill_every_hands is None:
        yield Contradiction("budget", "has refill_seconds, but no refill_every_hands")
    elif budget.refill_seconds is not None and budget.refill_seconds >= budget.seconds:
        yield Contradiction("budget", "refill_seconds is all of it: leave refill_seconds out")


def _of_the_advice(policy: Policy) -> Iterator[Contradiction]:
    counted = [(one.advise, one.after_decisions, one.after_hands) for one in policy.advice]
    if len(set(counted)) < len(counted):
        yield Contradiction("advice", "the same advice stands there twice")


def _without_a_grace(policy: Policy) -> Iterator[Contradiction]:
    if policy.buffer_seconds:
        yield Contradiction(
            "buffer_seconds",
            f"the buffer stands before the grace, and {NO_GRACE}: 0, or leave the key out",
        )
    if policy.free_check == "after_grace":
        yield Contradiction("free_check", f"{NO_GRACE}: use at_turn_end or never")
    if policy.time_bank_while_away == "in_grace_branch":
        yield Contradiction(
            "time_bank_while_away", f"{NO_GRACE}: use always, never or with_money_in_pot"
        )
    for key in (
        "grace_needs",
        "pot_that_counts",
        "buffer_for",
        "min_seconds_after_return",
        "max_seconds_after_return",
        "away_before_turn",
        "grace_counts_from",
        "grace_uses_per_turn",
        "grace_uses_per_hand",
        "budget",
    ):
        if getattr(policy, key) != type(policy).model_fields[key].default:
            yield Contradiction(key, f"has no effect, since {NO_GRACE}: leave the key out")
