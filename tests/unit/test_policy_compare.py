"""The command `seatwarden policy compare`: what it prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from actors.cli import app
from actors.replays import hands

HANDS = Path(__file__).parents[2] / "actors" / "demo" / "hands"
NO_SUCH_CARD = """
[1]
variant = 'NT'
antes = [0, 0]
blinds_or_straddles = [5, 10]
min_bet = 10
starting_stacks = [100, 100]
actions = ['p2 cc', 'p1 cc', 'd db QzQzQz', 'p1 cc']
"""
SOME = ("--hands", str(HANDS / "made.phhs"))


BUNDLED, MADE = hands.load([]), hands.load([HANDS / "made.phhs"])
TURNS, MADE_TURNS = (sum(len(hand.turns) for hand in dealt) for dealt in (BUNDLED, MADE))


def call(*arguments: str, given: bytes = b"") -> Result:
    result = CliRunner().invoke(app, ["policy", "compare", *arguments], input=given)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def found(*arguments: str) -> dict[str, Any]:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    loaded = json.loads(result.stdout)
    assert isinstance(loaded, dict)
    return loaded


def test_the_bundled_hands_give_the_same_bytes_twice() -> None:
    first, second = (call("adda52", "sportsbook") for _ in range(2))
    assert first.exit_code == 0
    assert first.stdout_bytes == second.stdout_bytes
    assert f"{len(BUNDLED)} hands, {TURNS} turns" in first.stdout
    assert "check, check-available -> fold, no-free-check" in first.stdout
    assert "because of: When it is over" in first.stdout
    assert "this room folds a disconnected player also where a check is free" in " ".join(
        first.stdout.split()
    )


def test_another_seed_makes_up_other_connections() -> None:
    assert call("adda52", "sportsbook", *SOME).stdout != call(
        "adda52", "sportsbook", *SOME, "--seed", "2"
    ).stdout.replace("seed 2", "seed 1")


def test_a_policy_changes_nothing_against_itself() -> None:
    told = call("relax", "relax")
    assert f"Nothing changes: all {TURNS} turns end alike." in told.stdout
    same = found("relax", "relax")
    assert (same["changed"], same["changes"], same["differences"]) == (0, [], [])
    assert same["waiting_seconds_per_hand"]["added"] == {
        "count": len(BUNDLED), "median": 0, "mean": 0, "least": 0, "most": 0,
    }  # fmt: skip


def test_the_numbers_of_a_comparison_add_up() -> None:
    told = found("adda52", "ninestacks", "--times", "2", *SOME)
    assert (told["hands"], told["turns"]) == (2 * len(MADE), 2 * MADE_TURNS)
    for side in ("a", "b"):
        assert sum(ending[side] for ending in told["endings"]) == told["turns"]
    assert told["same"] + told["changed"] == told["turns"]
    assert sum(change["count"] for change in told["changes"]) == told["changed"]
    for change in told["changes"]:
        assert len(change["turns"]) == change["count"]
        for turn in change["turns"]:
            assert turn["because_of"]
            for side in ("a", "b"):
                assert turn[side]["kind"] == change[side]["kind"]
    waiting = told["waiting_seconds_per_hand"]
    assert waiting["added"]["mean"] == pytest.approx(
        waiting["b"]["mean"] - waiting["a"]["mean"], abs=0.002
    )


def test_the_other_way_round_everything_is_turned_round() -> None:
    there, back = found("adda52", "relax", *SOME), found("relax", "adda52", *SOME)
    assert there["changed"] == back["changed"] > 0
    kinds = {(json.dumps(one["a"]), json.dumps(one["b"])): one["count"] for one in there["changes"]}
    assert kinds == {
        (json.dumps(one["b"]), json.dumps(one["a"])): one["count"] for one in back["changes"]
    }
    added = [one["waiting_seconds_per_hand"]["added"] for one in (there, back)]
    assert added[0]["most"] == -added[1]["least"]


def test_the_events_can_be_kept_and_replayed(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    first = found("adda52", "sportsbook", *SOME, "--record", str(kept))
    again = found("adda52", "sportsbook", "--events", str(kept))
    for one in (first, again):
        del one["record"]
    assert first == again
    piped = call("adda52", "sportsbook", "--events", "-", "--json", given=kept.read_bytes())
    assert json.loads(piped.stdout)["changes"] == first["changes"]


def test_what_a_policy_does_not_cover_is_told_and_the_format_can_be_said() -> None:
    both = ("sportsbook-tournament", "gridpoker", *SOME)
    told = " ".join(call(*both).stdout.split())
    assert f"sportsbook-tournament does not cover {MADE_TURNS} turns (format)" in told
    assert "it is for tournaments alone, and --format says" in told
    assert "There is nothing to compare: neither policy covers any of these turns." in told
    as_tournament = found(*both, "--format", "tournament")
    assert {change["b"]["rule"] for change in as_tournament["changes"]} == {"check-available"}
    assert as_tournament["waiting_seconds_per_hand"]["added"]["most"] == 0


def test_files_of_one_name_are_called_as_they_were_given(tmp_path: Path) -> None:
    files = [tmp_path / "old.yaml", tmp_path / "new.yaml"]
    for file, seconds in zip(files, (10, 20), strict=True):
        file.write_text(f"name: house\ngrace: [{{seconds: {seconds}}}]\n")
    told = call(*map(str, files), *SOME).stdout
    assert told.startswith(f"{files[0]} (")
    assert f"alike end later under {files[1]}: by 10.0 s" in " ".join(told.split())


@pytest.mark.parametrize(("wanted", "told"), [("0", 0), ("2", 2)])
def test_as_many_examples_are_told_as_are_wanted(wanted: str, told: int) -> None:
    text = call("adda52", "relax", *SOME, "--examples", wanted).stdout
    first, *_ = text.split("because of: ")[1].split("\n\n")
    assert first.count("adda52: ") == told


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("adda52", "nobody"), "nobody: there is no such policy"),
        (("adda52", "relax", "--events", "no-such-file"), "no-such-file: cannot be read"),
        (("adda52", "relax", "--events", "."), ".: cannot be read"),
        (("adda52", "relax", "--events", "-"), "-:2: malformed: not JSON"),
        (("adda52", "relax", "--hands", "no-such-file"), "no-such-file: cannot be read"),
        (("adda52", "relax", *SOME, "--events", "-"), "--hands and --events are two records"),
        (("adda52", "relax", "--events", "-", "--stay-away", "0"), "--stay-away is for hands"),
        (("adda52", "relax", "--acts-after", "1"), "--acts-after is for --events"),
        (("adda52", "relax", *SOME, "--record", "no/such/folder"), "cannot be written"),
    ],
)
def test_what_cannot_be_used_is_status_2_with_a_reason(
    arguments: tuple[str, ...], reason: str
) -> None:
    result = call(*arguments, given=b"\nnonsense\n")
    assert result.exit_code == 2
    assert result.stderr.startswith("seatwarden: ")
    assert reason in result.stderr
    assert not result.stdout


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("= 1", "bad.phhs: no hands in the PHH format: Invalid statement (at line 1"),
        ("[1]\nvariant = 'F7S'\n", "bad.phhs: no hands in the PHH format: "),
        ("", "bad.phhs: no hand with blinds in it"),
        (NO_SUCH_CARD, "bad.phhs: bad 1: cannot be played: "),
    ],
)
def test_hands_that_cannot_be_read_or_played_are_told_with_file_and_reason(
    tmp_path: Path, text: str, reason: str
) -> None:
    file = tmp_path / "bad.phhs"
    file.write_text(text)
    result = call("adda52", "relax", "--hands", str(file))
    assert result.exit_code == 2
    assert reason in result.stderr
