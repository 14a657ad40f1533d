"""The small values that all else is made of: stamps, money, pots, slots, policies, digests."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from fractions import Fraction
from pathlib import Path

import pytest

import actors
import statecharts
from actors import policies
from actors.broker.slots import is_addressed_right, routing_key, slot_of
from actors.policies import PolicyError
from statecharts import money
from statecharts.instants import SECOND, from_rfc3339, to_rfc3339
from statecharts.policy import Policy
from statecharts.pots import in_big_blinds, pots

MODULES = [
    module.name
    for package in (actors, statecharts)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize(
    "stamp",
    [
        "2026-03-01T20:15:00.250Z",
        "2026-03-01t20:15:00.25z",
        "2026-03-01T21:15:00.250+01:00",
        "2026-03-01T20:15:00.2500009Z",
        "2026-03-01T19:45:00.250-00:30",
    ],
)
def test_stamps_of_one_instant_are_one_instant(stamp: str) -> None:
    assert to_rfc3339(from_rfc3339(stamp)) == "2026-03-01T20:15:00.250000Z"


@pytest.mark.parametrize(
    "stamp",
    [
        "2026-03-01T20:15:00",
        "2026-03-01 20:15:00Z",
        "2026-02-30T20:15:00Z",
        "2026-03-01T25:15:00Z",
        "1969-12-31T23:59:59Z",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00+23:59",
        "20260301T201500Z",
        "2026-03-01T20:15:00.Z",
        "\uff12026-03-01T20:15:00Z",  # a full-width digit
        "",
    ],
)
def test_anything_else_is_no_stamp(stamp: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_rfc3339(stamp)


def test_the_policys_own_examples_of_pots() -> None:
    assert pots([300, 500, 800]) == ((900, 400), 300)
    assert pots([300, 500, 900, 1000]) == ((1200, 600, 800), 100)


def test_a_pot_counts_in_big_blinds_exactly() -> None:
    assert in_big_blinds(499, 100) < 5 == in_big_blinds(500, 100)
    assert in_big_blinds(1, 3) == Fraction(1, 3)


def test_grace_by_the_pot_is_exact_at_five_big_blinds_whatever_the_unit() -> None:
    policy = policies.bundled().default
    assert policy.grace_for(5 * 10**17 - 1, 10**17, 0) == 15 * SECOND
    assert policy.grace_for(5 * 10**17, 10**17, 0) == 25 * SECOND


@pytest.mark.parametrize(
    "amount", [True, None, 0.5, -7, "-1", "1.", ".5", "1e3", "+1", " 1", "٣", ""]
)
def test_what_is_no_amount_is_refused(amount: object) -> None:
    with pytest.raises(ValueError, match=r"must"):
        money.check(amount)


@pytest.mark.parametrize("amount", [10**18, "1" * 19, "0." + "1" * 19])
def test_more_than_18_significant_digits_are_refused(amount: object) -> None:
    with pytest.raises(ValueError, match="18"):
        money.check(amount)


@pytest.mark.parametrize("amount", [10**18 - 1, "0" * 40 + "1" * 18, "0." + "0" * 30 + "1" * 17])
def test_up_to_18_significant_digits_are_taken(amount: object) -> None:
    assert money.check(amount) == amount


def test_one_table_has_one_slot() -> None:
    assert (slot_of("table-7"), slot_of("t1")) == (4, 55)
    assert routing_key("a.b").count(".") == 1
    assert is_addressed_right(routing_key("t1"), "t1")
    assert is_addressed_right("all", "")
    assert not is_addressed_right("all", "t1")
    assert not is_addressed_right("55.x", "")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[1]", "mapping"),
        ("name: x", "grace"),
        ("{name: x, grace: [{seconds: 15}], colour: red}", "colour"),
        ("{name: x, grace: [{seconds: soon}]}", "grace, number 1, seconds"),
        ("{name: x, grace: [{seconds: -1}]}", "grace, number 1, seconds"),
        ("{name: x, grace: [{seconds: 1}, {seconds: 2}]}", "pot_below_big_blinds"),
        (
            (
                "{name: x, grace: [{seconds: 1, pot_below_big_blinds: 5}, {seconds: 3, "
                "pot_below_big_blinds: 4}, {seconds: 3}]}"
            ),
            "must grow",
        ),
        ("{name: x, grace: [{seconds: 1}], away_before_turn: maybe}", "away_before_turn"),
        ("{name: x, grace: [{seconds: 1}], buffer_seconds: .nan}", "buffer_seconds"),
        ("a: [", "not YAML"),
    ],
)
def test_a_policy_file_that_cannot_be_used_is_named_with_key_and_reason(
    tmp_path: Path, text: str, told: str
) -> None:
    file = tmp_path / "house.yaml"
    file.write_text(text)
    with pytest.raises(PolicyError, match=r"house\.yaml") as error:
        policies.find(str(file))
    assert told in str(error.value)


def test_an_unknown_policy_is_answered_with_the_names_there_are() -> None:
    with pytest.raises(PolicyError, match="adda52"):
        policies.find("nobody")


def test_a_policys_digest_tells_its_rules_apart() -> None:
    policy = policies.bundled().default
    keys = policy.model_dump()
    slower = Policy.model_validate({**keys, "buffer_seconds": 4.0})
    same = Policy.model_validate({**keys, "source": "elsewhere"})
    assert same.digest == policy.digest != slower.digest
