"""A comparison as JSON types: the same inputs give the same bytes.  Durations are in seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from actors.policy_commands.comparing import differences
from actors.replays.changes import Change, Pair, Spread, spread
from actors.replays.endings import Answer, Ending, TurnKey
from actors.replays.question import Answered
from actors.replays.reasons import Reasons
from statecharts.instants import SECOND, to_rfc3339
from statecharts.policy import Policy
from statecharts.rules import GROUNDS, Rule


def plain(answered: Answered) -> dict[str, Any]:
    """Return all of it; `a` is the one policy and `b` the other."""
    found = answered.comparison
    return {
        "policies": {"a": _policy(answered.one), "b": _policy(answered.other)},
        "record": dict(answered.record),
        "hands": len(found.waiting.one),
        "turns": len(found.turns),
        "turns_with_absence": found.with_absence,
        "refused": [{"line": line, "reason": reason} for line, reason in found.refused],
        "endings": [
            {**_answer(answer), "a": one, "b": other} for answer, one, other in found.answers()
        ],
        "same": len(found.turns) - found.changed,
        "same_at_another_time": {
            "later": _spread(later for later in found.moved if later > 0),
            "earlier": _spread(later for later in found.moved if later < 0),
        },
        "changed": found.changed,
        "decided_by_a_and_played_by_himself_under_b": found.decided_alone[0],
        "decided_by_b_and_played_by_himself_under_a": found.decided_alone[1],
        "changes": [_change(change, answered.reasons) for change in found.changes],
        "differences": [
            {"heading": one.heading, "keys": list(one.keys), "a": one.one, "b": one.other}
            for one in differences(answered.one, answered.other)
        ],
        "waiting_seconds_per_hand": {
            "a": _spread(found.waiting.one.values()),
            "b": _spread(found.waiting.other.values()),
            "added": _spread(found.waiting.added.values()),
        },
    }


def _policy(policy: Policy) -> dict[str, str]:
    return {"name": policy.name, "digest": policy.digest}


def _answer(answer: Answer) -> dict[str, str]:
    told = {name: value for name, value in answer._asdict().items() if value}
    sentence = {"sentence": GROUNDS[Rule(answer.rule)].sentence} if answer.rule else {}
    return {**{name: str(value) for name, value in told.items()}, **sentence}


def _change(change: Change, reasons: Reasons) -> dict[str, Any]:
    because = Counter(heading for key in change.turns for heading in reasons[key])
    return {
        "a": _answer(change.one),
        "b": _answer(change.other),
        "count": len(change.turns),
        "later": _told(change.later),
        "because_of": dict(sorted(because.items(), key=lambda one: (-one[1], one[0]))),
        "turns": [_turn(key, pair, reasons) for key, pair in change.turns.items()],
    }


def _turn(key: TurnKey, pair: Pair, reasons: Reasons) -> dict[str, Any]:
    met = pair.met
    return {
        "table_id": key[0],
        "seat": met.event.seat,
        "hand_id": met.data.hand_id,
        "turn_id": key[1],
        "started": to_rfc3339(met.started),
        "connected": [
            {"at": seconds(at - met.started), "connected": connected}
            for at, connected in met.presence
        ],
        "a": _ending(pair.one, met.started),
        "b": _ending(pair.other, met.started),
        "because_of": list(reasons[key]),
    }


def _ending(ending: Ending, started: int) -> dict[str, Any]:
    told = {name: str(value) for name, value in ending.answer._asdict().items() if value}
    return {**told, "at": seconds(ending.at - started)}


def _spread(durations: Iterable[int]) -> Mapping[str, float] | None:
    return _told(spread(durations))


def _told(found: Spread | None) -> Mapping[str, float] | None:
    if found is None:
        return None
    return {
        "count": found.number,
        **{name: seconds(getattr(found, name)) for name in ("median", "mean", "least", "most")},
    }


def seconds(microseconds: float) -> float:
    """Return seconds, to the millisecond."""
    return round(microseconds / SECOND, 3)
