"""What an operator is told about policies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from actors import policies, policy_faults
from actors.cli import app
from actors.policy_commands.comparing import CONCERNS, differences
from actors.policy_commands.sentences import HEADINGS
from statecharts.policy import Policy
from statecharts.rules import Rule

KNOWN = policies.bundled().by_name


def call(*arguments: str, status: int = 0) -> str:
    result = CliRunner().invoke(app, ["policy", *arguments])
    assert result.exit_code == status, result.output
    return result.output


def test_the_list_has_every_bundled_policy_with_formats_and_source() -> None:
    lines = call("list").splitlines()
    assert [line.split()[0] for line in lines] == sorted(KNOWN)
    assert any("cash, tournament" in line and KNOWN["relax"].source in line for line in lines)


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_shown_is_the_same_policy(name: str) -> None:
    shown = call("show", name)
    policy, faults = policy_faults.read(shown)
    assert faults == ()
    assert policy == KNOWN[name]
    assert list(yaml.safe_load(shown)) == list(Policy.model_fields)


# Beside the room's line: its numbers, and what it says in words.
SAID = {
    "adda52": [
        "3 seconds between turn time and extra time",
        "15 seconds in a pot below 5 big blinds (exactly 5 is a larger one), 25 seconds in a",
        "the rest of the extra time",
        "A free check is taken as soon as the turn time is over",
    ],
    "ninestacks": [
        "75 seconds whatever the pot",
        "Not needed",
        "Used up first, whether he is away or not",
        "a fold, even where a check is free",
        "his seat should be given away",
    ],
    "ninestacks-tournament": ["None.", "Used up first", "plays on", "a check if it is free, else"],
    "betonline": ["30 seconds", "Needed for the extra time", "a check if it is free, else a fold"],
    "sportsbook": [
        "30 seconds in a pot of up to 100 big blinds (exactly 100 included), 60 seconds in a",
        "a fold, even where a check is free",
        "he should sit out, for 600 seconds at the most",
    ],
    "sportsbook-tournament": ["Tournaments.", "None.", "a fold, even where a check is free"],
    "relax": [
        "20 seconds",
        "Not needed",
        "runs even if a check is free",
        "does not run",
        "when the hand is over",
    ],
    "pokermagnet": [
        "twice the turn time (20, 40 or 60 seconds for turns of 10, 20 or 30)",
        "10 seconds more to act, whatever was left",
        "After decisions in 2 hands made while he was away",
    ],
    "gridpoker": [
        "Tournaments.",
        "None.",
        "a check if it is free, else a fold",
        "After a decision made while he was away the backend is told that he should sit out",
    ],
    "ggpoker": [
        "From the moment of the loss on, be it before the turn: 120 seconds",
        "120 seconds of extra time for all his turns at a table",
        "After 30 hands all of it is back, never more than 120 seconds",
        "Not needed",
        "a fold, even where a check is free",
    ],
    "partypoker-classic": [
        "None. Who is away when his turn time is over is decided for at once",
        "is all in for what he has paid: once for each player at a table, until the backend resets",
        "Not for a connection that was lost for the reason background or kicked",
        "a check if it is free, else a fold",
    ],
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_policy_is_told_in_sentences_with_its_numbers(name: str) -> None:
    told = " ".join(call("explain", name).split())
    for words in SAID[name]:
        assert words in told
    keys = [key for key in Policy.model_fields if "_" in key]
    assert not [key for key in keys if key in told], "a key stands in a sentence"


def test_a_file_that_is_fine_is_told_so(tmp_path: Path) -> None:
    file = tmp_path / "house.yaml"
    file.write_text("name: house\ngrace: [{seconds: 10}]\n")
    assert "fine; policy house, digest" in call("check", str(file))


def test_each_fault_of_a_file_is_a_line_that_an_editor_can_jump_to(tmp_path: Path) -> None:
    file = tmp_path / "house.yaml"
    file.write_text("name: house\ngrace: [{seconds: -10}]\ncolour: red\n")
    assert call("check", str(file), status=2).splitlines() == [
        f"{file}:2: grace, number 1, seconds: must be a number from 0 to 86400",
        f"{file}:3: colour: there is no such key; the keys are {', '.join(Policy.model_fields)}",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "nowhere.yaml"),
        ("show", "nobody"),
        ("explain", "nobody"),
        ("diff", "adda52", "nobody"),
    ],
)
def test_what_cannot_be_read_is_status_2(arguments: tuple[str, ...]) -> None:
    call(*arguments, status=2)


def test_a_difference_is_told_in_both_policies_words_with_the_rules_that_it_concerns() -> None:
    told = call("diff", "adda52", "relax")
    assert "Extra time (grace)" in told
    assert "20 seconds whatever the pot" in told
    assert "check-after-grace" in told
    assert "no-grace" not in told
    assert "On return" not in told


def test_a_policy_does_not_differ_from_itself() -> None:
    assert call("diff", "relax", "relax") == ""


def test_every_key_has_a_heading_and_rules_that_it_concerns() -> None:
    assert CONCERNS.keys() == Policy.model_fields.keys() - {"name", "source"}
    assert {heading for heading, _ in CONCERNS.values()} == HEADINGS.keys()
    told = {rule for _, rules in CONCERNS.values() for rule in rules}
    assert told == set(Rule)


@pytest.mark.parametrize("one", KNOWN)
@pytest.mark.parametrize("other", KNOWN)
def test_policies_that_differ_differ_under_a_heading(one: str, other: str) -> None:
    found = [*differences(KNOWN[one], KNOWN[other])]
    assert bool(found) == (one != other)
    assert all(each.rules or each.keys == ("advice",) for each in found)


def test_the_schema_describes_every_key() -> None:
    schema = json.loads(call("schema"))
    assert schema["properties"].keys() == Policy.model_fields.keys()
    for part in (schema, *schema["$defs"].values()):
        assert part["additionalProperties"] is False
        assert all(key["description"] for key in part["properties"].values())
