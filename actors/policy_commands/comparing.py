"""Two policies beside each other: the keys that differ, in plain words, and the rules concerned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from actors.policy_commands.sentences import HEADINGS
from statecharts.policy import Policy
from statecharts.rules import Rule

_DISCARDS = (Rule.CHOSEN_CARD, Rule.RIGHTMOST_CARD)
_AFTER_GRACE = (
    Rule.GRACE_EXPIRED,
    Rule.CHECK_AFTER_GRACE,
    Rule.NO_FREE_CHECK,
    Rule.TURN_TIMEOUT,
)
_AT_ONCE = (Rule.CHECK_AVAILABLE, Rule.NOTHING_IN_POT, Rule.AWAY_BEFORE_TURN, Rule.NO_GRACE)

CONCERNS: Mapping[str, tuple[str, tuple[Rule, ...]]] = {
    "covers_formats": ("Games", tuple(Rule)),
    "covers_bring_ins": ("Bring-ins and draws", (Rule.BRING_IN_POSTED,)),
    "covers_draws": ("Bring-ins and draws", (Rule.STOOD_PAT,)),
    "covers_discards": ("Discards", _DISCARDS),
    "grace": ("Extra time", (*_AFTER_GRACE, *_AT_ONCE)),
    "grace_counts_from": ("Extra time", (*_AFTER_GRACE, Rule.GRACE_USED_UP)),
    "grace_uses_per_turn": ("Limits", _AFTER_GRACE),
    "grace_uses_per_hand": ("Limits", (*_AFTER_GRACE, Rule.GRACE_USED_UP)),
    "budget": ("Budget", (*_AFTER_GRACE, Rule.GRACE_USED_UP)),
    "all_in_protection": (
        "All-in protection",
        (Rule.ALL_IN_PROTECTED, Rule.GRACE_EXPIRED, Rule.GRACE_USED_UP, Rule.NO_GRACE),
    ),
    "pot_that_counts": ("Extra time", _AFTER_GRACE),
    "buffer_seconds": ("Buffer", _AFTER_GRACE),
    "buffer_for": ("Buffer", (Rule.TURN_TIMEOUT, Rule.GRACE_EXPIRED)),
    "grace_needs": ("Money in the pot", (Rule.NOTHING_IN_POT, *_AFTER_GRACE)),
    "time_bank_while_away": ("Time bank", (*_AT_ONCE, *_AFTER_GRACE)),
    "min_seconds_after_return": ("On return", _AFTER_GRACE),
    "max_seconds_after_return": ("On return", _AFTER_GRACE),
    "free_check": ("When it is over", (Rule.CHECK_AVAILABLE, *_AFTER_GRACE)),
    "away_before_turn": ("Away before the turn", (Rule.AWAY_BEFORE_TURN, *_AFTER_GRACE)),
    "away_status": ("Says he is away", tuple(Rule)),
    "connected_but_silent": ("Connected but silent", (Rule.TURN_TIMEOUT, *_DISCARDS)),
    "advice": ("Afterwards", ()),
    "storm": ("Many at once", (*_AT_ONCE, *_AFTER_GRACE)),
}
"""For each key the heading that tells of it, and the rules whose decisions it may change."""


class Difference(NamedTuple):
    """What is different under a heading; the sentences are of the one policy and of the other."""

    heading: str
    keys: tuple[str, ...]
    one: str
    other: str
    rules: tuple[Rule, ...]


def differences(one: Policy, other: Policy) -> Iterator[Difference]:
    """Yield what differs, heading by heading; `name` and `source` are no difference."""
    possible = given(one) | given(other)
    for heading, tell in HEADINGS.items():
        keys = tuple(
            key
            for key, (where, _) in CONCERNS.items()
            if where == heading and getattr(one, key) != getattr(other, key)
        )
        if keys:
            concerned = {rule for key in keys for rule in CONCERNS[key][1]}
            rules = tuple(rule for rule in Rule if rule in concerned & possible)
            yield Difference(heading, keys, tell(one) or "-", tell(other) or "-", rules)


def given(policy: Policy) -> frozenset[Rule]:
    """Return the rules by which a policy can decide at all."""
    some_have_no_grace = policy.grace_needs != "nothing" or policy.away_before_turn != "same"
    holds = policy.storm.hold_seconds > 0
    limited = (policy.budget, policy.grace_uses_per_hand) != (None, None)
    can_be = {
        Rule.CHECK_AVAILABLE: policy.free_check == "at_turn_end"
        or (policy.free_check == "after_grace" and some_have_no_grace),
        Rule.NOTHING_IN_POT: bool(policy.grace) and policy.grace_needs != "nothing",
        Rule.GRACE_EXPIRED: bool(policy.grace) or holds,
        Rule.TURN_TIMEOUT: bool(policy.grace) or holds or policy.connected_but_silent != "engine",
        Rule.AWAY_BEFORE_TURN: policy.away_before_turn != "same",
        Rule.NO_GRACE: not policy.grace,
        Rule.CHECK_AFTER_GRACE: policy.free_check == "after_grace"
        or (holds and policy.free_check == "at_turn_end"),
        Rule.NO_FREE_CHECK: policy.free_check == "never",
        Rule.CHOSEN_CARD: True,
        Rule.RIGHTMOST_CARD: True,
        Rule.BRING_IN_POSTED: policy.covers_bring_ins,
        Rule.STOOD_PAT: policy.covers_draws,
        Rule.GRACE_USED_UP: bool(policy.grace) and (limited or policy.grace_counts_from == "loss"),
        Rule.ALL_IN_PROTECTED: policy.all_in_protection is not None,
        Rule.AWAY_STATUS: policy.away_status != "not_offered",
    }
    return frozenset(rule for rule, is_possible in can_be.items() if is_possible)
