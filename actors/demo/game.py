"""One hand, played again by PokerKit: whose turn it is, what it costs, and what he does.

A decision is applied to the game; what the record plays afterwards is played where it is legal,
else the player checks or folds.  Two things PokerKit sees otherwise than the rooms: with it the
price falls when a blind is posted short, and it asks a player who can bet against nobody.
"""

from __future__ import annotations

import warnings
from collections import deque
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import cast

from actors.demo.records import CRAZY_PINEAPPLE, Record, nominal_big_blind

FLOP, TURN = 1, 2
_OF_BOARD_GAMES = ("preflop", "flop", "turn", "river")
_OF_DRAW_GAMES = ("predraw", "draw-1", "draw-2", "draw-3")
_UNKNOWN = "??"


@dataclass(frozen=True, slots=True)
class BettingTurn:
    """A player has to act.  Players are counted from 0, as in the record; amounts are exact."""

    player: int
    street: str
    to_call: Decimal
    contributed: Decimal
    pots: tuple[Decimal, ...]
    big_blind: Decimal
    stack: Decimal | None
    """None where the record does not know it."""

    @property
    def pot(self) -> Decimal:
        """All pots together."""
        return sum(self.pots, Decimal(0))


@dataclass(frozen=True, slots=True)
class DiscardTurn:
    """A player has to let one of these cards go."""

    player: int
    street: str
    cards: tuple[str, ...]


Turn = BettingTurn | DiscardTurn


class Game:
    """A hand under way."""

    def __init__(self, record: Record) -> None:
        """Post antes and blinds; the first turn is the first `next`."""
        history = record.history
        self.record = record
        self.big_blind = Decimal(nominal_big_blind(history))
        self._state = history.create_state()
        self._posted = Decimal(max(abs(post) for post in history.blinds_or_straddles or ()))
        self._script = {where: deque(bets) for where, bets in record.bets.items()}
        self._has_strayed = False
        self._has_discarded = record.variant != CRAZY_PINEAPPLE

    # -- What is to be decided

    def next(self) -> list[Turn]:
        """Go on to the next turn, or the discards of all at once; none when the betting is over."""
        state = self._state
        while state.status and not self._is_at_the_records_end():
            actor = state.actor_index
            if actor is not None:
                if self._is_alone(actor):
                    state.check_or_call()
                    continue
                return [self._betting_turn(actor)]
            if state.stand_patter_or_discarder_index is not None:
                state.stand_pat_or_discard()  # a draw is no turn of ours and changes no price
            elif state.card_burning_status:
                state.burn_card(_UNKNOWN)
            elif state.hole_dealee_index is not None:
                state.deal_hole(_UNKNOWN)
            elif count := state.board_dealing_count:
                if state.street_index == TURN and not self._has_discarded:
                    return self._discards()
                state.deal_board(self._board(count))
            else:
                return []  # the showdown
        return []

    def _betting_turn(self, player: int) -> BettingTurn:
        stack = Decimal(self._state.stacks[player])
        return BettingTurn(
            player=player,
            street=self.street,
            to_call=self.price(player),
            contributed=self._contributed(player),
            pots=self.pots,
            big_blind=self.big_blind,
            stack=stack if stack.is_finite() else None,
        )

    def _discards(self) -> list[Turn]:
        players = [player for player, is_in in enumerate(self._state.statuses) if is_in]
        flop = _OF_BOARD_GAMES[FLOP]
        return [DiscardTurn(each, flop, self.record.cards[each]) for each in players]

    def _is_at_the_records_end(self) -> bool:
        """Say whether all has been played as recorded, down to the last action."""
        return not self._has_strayed and not any(self._script.values())

    def _is_alone(self, player: int) -> bool:
        """Say whether all the others are out, or all-in for no more than he has bet already."""
        state = self._state
        return all(
            not state.statuses[other]
            or (not state.stacks[other] and state.bets[other] <= state.bets[player])
            for other in state.player_indices
            if other != player
        )

    # -- Money

    def price(self, player: int) -> Decimal:
        """Return what a call would cost a player, at most his stack."""
        state = self._state
        highest = Decimal(max(state.bets))
        if state.street_index == 0:
            highest = max(highest, self._posted)
        return min(Decimal(state.stacks[player]), max(Decimal(0), highest - state.bets[player]))

    def _contributed(self, player: int) -> Decimal:
        return Decimal(-self._state.payoffs[player])

    @property
    def pots(self) -> tuple[Decimal, ...]:
        """Main pot first, with all that everybody has put in; all-in players cut off side pots."""
        state = self._state
        trimmed = state.ante_trimming_status
        antes = [
            Decimal(0) if trimmed else Decimal(state.get_effective_ante(player))
            for player in state.player_indices
        ]
        live = [self._contributed(player) - antes[player] for player in state.player_indices]
        caps = {
            live[player]
            for player in state.player_indices
            if state.statuses[player] and not state.stacks[player]
        }
        main, *sides = [
            sum((min(one, level) - min(one, below) for one in live), Decimal(0))
            for below, level in pairwise((Decimal(0), *sorted(caps | {max(live)})))
        ]
        return (main + sum(antes, Decimal(0)), *sides)

    # -- What is done

    def play_record(self, turn: Turn) -> str:
        """Do what the record does here, if that is legal, else check or fold; return it."""
        if isinstance(turn, DiscardTurn):
            self._has_discarded = True
            return f"discard {self.record.discards[turn.player]}"
        verb, amount = self._recorded(turn)
        if verb == "cbr" and self._state.can_complete_bet_or_raise_to(amount):
            self._state.complete_bet_or_raise_to(amount)
            return "raise" if turn.to_call else "bet"
        if verb == "cc":
            return self._call(turn)
        return self._give_way(verb, folds=bool(turn.to_call))

    def decide(self, turn: Turn, action: str) -> str:
        """Do what was decided: `fold`, `discard`, or `check` where it is free; return it."""
        if isinstance(turn, DiscardTurn):
            self._has_discarded = True  # of which card, the rest of the hand does not tell
            return "discard"
        verb, _ = self._recorded(turn)
        return self._give_way(verb, folds=action == "fold" or bool(turn.to_call))

    def _give_way(self, recorded: str, *, folds: bool) -> str:
        """Fold or check."""
        self._has_strayed |= recorded != ("f" if folds else "cc")
        if folds:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # PokerKit's, where he could check
                self._state.fold()
            return "fold"
        self._state.check_or_call()
        return "check"

    def _call(self, turn: BettingTurn) -> str:
        state, player = self._state, turn.player
        before, street = state.bets[player], state.street_index
        state.check_or_call()
        if state.actor_index is not None and state.street_index == street:
            # PokerKit let him in below the price, and there is somebody who has to match it.
            rest = _amount(turn.to_call - (state.bets[player] - before))
            state.bets[player] += rest
            state.stacks[player] -= rest
            state.payoffs[player] -= rest
        return "call" if turn.to_call else "check"

    def _recorded(self, turn: BettingTurn) -> tuple[str, int]:
        """Take the record's next action of this player on this street, if there is one."""
        script = self._script.get((turn.player, self._state.street_index or 0))
        verb, amount = script.popleft() if script else ("", Decimal(0))
        return verb, _amount(amount)

    # -- What there is to see

    @property
    def street(self) -> str:
        """The name of the betting round."""
        index = self._state.street_index or 0
        has_board = any(street.board_dealing_count for street in self._state.streets)
        return (_OF_BOARD_GAMES if has_board else _OF_DRAW_GAMES)[index]

    @property
    def board(self) -> str:
        """The cards on the table, `??` for those that the record does not know."""
        return "".join(repr(card) for cards in self._state.board_cards for card in cards)

    def is_in(self, player: int) -> bool:
        """Say whether a player has not folded."""
        return bool(self._state.statuses[player])

    def _board(self, count: int) -> str:
        dealt = len(self._state.board_cards)
        recorded = self.record.board[2 * dealt :][: 2 * count]
        return recorded or _UNKNOWN * count


def _amount(amount: Decimal) -> int:
    """Return an amount for PokerKit, which asks for integers and takes any exact number."""
    return cast("int", amount)
