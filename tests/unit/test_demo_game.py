"""The demo's hands, with PokerKit as the oracle for what a turn costs and who may check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pytest
from pokerkit import Automation, HandHistory

from actors.demo import records
from actors.demo.game import BettingTurn, DiscardTurn, Game, Turn
from actors.demo.records import Record

RECORDS = {record.name: record for record in records.bundled()}

# Where a blind was posted short PokerKit lets the price fall; the rooms keep the whole blind.
PRICE_OF_A_SHORT_BLIND = {
    "made 1": (Decimal(2), Decimal("1.20")),
    "made 3": (Decimal(20), Decimal(10)),
    "made 13": (Decimal(2), Decimal(1)),
}

VERBS = {"raise": "cbr", "bet": "cbr", "call": "cc", "check": "cc", "fold": "f"}


def turns_of(game: Game) -> Iterator[Turn]:
    """Play a hand as recorded, and yield each turn before it is played."""
    while turns := game.next():
        for turn in turns:
            yield turn
            game.play_record(turn)


def betting(record: Record) -> list[BettingTurn]:
    return [turn for turn in turns_of(Game(record)) if isinstance(turn, BettingTurn)]


def prices_by_pokerkit(record: Record) -> list[tuple[int, Decimal]]:
    """Replay the record with PokerKit alone: whose action, and what a call had cost."""
    automations = set(record.history.automations) - {Automation.CARD_BURNING}  # shown, too
    history = replace(record.history, automations=tuple(automations))
    prices, before = [], None
    for state, action in history.state_actions:
        if before is not None and action and action.split()[1] in ("f", "cc", "cbr"):
            prices.append(before)
        price = state.checking_or_calling_amount
        before = None if price is None else (state.actor_index or 0, Decimal(price))
    return prices


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_the_record_is_played_as_it_was(record: Record) -> None:
    game, played = Game(record), []
    while turns := game.next():
        for turn in turns:
            action = game.play_record(turn)
            if isinstance(turn, BettingTurn):
                played.append(f"p{turn.player + 1} {VERBS[action]}")
    recorded = [action.split()[:2] for action in record.history.actions]
    assert played == [f"{who} {verb}" for who, verb in recorded if verb in ("f", "cc", "cbr")]


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_prices_are_those_of_pokerkit_but_for_short_blinds(record: Record) -> None:
    prices = [(turn.player, turn.to_call) for turn in betting(record)]
    by_pokerkit = prices_by_pokerkit(record)
    assert [not price for _, price in prices] == [not price for _, price in by_pokerkit]
    if record.name in PRICE_OF_A_SHORT_BLIND:
        ours, theirs = PRICE_OF_A_SHORT_BLIND[record.name]
        assert (prices[0][1], by_pokerkit[0][1]) == (ours, theirs)
        prices, by_pokerkit = prices[1:], by_pokerkit[1:]
    assert prices == by_pokerkit


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS)
def test_the_pots_are_all_that_the_players_have_put_in(record: Record) -> None:
    everyone = range(len(record.seats))
    for turn in betting(record):
        assert sum(turn.pots) == turn.pot
        assert 0 <= turn.contributed <= turn.pot
        assert turn.stack is None or 0 <= turn.to_call <= turn.stack
        assert turn.player in everyone
    first, *_ = betting(record)
    history = record.history
    posts = zip(history.antes, history.blinds_or_straddles or (), strict=True)
    stacks = [Decimal(stack) for stack in history.starting_stacks]
    if len(stacks) == 2:
        stacks.reverse()  # PHH names the big blind first, PokerKit reads it so
    posted = [min(Decimal(ante + abs(post)), stack) for (ante, post), stack in zip(
        posts, stacks, strict=True)]  # fmt: skip
    assert first.pot == sum(posted)


def test_all_turns_of_the_hands_with_blinds_are_played() -> None:
    counts = {"real": 0, "made": 0, "crazy_pineapple": 0}
    for record in RECORDS.values():
        counts[record.name.split()[0]] += len(betting(record))
    assert (counts["real"], counts["made"]) == (567, 55)


def test_hands_without_blinds_are_left_out() -> None:
    assert {f"real {number}" for number in (36, 37, 38, 41)}.isdisjoint(RECORDS)


def test_side_pots_stand_behind_the_main_pot() -> None:
    three_all_in = betting(RECORDS["made 8"])[4]  # the small blind, after 12, 60 and a call of 60
    assert three_all_in.pots == (Decimal(39), Decimal(96))


def test_a_dead_post_is_in_the_pot_and_nobody_has_to_match_it() -> None:
    returning, *others = betting(RECORDS["real 33"])  # posted 15 with a blind of 10
    assert [returning.contributed, returning.to_call, returning.pot] == [15, 0, 30]
    assert others[0].to_call == 10


def test_a_big_blind_ante_counts_for_its_payer() -> None:
    *_, big_blind = betting(RECORDS["made 11"])
    assert big_blind.contributed == 400


def test_an_unknown_stack_is_not_told() -> None:
    assert all(turn.stack is None for turn in betting(RECORDS["real 25"]))


def test_the_button_blind_is_the_big_blind_where_there_is_no_other() -> None:
    assert {turn.big_blind for turn in betting(RECORDS["real 52"])} == {3000}


def test_nobody_is_asked_who_can_bet_against_nobody() -> None:
    assert len(betting(RECORDS["made 13"])) == 1  # the small blind is alone with a shorter all-in


def test_who_calls_a_short_blind_puts_in_the_whole_blind() -> None:
    short_blind = """
        variant = "NT"
        antes = [0, 0, 0, 0]
        blinds_or_straddles = [1, 2, 0, 0]
        min_bet = 2
        starting_stacks = [200, 1.20, 200, 1.50]
        actions = ["p3 cc", "p4 cc", "p1 cc", "d db 2c7dTh", "p1 cc", "p3 cc"]
    """
    (record,) = records.parse(short_blind, "short")
    turns = betting(record)
    assert [turn.to_call for turn in turns] == [2, Decimal("1.50"), 1, 0, 0]
    assert [turn.contributed for turn in turns] == [0, 0, 1, 2, 2]
    assert turns[-1].pots == (Decimal("4.80"), Decimal("0.90"), Decimal("1.00"))


def test_what_was_decided_changes_the_hand_and_the_record_goes_on_where_it_can() -> None:
    game = Game(RECORDS["made 10"])  # limped to the flop, where p1 bets and both fold
    for action in ("fold", "fold"):  # both limpers are away
        (turn,) = game.next()
        game.decide(turn, action)
    assert game.next() == []


def test_after_a_decision_a_player_without_a_legal_record_checks_or_folds() -> None:
    game = Game(RECORDS["made 9"])
    played = []
    (limp,) = game.next()
    played.append(game.play_record(limp))
    (option,) = game.next()
    played.append(game.play_record(option))
    (first,) = game.next()
    game.decide(first, "check")
    (overbet,) = game.next()
    game.decide(overbet, "check")  # in place of the overbet to which the other folded
    while turns := game.next():
        played.extend(game.play_record(turn) for turn in turns)
    assert played == ["call", "check", "check", "check", "check", "check"]


def test_crazy_pineapple_lets_all_who_are_in_discard_after_the_flop() -> None:
    game = Game(RECORDS["crazy_pineapple 1"])
    discards = [turn for turn in turns_of(game) if isinstance(turn, DiscardTurn)]
    assert [(turn.player, turn.cards) for turn in discards] == [
        (1, ("Qh", "Jh", "4s")),
        (2, ("8c", "8d", "2h")),
        (3, ("Td", "9d", "6c")),
    ]
    assert game.street == "river"


def test_a_file_of_one_hand_is_read_too() -> None:
    text = RECORDS["made 4"].history.dumps()
    (record,) = records.parse(text, "one")
    assert (record.name, record.bets) == ("one 1", RECORDS["made 4"].bets)


def test_every_bundled_hand_says_where_it_comes_from_or_why_it_is_here() -> None:
    for record in RECORDS.values():
        history: HandHistory = record.history
        assert history.user_defined_fields["_why"]
        assert record.name[:4] != "real" or history.user_defined_fields["_source"]
