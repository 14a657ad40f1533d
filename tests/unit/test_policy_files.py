"""Policy files: each fault is told with line, key and reason; what cannot be is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from actors import policies, policy_faults
from actors.policies import PolicyError
from statecharts.ladder import GraceStep
from statecharts.policy import Policy

MALFORMED = [
    (
        "name: x\ngrace: [{seconds: 15}]\nbufer_seconds: 3\n",
        (3, "bufer_seconds", "there is no such key; did you mean buffer_seconds?"),
    ),
    (
        "name: x\ngrace:\n  - {pot_below_big_blinds: 5, seconds: soon}\n  - {seconds: 25}\n",
        (3, "grace, number 1, seconds", "must be a number from 0 to 86400"),
    ),
    (
        (
            "name: x\ngrace:\n  - {pot_below_big_blinds: 5, seconds: 15}\n  - seconds: 25\n"
            "    turn_time_factor: 2\n"
        ),
        (4, "grace, number 2", "a step has either seconds or turn_time_factor, and one of them"),
    ),
    (
        "name: x\n\n# The ladder.\ngrace: [{seconds: 15}, {seconds: 25}]\n",
        (
            4,
            "grace",
            (
                "every step but the last needs pot_below_big_blinds or pot_at_most_big_blinds, "
                "the last has none"
            ),
        ),
    ),
    (
        "name: x\ngrace: [{seconds: 15}]\nfree_check: later\n",
        (3, "free_check", "must be at_turn_end or after_grace or never"),
    ),
    (
        "source: here\ngrace: [{seconds: 15}]\n",
        (
            1,
            "name",
            (
                "is missing; it must be text of small letters, digits, - and _, 64 at the most, "
                "beginning with a letter or digit"
            ),
        ),
    ),
    (
        "name: x\ngrace: [{seconds: 15}]\nbuffer_seconds: 3\nbuffer_seconds: 5\n",
        (4, "buffer_seconds", "stands in line 3 already"),
    ),
    (
        "name: x\ngrace: []\nmin_seconds_after_return: 10\n",
        (3, "min_seconds_after_return", "has no effect, since `grace` is empty: leave the key out"),
    ),
    (
        (
            "name: x\ngrace: [{seconds: 15}]\nmin_seconds_after_return: 20\n"
            "max_seconds_after_return: 10\n"
        ),
        (4, "max_seconds_after_return", "10 is below min_seconds_after_return, 20"),
    ),
    (
        "name: x\ngrace: [{seconds: 15}\nbuffer_seconds: 3\n",
        (3, "policy", "not YAML: expected ',' or ']', but got '<scalar>'"),
    ),
    ("- name: x\n", (1, "policy", "a policy is a mapping of keys, such as `buffer_seconds: 3`")),
    (
        "name: x\ngrace: [{seconds: 15}]\ncovers_formats: [cash, sit-and-go]\n",
        (3, "covers_formats, number 2", "must be cash or tournament"),
    ),
    (
        "name: x\ngrace: [{seconds: 0}]\n",
        (
            2,
            "grace",
            "no step gives any time; [] is the ladder of a room without a grace",
        ),
    ),
    (
        "name: x\ngrace: [{seconds: 15}]\nbudget:\n  seconds: 120\n  per: week\n",
        (5, "budget, per", "must be hand or session or table"),
    ),
    (
        "name: x\ngrace: [{seconds: 15}]\nbudget: {seconds: 120, per: table, refill_hands: 30}\n",
        (3, "budget, refill_hands", "there is no such key; did you mean refill_every_hands?"),
    ),
    (
        "name: x\ngrace: [{seconds: 15}]\nall_in_protection: {uses: 1.5}\n",
        (3, "all_in_protection, uses", "must be a whole number from 1 to 10000"),
    ),
    (
        "name: x\ngrace: [{seconds: 15}]\nstorm:\n  share: 1\n",
        (4, "storm, share", "must be a number above 0, up to less than 1"),
    ),
    (
        "name: x\ngrace: [{seconds: 15}]\nadvice:\n  - {advise: sit_out}\n",
        (
            4,
            "advice, number 1",
            "an advice has either after_decisions or after_hands, and one of them",
        ),
    ),
    (
        "name: x\ngrace: [{seconds: 15}]\ncovers_draws: maybe\n",
        (3, "covers_draws", "must be true or false"),
    ),
    (
        "name: x\ngrace: [{seconds: 15}]\nmax_seconds_after_return: 0\n",
        (3, "max_seconds_after_return", "must be a number above 0, up to 86400"),
    ),
]


@pytest.mark.parametrize(("text", "fault"), MALFORMED)
def test_a_malformed_file_is_told_with_line_key_and_reason(
    text: str, fault: tuple[int, str, str]
) -> None:
    policy, faults = policy_faults.read(text)
    assert policy is None
    assert faults == (fault,)


CONTRADICTIONS = [
    ("grace: []", "buffer_seconds: 3", "the buffer stands before the grace"),
    ("grace: []", "free_check: after_grace", "use at_turn_end or never"),
    ("grace: []", "time_bank_while_away: in_grace_branch", "use always, never or"),
    ("grace: []", "grace_needs: nothing", "has no effect"),
    ("grace: []", "pot_that_counts: main", "has no effect"),
    ("grace: []", "buffer_for: away", "has no effect"),
    ("grace: []", "max_seconds_after_return: 10", "has no effect"),
    ("grace: []", "away_before_turn: no_grace", "has no effect"),
    ("grace: []", "grace_counts_from: loss", "has no effect"),
    ("grace: []", "grace_uses_per_turn: 1", "has no effect"),
    ("grace: []", "grace_uses_per_hand: 1", "has no effect"),
    ("grace: []", "budget: {seconds: 9, per: hand}", "has no effect"),
    ("grace: [{seconds: 15}]", "grace_counts_from: loss", "set buffer_seconds to 0"),
    (
        "{grace: [{seconds: 15}], buffer_seconds: 0",
        "budget: {seconds: 9, per: hand, refill_every_hands: 2}",
        "new for each hand",
    ),
    (
        "grace: [{seconds: 15}]",
        "budget: {seconds: 9, per: table, refill_seconds: 2}",
        "no refill_every_hands",
    ),
    (
        "grace: [{seconds: 15}]",
        "budget: {seconds: 9, per: table, refill_every_hands: 2, refill_seconds: 9}",
        "leave refill_seconds out",
    ),
    (
        "grace: [{seconds: 15}]",
        "advice: [{advise: vacate, after_hands: 2}, {advise: vacate, after_hands: 2}]",
        "twice",
    ),
    ("grace: [{seconds: 15}]", "pot_that_counts: main", "the size of the pot decides nothing"),
    ("{grace: [{seconds: 15}], buffer_seconds: 0", "buffer_for: away", "there is no buffer"),
]


@pytest.mark.parametrize(("grace", "key", "reason"), CONTRADICTIONS)
def test_what_contradicts_itself_is_refused_with_key_and_reason(
    grace: str, key: str, reason: str
) -> None:
    lines = ["name: x", *grace.removeprefix("{").split(", buffer_"), key]
    lines = [f"buffer_{line}" if line.startswith("seconds") else line for line in lines]
    _, [fault] = policy_faults.read("\n".join(lines))
    assert (fault.line, fault.key) == (len(lines), key.partition(":")[0])
    assert reason in fault.reason


def test_every_fault_of_a_file_is_told_in_order_of_lines() -> None:
    text = "name: X\ngrace: []\ncolour: red\ngrace_needs: nothing\nbuffer_seconds: 3\nfree_check: 1"
    _, faults = policy_faults.read(text)
    assert [(fault.line, fault.key) for fault in faults] == [
        (1, "name"),
        (3, "colour"),
        (4, "grace_needs"),
        (5, "buffer_seconds"),
        (6, "free_check"),
    ]


def test_a_file_that_the_service_is_to_use_is_refused_with_the_lines(tmp_path: Path) -> None:
    file = tmp_path / "house.yaml"
    file.write_text("name: x\ngrace: [{seconds: -1}]\nbuffer_seconds: soon\n")
    with pytest.raises(PolicyError, match=r"yaml:2: grace, .*\n.*yaml:3: buffer_seconds: "):
        policies.find(str(file))


def test_without_a_grace_the_keys_that_belong_to_it_need_not_be_given() -> None:
    policy, _ = policy_faults.read("name: x\ngrace: []\n")
    assert policy is not None
    assert (policy.buffer_seconds, policy.time_bank_while_away) == (0, "never")
    kept = policy.model_dump(mode="json", exclude_defaults=True)  # as the journal keeps it
    assert Policy.model_validate(kept).digest == policy.digest


@pytest.mark.parametrize("name", policies.bundled().by_name)
def test_a_bundled_policy_says_where_it_comes_from_and_has_its_scenarios(name: str) -> None:
    folder = Path(policies.__file__).parent.parent / "statecharts" / "policies"
    assert policies.bundled().by_name[name].source
    file = yaml.safe_load((folder / "scenarios" / f"{name}.yaml").read_text())
    assert file["policy"] == name


def test_adda52_is_all_defaults() -> None:
    adda52 = policies.bundled().default
    given = adda52.model_dump(exclude_defaults=True, exclude={"name", "source", "grace"})
    assert given == {}


def test_steps_are_for_pots_below_or_up_to_their_bound() -> None:
    ladder = (
        GraceStep(pot_below_big_blinds=5, seconds=10),
        GraceStep(pot_at_most_big_blinds=5, seconds=20),
        GraceStep(pot_at_most_big_blinds=100, turn_time_factor=1.5),
        GraceStep(turn_time_factor=3),
    )
    policy = Policy(name="x", grace=ladder)
    given = [policy.grace_for(pot, 100, 20_000_000) for pot in (499, 500, 501, 10_000, 10_001)]
    assert [one / 1_000_000 for one in given] == [10, 20, 30, 30, 60]
