"""Why a turn ends otherwise under another policy: which of their differences it comes from.

It is found by trying: each difference alone is carried over into the one policy, and the record is
replayed under that.  A difference with which a turn ends as under the other policy explains it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actors.policy_commands.comparing import Difference, differences
from actors.replays.changes import Comparison
from actors.replays.endings import Answer, TurnKey
from actors.replays.recorded import Stimulus
from actors.replays.replay import replay
from statecharts.policy import Policy

Answers = Mapping[TurnKey, Answer]
Reasons = Mapping[TurnKey, tuple[str, ...]]
"""The headings of the differences that explain a turn's change: one, or several of which each
would do; or those without each of which it would not change; else all."""


def reasons(
    comparison: Comparison,
    one: Policy,
    other: Policy,
    stimuli: Sequence[Stimulus],
    acts_after: int | None,
) -> Reasons:
    """Explain every changed turn."""
    changed = {key: pair for key, pair in comparison.turns.items() if not pair.is_same}
    if not changed:
        return {}
    tables = {"", *(table_id for table_id, _ in changed)}  # "" is a gateway's reset
    theirs = [stimulus for stimulus in stimuli if stimulus.event.table_id in tables]
    found = list(differences(one, other))

    def tried(base: Policy, giver: Policy) -> dict[str, Answers]:
        """Carry each difference over from a policy into another, one at a time."""
        return {
            each.heading: _answers(theirs, _with(base, giver, each), acts_after) for each in found
        }

    wanted = {key: pair.other.answer for key, pair in changed.items()}
    enough = tried(one, other)
    told = {
        key: tuple(heading for heading, answers in enough.items() if answers[key] == answer)
        for key, answer in wanted.items()
    }
    if all(told.values()):
        return told
    needed = tried(other, one)
    return {
        key: headings
        or tuple(heading for heading, answers in needed.items() if answers[key] != wanted[key])
        or tuple(enough)
        for key, headings in told.items()
    }


def _answers(stimuli: Sequence[Stimulus], policy: Policy, acts_after: int | None) -> Answers:
    endings = replay(stimuli, policy, acts_after).endings
    return {key: ending.answer for key, ending in endings.items()}


def _with(base: Policy, giver: Policy, difference: Difference) -> Policy:
    """Return a policy with some keys of another's.

    Not checked as a room's would be: a key that has no effect beside the others does no harm here.
    """
    keys = {key: getattr(base, key) for key in Policy.model_fields}
    keys |= {key: getattr(giver, key) for key in difference.keys}
    return Policy.model_construct(**keys)
