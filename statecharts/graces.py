"""How long a grace lasts: the policy's ladder, what is left of the budget, and when it counts from.

Instants and times in microseconds.
"""

from __future__ import annotations

from statecharts import accounts
from statecharts.accounts import Account, Accounts
from statecharts.digests import short
from statecharts.presence import Sessions, latest_loss
from statecharts.seat import Turn


def length(turn: Turn, account: Account) -> int:
    """Return the grace of a turn, counted from where the policy says."""
    policy = turn.policy
    ladder = policy.grace_for(turn.pot, turn.big_blind, turn.turn_time)
    if _is_used_in_hand(turn, account):
        return 0
    if policy.budget is None:
        return ladder
    return min(ladder, account.left(policy.budget, short(turn.hand_id)))


def budget_left(known: Accounts, turn: Turn) -> int | None:
    """Return what is left of the budget of the player on turn; None where there is none."""
    budget = turn.policy.budget
    if budget is None:
        return None
    return accounts.of(known, short(turn.player_id)).left(budget, short(turn.hand_id))


def protection_left(account: Account, turn: Turn) -> int | None:
    """Return how often all-in protection is left; None where there is none.

    Where the engine has told it with the turn, that counts, less the use that this turn made.
    """
    protection = turn.policy.all_in_protection
    if protection is None:
        return None
    if turn.protection_left is not None:
        return turn.protection_left
    return max(0, protection.uses - len(account.protected))


def lost_at(turn: Turn, sessions: Sessions) -> int:
    """Return when one who is away, with these sessions, has lost his connection."""
    loss = latest_loss(sessions, short(turn.player_id))
    return turn.started if loss is None else loss.since


def end_from(loss: int, turn: Turn, account: Account) -> int:
    """Return when a grace ends that counts from a loss; what was charged before is not, again."""
    policy = turn.policy
    if _is_used_in_hand(turn, account):
        return loss
    length = policy.grace_for(turn.pot, turn.big_blind, turn.turn_time)
    end = counted_from(turn, loss) + length
    if policy.budget is None:
        return end
    left = account.left(policy.budget, short(turn.hand_id))
    return min(end, counted_from(turn, max(loss, account.spent_to)) + left)


def counted_from(turn: Turn, since: int) -> int:
    """Return an instant, later by what the turn's clock has stood still since then."""
    if turn.paused_at is not None:
        since = min(since, turn.paused_at)
    return since + sum(max(0, end - max(start, since)) for start, end in turn.pauses)


def is_used_up(turn: Turn, account: Account, turn_end: int, sessions: Sessions) -> bool:
    """Say whether nothing of the grace is left at the turn end."""
    policy = turn.policy
    if _is_used_in_hand(turn, account):
        return True
    if policy.grace_counts_from == "loss":
        return end_from(lost_at(turn, sessions), turn, account) <= turn_end
    return policy.budget is not None and not account.left(policy.budget, short(turn.hand_id))


def _is_used_in_hand(turn: Turn, account: Account) -> bool:
    """Say whether as many turns of the hand as may have a grace have had one."""
    most = turn.policy.grace_uses_per_hand
    return most is not None and account.in_hand(short(turn.hand_id)).hand_uses >= most
