"""Policies made by chance: each is refused for a contradiction that is named, or it works.

All pairs of values of two keys, the others as adda52 has them, and some hundred drawn over all
keys.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Mapping
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
from tests.property.rooms import ADDA52_LADDER, VALUES

ALL: Mapping[str, list[Any]] = {
    **VALUES,
    "covers_discards": [["Crazy Pineapple"], []],
    "away_before_turn": ["same", "no_grace"],
}
DRAWN = 300


def _made() -> Iterator[dict[str, Any]]:
    for (one, values), (other, others) in itertools.combinations(ALL.items(), 2):
        for value, another in itertools.product(values, others):
            yield {"grace": ADDA52_LADDER, one: value, other: another}
    for number in range(DRAWN):
        chance = random.Random(number)
        yield {
            "grace": ADDA52_LADDER,
            **{key: chance.choice(values) for key, values in ALL.items() if chance.random() < 0.6},
        }


def _is_usual(key: str, value: object) -> bool:
    return key != "grace" and value == ALL[key][0]


# A pair with a usual value is made once, not once for each other key.
MADE = [
    {"name": "made", **keys}
    for keys in {
        json.dumps({key: value for key, value in keys.items() if not _is_usual(key, value)}): keys
        for keys in _made()
    }.values()
]

TURNS: list[dict[str, Any]] = [
    {"to_call": 0, "contributed": 50, "pots": [150], "time_bank_seconds": 5},
    {"to_call": 0, "pots": [150]},
    {"to_call": 100, "pots": [150], "time_bank_seconds": 5},
    {"to_call": 100, "contributed": 50, "contributed_voluntarily": 0, "pots": [150, 350]},
    {"to_call": 100, "contributed": 50, "pots": [450, 51], "time_bank_seconds": 5},
    {"kind": "discard", "cards": ["As", "Kd", "7c"]},
]
WORDS: list[list[list[Any]]] = [
    [],
    [[5, "player.disconnected", {}]],
    [[-1, "player.connected", {}], [-1, "player.disconnected", {}]],
    [[5, "player.disconnected", {}], [22, "player.connected", {"session_id": "s2"}]],
    [
        [5, "player.disconnected", {}],
        [26, "player.connected", {"session_id": "s2"}],
        [27, "player.disconnected", {"session_id": "s2"}],
        [29, "player.connected", {"session_id": "s2"}],
    ],
    [[22, "player.disconnected", {"arrives": 22}]],
]


def _events() -> list[list[Any]]:
    """Every turn with every course of words, each at a table of its own."""
    return [
        [seconds, name, {**data, "table": f"t{number}"}]
        for number, (turn, words) in enumerate(itertools.product(TURNS, WORDS))
        for seconds, name, data in sorted(
            [[0, "turn.started", turn], *words], key=lambda event: event[0]
        )
    ]


SCENARIO = Scenario.model_validate(
    {"name": "all", "events": _events(), "states": [], "decisions": []}
)


@pytest.mark.parametrize("part", range(8))
def test_a_policy_is_refused_for_a_contradiction_or_works(part: int) -> None:
    worked = 0
    for keys in MADE[part::8]:
        policy, faults = policy_faults.read(yaml.safe_dump(keys, sort_keys=False))
        if policy is None:
            assert faults
            assert all(fault.key in keys and fault.reason for fault in faults), faults
            continue
        worked += 1
        _check(policy)
    assert worked


def _check(policy: Policy) -> None:
    came = {one.what: one.came for one in scenarios.play(SCENARIO, policies.with_default(policy))}
    decided = {(one[2]["table"], one[2]["turn_id"]): one for one in came["decisions"]}
    assert len(decided) == len(came["decisions"])
    assert {Rule(one[2]["rule"]) for one in decided.values()} <= given_by(policy)
    left = {one[3]["table"] for one in came["states"] if one[1] == "idle"}
    assert len(decided) + len(left) == len(TURNS) * len(WORDS)
    assert not left or policy.connected_but_silent == "engine"
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
    working = [keys for keys in MADE if policy_faults.read(yaml.safe_dump(keys))[0] is not None]
    for key, values in ALL.items():
        for value in values:
            assert any(keys.get(key) == value for keys in working), (key, value)
