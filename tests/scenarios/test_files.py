"""Scenario files: those that come with the product, and those of the policy's readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors import scenarios
from actors.policies import PolicyError
from actors.scenarios import Scenario, ScenarioError
from statecharts.policy import Policies

BUNDLED = Path(scenarios.__file__).parent.parent / "statecharts" / "policies" / "scenarios"
# Expectations kept beside the project, where they are; the product does not need them.
SHARED = Path(__file__).parents[3] / "shared" / "scenarios"
FILES = [
    (whose, file)
    for whose, folder in (("ours", BUNDLED), ("readers'", SHARED))
    for file in sorted(folder.glob("*.yaml"))
]
CASES = [
    pytest.param(known, case, id=f"{whose} {file.stem}: {case.name}")
    for whose, file in FILES
    for known, cases in [scenarios.load(file)]
    for case in cases
]


@pytest.mark.parametrize(("known", "case"), CASES)
def test_all_comes_as_expected(known: Policies, case: Scenario) -> None:
    assert scenarios.play(case, known) == []


@pytest.mark.skipif(not SHARED.is_dir(), reason="the readers' scenarios are not on this machine")
def test_the_readers_scenarios_are_played() -> None:
    assert len(list(SHARED.glob("*.yaml"))) >= 2


ONE = """
scenarios:
  - name: silent
    events: [[0, turn.started, {{to_call: 0, contributed: 50, pots: [150], time_bank_seconds: 5}}]]
    {}
"""


@pytest.mark.parametrize(
    "wrong",
    [
        "decisions: []",
        "decisions: [[24, check, {rule: turn-timeout}]]",
        "decisions: [[25, fold, {rule: turn-timeout}]]",
        "decisions: [[25, check, {rule: check-available}]]",
        "decisions: [[25, check, {turn_id: another}]]",
        "decisions: [[25, check, {colour: red}]]",
        "decisions: [[25, check], [26, check]]",
        "states: [[0, acting], [20, time_bank]]",
        "states: [[0, acting], [20, time_bank, 26], [25, auto_action]]",
        "states: [[0, acting], [20, time_bank], [25, auto_action, {seat: 2}]]",
        "states: [[0, acting], [20, buffer], [25, auto_action]]",
        "uncovered: [[0, h1-1]]",
        "refused: [[0, invalid]]",
        "time_bank_used: [[25, 4]]",
    ],
)
def test_a_wrong_expectation_fails(tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(ONE.format(wrong))
    known, [case] = scenarios.load(file)
    assert [difference.what for difference in scenarios.play(case, known)] == [
        wrong.partition(":")[0]
    ]


@pytest.mark.parametrize(
    "right",
    [
        "decisions: [[25, check]]",
        "decisions: [[25.0, check, {rule: turn-timeout, seat: 1, table: t1, turn_id: h1-1}]]",
        "states: [[0, acting], [20, time_bank, 25], [25, auto_action, null]]",
        "states: [[0, acting, 20], [20, time_bank], [25, auto_action, {seat: 1, table: t1}]]",
        "{uncovered: [], refused: [], time_bank_used: [[25, 5]]}",
    ],
)
def test_a_right_expectation_passes(tmp_path: Path, right: str) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(ONE.format(right if right[0] != "{" else right[1:-1].replace("], ", "]\n    ")))
    known, [case] = scenarios.load(file)
    assert scenarios.play(case, known) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("scenarios: [", "cannot be read"),
        ("- 1", "Input should be"),
        ("scenarios: []", "scenarios"),
        ("scenarios: [{name: x, events: [[0, turn.started, {}]]}]", "expects nothing"),
        ("scenarios: [{name: x, events: [[0]], decisions: []}]", "events.0"),
        ("scenarios: [{name: x, events: [], decisions: [], colour: red}]", "colour"),
        (
            "scenarios: [{name: x, events: [[0, turn.started, {arrives: soon}]], decisions: []}]",
            "arrives",
        ),
        (
            "scenarios: [{name: x, events: [[0, turn.started, {arrives: .nan}]], decisions: []}]",
            "a number of seconds since the start",
        ),
        (
            "scenarios: [{name: x, events: [[0, turn.started, {a: 2026-01-01}]], decisions: []}]",
            "a date needs quotes",
        ),
        (
            "scenarios:\n- name: x\n  events: []\n  decisions: []\n  decisions: [[1, fold]]\n",
            ":5: decisions: stands in line 4 already",
        ),
        ("scenarios: " + "[" * 5000, "nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_played_is_named_with_the_reason(
    tmp_path: Path, text: str, told: str
) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(text)
    with pytest.raises(ScenarioError, match=r"broken\.yaml") as error:
        scenarios.load(file)
    assert told in str(error.value)


def test_a_policy_in_the_file_that_cannot_be_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "case.yaml"
    file.write_text(
        "policy:\n  name: x\n  grace: [{seconds: soon}]\n"
        "scenarios: [{name: x, events: [], decisions: []}]\n"
    )
    with pytest.raises(PolicyError, match=r"case\.yaml:3: grace, number 1, seconds: must be a num"):
        scenarios.load(file)


def test_a_policy_may_stand_in_the_file_or_beside_it(tmp_path: Path) -> None:
    policy = "{name: quick, buffer_seconds: 1, grace: [{seconds: 2}]}"
    (tmp_path / "quick.yaml").write_text(policy)
    for number, reference in enumerate((policy, "quick.yaml")):
        file = tmp_path / f"case{number}.yaml"
        file.write_text(
            f"policy: {reference}\n"
            "scenarios:\n"
            "  - name: quick\n"
            "    events:\n"
            "      - [0, turn.started, {to_call: 100, contributed: 50, pots: [150]}]\n"
            "      - [5, player.disconnected, {}]\n"
            "    decisions: [[23, fold, {rule: grace-expired}]]\n"
        )
        known, [case] = scenarios.load(file)
        assert scenarios.play(case, known) == []
