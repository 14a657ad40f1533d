"""Policies made by chance: each is refused for a contradiction that is named, or it works.

All pairs of values of two keys, keys within keys too, the others as adda52 has them; and a thousand
drawn over all keys.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

import statecharts
from actors import policies, policy_faults, scenarios
from actors.policy_commands.comparing import differences
from actors.policy_commands.comparing import given as given_by
from actors.policy_commands.sentences import explained
from actors.scenarios import Scenario
from statecharts.policy import Policy
from statecharts.rules import Rule
from tests.property.rooms import ADDA52_LADDER, VALUES, nested

DRAWN = 1000
PARTS = 8
Keys = dict[str, Any]


def _made() -> Iterator[Keys]:
    for (one, values), (other, others) in itertools.combinations(VALUES.items(), 2):
        for value, another in itertools.product(values, others):
            yield {one: value, other: another}
    for number in range(DRAWN):
        chance = random.Random(number)
        likely = chance.choice((0.1, 0.3, 0.6))
        yield {k: chance.choice(values) for k, values in VALUES.items() if chance.random() < likely}


def _is_usual(key: str, value: object) -> bool:
    """Whether a key may as well be left out; of a part, its own usual value makes it one."""
    return "." not in key and value == VALUES[key][0]


def _without_usual(keys: Keys) -> Keys:
    return {key: value for key, value in keys.items() if not _is_usual(key, value)}


def _file(keys: Keys) -> Keys:
    return {"name": "made", "grace": ADDA52_LADDER, **nested(keys)}


# A pair with a usual value is made once, not once for each other key.
MADE = [
    *{
        json.dumps(nested(keys), sort_keys=True): keys for keys in map(_without_usual, _made())
    }.values()
]

# Courses of play, each at a table of its own and long after the one before it: one storm at a time.

Course = list[list[Any]]
FACING: Keys = {"to_call": 100, "contributed": 50, "pots": [450], "turn_seconds": 20}
TURNS: list[Keys] = [
    {"to_call": 0, "contributed": 50, "pots": [150], "time_bank_seconds": 5},
    {"to_call": 0, "pots": [150]},
    {"to_call": 100, "pots": [150], "time_bank_seconds": 5},
    {"to_call": 100, "contributed": 50, "contributed_voluntarily": 0, "pots": [150, 350]},
    {"to_call": 100, "contributed": 50, "pots": [450, 51], "time_bank_seconds": 5},
    {"kind": "discard", "cards": ["As", "Kd", "7c"]},
]
WORDS: list[Course] = [
    [],
    [[5, "player.disconnected", {}]],
    [[-1, "player.connected", {}], [-1, "player.disconnected", {}]],
    [[5, "player.disconnected", {}], [22, "player.connected", {"session_id": "s2"}]],
    [
        [5, "player.disconnected", {}],
        [26, "player.connected", {"session_id": "s2"}],
        [27, "player.disconnected", {"session_id": "s2"}],
        [29, "player.connected", {"session_id": "s2"}],
        [30, "player.disconnected", {"session_id": "s2"}],
        [31, "player.connected", {"session_id": "s2"}],
        [32, "player.disconnected", {"session_id": "s2"}],
    ],
    [[22, "player.disconnected", {"arrives": 22}]],
    [[5, "player.away", {}], [5, "player.disconnected", {}]],
    [[5, "player.disconnected", {}], [10, "table.paused", {}], [30, "table.resumed", {}]],
]
OTHERS: list[Course] = [
    [[0, "turn.started", {"kind": "bring_in", "time_bank_seconds": 5}]],
    [[0, "player.disconnected", {}], [1, "turn.started", {"kind": "bring_in"}]],
    [[0, "turn.started", {"kind": "draw", "time_bank_seconds": 5}], [5, "player.away", {}]],
    [[0, "player.away", {}], [1, "turn.started", {"kind": "draw"}], [2, "player.back", {}]],
    [[0, "turn.started", {"format": "tournament", **FACING}], [5, "player.disconnected", {}]],
    [[0, "turn.started", {"kind": "discard", "cards": ["As", "7c"], "variant": "crazypineapple"}]],
    [[0, "turn.started", FACING], [5, "player.disconnected", {}], [19, "turn.extended",
     {"seconds": 5}], [27, "turn.cancelled", {}]],
]  # fmt: skip


def _away_in(hands: list[str], reason: str, *, between: Mapping[str, Course]) -> Course:
    """Play turns one after the other, in each of which he is lost, and not back before its end."""
    course: Course = []
    for number, hand in enumerate(hands):
        turn_id, session, at = f"{hand}-{number}", {"session_id": f"s{number}"}, 100 * number
        course += [
            [at, "player.connected", session],
            [at, "turn.started", {"hand_id": hand, "turn_id": turn_id, **FACING}],
            [at + 15, "player.disconnected", {**session, "reason": reason}],
            [at + 60, "turn.acted", {"hand_id": hand, "turn_id": turn_id, "by": "decision"}],
            *([at + 70, name, data] for name, data in between.get(str(number), [])),
        ]
    return course


def _hand_over(hand: str) -> list[Any]:
    return ["hand.ended", {"hand_id": hand}]


LONGER: list[Course] = [
    _away_in(["h1", "h1", "h1", "h2"], "ping-timeout", between={}),
    _away_in(["h1", "h2", "h3", "h4"], "closed",
             between={"0": [_hand_over("h1")], "1": [_hand_over("h2"), _hand_over("h3")]}),
    _away_in(["h1", "h2", "h3"], "kicked",
             between={"0": [["seat.vacated", {}]], "1": [["protection.reset", {}]]}),
]  # fmt: skip


def _storm(players: int, *, of: int, every: float) -> Course:
    """Some of the players lose their connection, one after the other."""
    ids = [{"player_id": f"p{n}", "turn_id": f"u{n}", "seat": n % 10 + 1, "also": n // 10}
           for n in range(of)]  # fmt: skip
    return [
        *([0, "turn.started", {**one, **FACING}] for one in ids),
        *([5 + every * n, "player.disconnected", one] for n, one in enumerate(ids[:players])),
    ]


STORMS: list[Course] = [
    _storm(24, of=30, every=0.3),
    _storm(3, of=5, every=0.1),
    _storm(4, of=5, every=0.1),
    _storm(3, of=4, every=2.5),
]
COURSES = [
    *(
        sorted([[0, "turn.started", turn], *words], key=lambda event: float(event[0]))
        for turn, words in itertools.product(TURNS, WORDS)
    ),
    *OTHERS,
    *LONGER,
    *STORMS,
]
APART = 1000


def _events(numbers: Iterable[int]) -> Course:
    return [
        [APART * number + seconds, name, _placed(data, number)]
        for number in numbers
        for seconds, name, data in COURSES[number]
    ]


def _placed(data: Keys, number: int) -> Keys:
    rest = {key: value for key, value in data.items() if key != "also"}
    later = {"arrives": APART * number + data["arrives"]} if "arrives" in data else {}
    return {**rest, **later, "table": f"t{number}.{data.get('also', 0)}"}


SOME = [
    Scenario.model_validate(
        {"name": "some", "events": _events(range(first, len(COURSES), 12)), "decisions": [],
         "states": [], "advice": [], "storms": [], "uncovered": [], "refused": []}
    )
    for first in range(12)
]  # fmt: skip
"""All of it takes too long for each policy: one plays every twelfth course."""


@pytest.mark.parametrize("part", range(PARTS))
def test_a_policy_is_refused_for_a_contradiction_or_works(part: int) -> None:
    worked = 0
    for number, keys in enumerate(MADE[part::PARTS]):
        file = _file(keys)
        policy, faults = policy_faults.read(yaml.safe_dump(file, sort_keys=False))
        if policy is None:
            assert faults
            named = {fault.key.partition(",")[0] for fault in faults if fault.reason}
            assert named <= file.keys(), faults
            continue
        worked += 1
        _check(policy, SOME[number % len(SOME)])
    assert worked


def _check(policy: Policy, scenario: Scenario) -> None:
    known = policies.with_default(policy)
    came = {one.what: one.came for one in scenarios.play(scenario, known)}
    assert "refused" not in came
    decided = {(one[2]["table"], one[2]["turn_id"]): one for one in came["decisions"]}
    assert len(decided) == len(came["decisions"])
    assert {Rule(one[2]["rule"]) for one in decided.values()} <= given_by(policy)
    last = {(one[3]["table"], one[3]["seat"]): one[1] for one in came["states"]}
    assert set(last.values()) <= {"auto_action", "idle"}
    assert "advice" not in came or policy.advice
    assert dict(explained(policy))
    assert not [*differences(policy, policy)]


BUNDLED = [
    file.read_text("utf-8")
    for file in sorted((Path(statecharts.__file__).parent / "policies").glob("*.yaml"))
]
PIECES = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["- ", ": ", "[", "{", "}", "&a ", "*a", "!!timestamp ", "!!int ", "2026-02-31"]
    ),
    st.sampled_from(["\n", "null", "~", ".inf", "1e400", "!!bool ", "? ", "<<: ", "---\n", "\t"]),
)


@given(
    text=st.one_of(st.text(), st.sampled_from(BUNDLED)),
    changes=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 20), PIECES), max_size=4),
)
@example(text="a: 2026-02-31", changes=[])
@example(text="a: !!timestamp x", changes=[])
@example(text="a: !!bool x", changes=[])
@example(text="grace: " + "[" * 5000, changes=[])
def test_whatever_a_file_holds_it_is_a_policy_or_has_faults(
    text: str, changes: list[tuple[int, int, str]]
) -> None:
    for place, length, piece in changes:
        at = place % (len(text) + 1)
        text = text[:at] + piece + text[at + length :]
    policy, faults = policy_faults.read(text)
    assert (policy is None) == bool(faults)
    lines = text.count("\n") + 2 + sum(map(text.count, "\r\x85\u2028\u2029"))
    assert all(1 <= fault.line <= lines and fault.key and fault.reason for fault in faults)


def test_each_value_of_each_key_works_somewhere() -> None:
    working = [keys for keys in MADE if policy_faults.read(yaml.safe_dump(_file(keys)))[0]]
    for key, values in VALUES.items():
        for value in values:
            if not _is_usual(key, value):
                assert any(keys.get(key) == value for keys in working), (key, value)
