"""What effects count of the player on turn, over his turns at the table."""

from __future__ import annotations

from statecharts import graces
from statecharts.accounts import MAX_PROTECTED
from statecharts.decisions import PolicyName, SeatAdvice
from statecharts.digests import short
from statecharts.effects.shared import running, settle
from statecharts.seat import Turn
from statecharts.step import Step


def begin_grace(step: Step) -> Turn:
    """Return the turn with the grace that is his: its end, and from when it is charged."""
    turn = step.turn
    assert turn.grace_end is not None  # noqa: S101 - he has passed the turn end
    if turn.has_grace:
        return turn
    account = step.account
    if turn.policy.grace_uses_per_hand is not None:
        account = account.in_hand(short(turn.hand_id))
        step.account = account._replace(hand_uses=account.hand_uses + 1)
    turn = turn._replace(has_grace=True, charged_from=turn.buffer_end)
    if turn.policy.grace_counts_from == "loss":
        loss = graces.lost_at(turn, turn.at_end[-1].sessions)
        turn = turn._replace(
            charged_from=graces.counted_from(turn, max(loss, account.spent_to)),
            grace_end=settle(step, max(graces.end_from(loss, turn, account), step.at)),
        )
    return turn


def charge(step: Step) -> None:
    """Take what the turn has used of the grace from his budget, when the turn is closed."""
    turn = step.turn
    budget = turn.policy.budget
    if budget is None or not turn.has_grace or turn.charged_from is None:
        return
    now = running(turn, step.at)  # by then we have heard of it; no clock but the broker's counts
    start, end = turn.charged_from, min(now, turn.grace_end or now)
    step.account = step.account.charged(budget, short(turn.hand_id), start, end)


def use_protection(step: Step) -> None:
    """Count one use of all-in protection."""
    account, turn = step.account, step.turn
    step.account = account._replace(protected=(*account.protected, step.at)[-MAX_PROTECTED:])
    if turn.protection_left is not None:
        step.seat.turn = turn._replace(protection_left=turn.protection_left - 1)


def advise(step: Step) -> None:
    """Count a decision made without the player, and give the advice that is due, once."""
    turn, seat, account = step.turn, step.seat, step.account
    policy = turn.policy
    if not policy.advice:
        return
    hand = short(turn.hand_id)
    account = account._replace(
        decisions=account.decisions + 1,
        decided_hands=account.decided_hands + (account.decided_hand != hand),
        decided_hand=hand,
    )
    for number, advice in enumerate(policy.advice):
        if number in account.advised:
            continue
        if not advice.is_reached(account.decisions, account.decided_hands):
            continue
        account = account._replace(advised=(*account.advised, number))
        step.outputs.append(
            SeatAdvice(
                at=step.at,
                table_id=seat.table_id,
                seat=seat.number,
                hand_id=turn.hand_id,
                turn_id=turn.turn_id,
                player_id=turn.player_id,
                seq=seat.next_seq(),
                policy=PolicyName(name=policy.name, digest=policy.digest),
                advice=advice.advise,
                when=advice.when,
                decisions=account.decisions,
                hands=account.decided_hands,
                at_most_seconds=advice.at_most_seconds,
            )
        )
    step.account = account
