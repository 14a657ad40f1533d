"""What is counted of a player over his turns at a table: budgets, uses, protection, decisions."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from statecharts.limits import Budget

MAX_ACCOUNTS = 64
MAX_PROTECTED = 64
"""Later uses than are allowed need not be kept; of fewer allowed, the latest are."""


class Account(NamedTuple):
    """One player's account at a table.  `player` and hands are digests, times microseconds."""

    player: int
    spent: int = 0
    """Of the budget that is not for one hand alone."""
    is_of_session: bool = False
    """It is for as long as he keeps his seat."""
    hands: int = 0
    """Hands that have ended since it was spent from, or last refilled."""
    spent_to: int = 0
    """Until when the time away has been charged."""
    hand: int = 0
    """Whose `hand_spent` and `hand_uses` are counted."""
    hand_spent: int = 0
    hand_uses: int = 0
    protected: tuple[int, ...] = ()
    """When all-in protection was used."""
    decisions: int = 0
    """Made while he was away, since he last acted himself."""
    decided_hands: int = 0
    decided_hand: int = 0
    advised: tuple[int, ...] = ()
    """Which of the policy's advices have been given since then."""

    def in_hand(self, hand: int) -> Account:
        """Return the account with what is counted for a hand: nothing yet, if it is a new one."""
        return self if self.hand == hand else self._replace(hand=hand, hand_spent=0, hand_uses=0)

    def left(self, budget: Budget, hand: int) -> int:
        """Return what is left of the budget in a hand, in microseconds."""
        if budget.per == "hand":
            return max(0, budget.full - self.in_hand(hand).hand_spent)
        return budget.left(self.spent, self.hands)

    def charged(self, budget: Budget, hand: int, start: int, end: int) -> Account:
        """Return the account with the time from `start` to `end` taken from the budget."""
        cost = min(max(0, end - start), self.left(budget, hand))
        charged = self.in_hand(hand)._replace(spent_to=max(self.spent_to, end))
        if budget.per == "hand":
            return charged._replace(hand_spent=charged.hand_spent + cost)
        return charged._replace(
            spent=budget.full - budget.left(self.spent, self.hands) + cost,
            is_of_session=budget.per == "session",
            hands=budget.hands_that_count(self.spent, self.hands),
        )


Accounts = tuple[Account, ...]


def of(accounts: Accounts, player: int) -> Account:
    """Return a player's account; a new one if he has none."""
    return next((one for one in accounts if one.player == player), Account(player))


def kept(accounts: Accounts, account: Account) -> Accounts:
    """Return the accounts with one changed; the longest unchanged goes if there are too many."""
    others = tuple(one for one in accounts if one.player != account.player)
    if account == Account(account.player):
        return others
    return (*others, account)[-MAX_ACCOUNTS:]


def hand_over(accounts: Accounts, players: Collection[int] | None) -> Accounts:
    """Return the accounts after a hand of these players; None: whose it was is not known."""
    return tuple(
        one._replace(hands=one.hands + 1) if players is None or one.player in players else one
        for one in accounts
    )


def protection_reset(accounts: Accounts, player: int | None, at: int) -> Accounts:
    """Return the accounts without the uses of all-in protection until `at`; None: of everybody."""
    return _each(
        accounts,
        player,
        lambda one: one._replace(protected=tuple(use for use in one.protected if use >= at)),
    )


def session_over(accounts: Accounts, player: int) -> Accounts:
    """Return the accounts after a player has left his seat."""
    return _each(accounts, player, _after_session)


def _after_session(one: Account) -> Account:
    left = one._replace(decisions=0, decided_hands=0, decided_hand=0, advised=())
    return left._replace(spent=0, hands=0, is_of_session=False) if one.is_of_session else left


def _each(accounts: Accounts, player: int | None, change: Callable[[Account], Account]) -> Accounts:
    changed = accounts
    for one in accounts:
        if player in (None, one.player):
            changed = kept(changed, change(one))
    return changed
