"""The arithmetic of the pots, against the slowest way to do it."""

import re
from fractions import Fraction
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from statecharts.money import check, is_zero
from statecharts.payloads import BettingTurn
from statecharts.pots import Pots, in_big_blinds, pots
from tests.property.model import SECOND
from tests.property.world import POLICIES

STAKES = st.lists(st.integers(0, 40), max_size=10)


def chip_by_chip(stakes: list[int]) -> Pots:
    """Look at each chip's height on its own, and who has put in that many.

    Chips at a height that one player alone has reached are returned to him; neighbouring heights
    that the same players have reached are one pot.
    """
    heights = range(1, max(stakes, default=0) + 1)
    players = [frozenset(n for n, stake in enumerate(stakes) if stake >= h) for h in heights]
    layers = [(len(who), len([*same])) for who, same in groupby(players)]
    return Pots(
        tuple(count * height for count, height in layers if count > 1),
        sum(height for count, height in layers if count == 1),
    )


@given(STAKES)
def test_pots_are_what_counting_each_chip_gives(stakes: list[int]) -> None:
    assert pots(stakes) == chip_by_chip(stakes)


@given(st.lists(st.integers(0, 10**18), max_size=10))
def test_no_chip_is_made_or_lost(stakes: list[int]) -> None:
    cut, uncalled = pots(stakes)
    assert sum(cut) + uncalled == sum(stakes)
    assert all(pot > 0 for pot in cut)
    assert uncalled == max(max(stakes) - sorted(stakes)[-2] if len(stakes) > 1 else
                           sum(stakes), 0)  # fmt: skip


@given(STAKES, st.randoms(use_true_random=False))
def test_the_order_of_the_seats_and_seats_without_chips_do_not_matter(
    stakes: list[int], chance: Any
) -> None:
    shuffled = [*stakes, 0, 0]
    chance.shuffle(shuffled)
    assert pots(shuffled) == pots(stakes)


@given(STAKES, st.integers(1, 1000))
def test_pots_of_larger_chips_are_larger_in_the_same_measure(stakes: list[int], by: int) -> None:
    cut, uncalled = pots(stakes)
    assert pots([by * stake for stake in stakes]) == ((*(by * pot for pot in cut),), by * uncalled)


@given(st.lists(st.integers(1, 40), min_size=2, max_size=10))
def test_nobody_can_win_more_from_another_than_his_own_stake(stakes: list[int]) -> None:
    # T5: from each other player one can win as much as one has put in, and no more.
    cut, _ = pots(stakes)
    lowest = min(stakes)
    assert cut[0] == lowest * len(stakes)


# -- Amounts

DIGITS = st.text("0123456789", min_size=1, max_size=20)
DECIMALS = st.builds(
    lambda whole, rest: f"{whole}.{rest}" if rest else whole, DIGITS, DIGITS | st.just("")
)
NEARLY = st.sampled_from(
    ["", ".", "1.", ".5", "+1", "-1", "-0", "1e3", "1,5", " 1", "1 ", "1\n", "٣", "５", "²", "0x1",
     "1_000", "NaN", "Infinity", "1.2.3", "0" * 250 + "1", "0." + "0" * 250 + "1", "9" * 18,
     "9" * 19, "1" + "0" * 17, "1" + "0" * 18, "0." + "9" * 19]
)  # fmt: skip
AMOUNTS = st.integers(-2, 10**19) | DECIMALS | NEARLY | st.floats() | st.booleans() | st.none()


def is_amount(value: object) -> bool:
    """Decide by the contract's words, apart from the module: no floats, 18 significant digits."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return False
    if isinstance(value, str) and not re.fullmatch(r"[0-9]+(\.[0-9]+)?", value):
        return False
    return str(value)[0] != "-" and len(str(value).replace(".", "").lstrip("0")) <= 18


@given(AMOUNTS | st.text())
def test_amounts_are_digits_and_18_of_them_count(value: object) -> None:
    try:
        taken = check(value)
    except ValueError:
        assert not is_amount(value)
    else:
        assert is_amount(value)
        assert taken == value
        assert is_zero(taken) == (Fraction(taken) == 0)


MONEY = st.one_of(
    st.tuples(*[st.integers(0, 600)] * 4, st.lists(st.integers(0, 600), max_size=3)),
    st.tuples(*[DECIMALS] * 4, st.lists(DECIMALS, max_size=3)),
    st.tuples(*[st.sampled_from([0, "0.5", "0.50", "2.5", "1"])] * 4, st.just([])),
    st.tuples(*[AMOUNTS] * 4, st.lists(AMOUNTS, max_size=2)),
)


@given(MONEY)
def test_a_betting_turn_is_taken_if_its_money_makes_sense_and_computed_exactly(money: Any) -> None:
    to_call, contributed, pot, big_blind, sides = money
    given_ = [to_call, contributed, pot, big_blind, *sides]
    sensible = (
        all(map(is_amount, given_))
        and len({type(amount) for amount in given_ if amount != 0}) <= 1
        and Fraction(big_blind) > 0
        and Fraction(contributed) <= sum(map(Fraction, [pot, *sides]))
    )
    data = {"hand_id": "h", "turn_id": "t", "player_id": "p", "turn_seconds": 1, "format": "cash",
            "to_call": to_call, "contributed": contributed, "pots": [pot, *sides],
            "big_blind": big_blind}  # fmt: skip
    try:
        turn = BettingTurn.model_validate(data)
    except ValidationError:
        assert not sensible
        return
    assert sensible
    amounts = turn.in_one_unit()
    bet, mine, total = amounts.to_call, amounts.contributed, amounts.pot
    blind = amounts.big_blind
    exact = sum(map(Fraction, [pot, *sides]))
    assert (bet == 0, mine == 0) == (Fraction(to_call) == 0, Fraction(contributed) == 0)
    assert Fraction(total, blind) == exact / Fraction(big_blind)
    grace = POLICIES.default.grace_for(total, blind, 0)
    assert grace == (15 if exact < 5 * Fraction(big_blind) else 25) * SECOND


@given(st.integers(1, 10**18), st.integers(-1, 1))
def test_five_big_blinds_are_five_big_blinds_however_large(blind: int, off: int) -> None:
    pot = 5 * blind + off
    assert (in_big_blinds(pot, blind) < 5) == (off < 0)
    grace = POLICIES.default.grace_for(pot, blind, 0)
    assert grace == (15 if off < 0 else 25) * SECOND


@pytest.mark.parametrize(
    ("stakes", "expected"),
    [
        ([300, 500, 800], Pots((900, 400), 300)),
        ([300, 500, 900, 1000], Pots((1200, 600, 800), 100)),
        ([], Pots((), 0)),
        ([70], Pots((), 70)),
        ([50, 50], Pots((100,), 0)),
    ],
)
def test_the_examples_of_the_policys_text(stakes: list[int], expected: Pots) -> None:
    assert pots(stakes) == expected
