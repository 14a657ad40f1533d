"""Effects of deadlines: what begins when a time is over, and the decision."""

from __future__ import annotations

from statecharts import graces
from statecharts.cards import rightmost
from statecharts.decisions import DecisionMade, PolicyName
from statecharts.effects.accounting import advise, begin_grace, charge, use_protection
from statecharts.effects.presence import come_back
from statecharts.effects.shared import attendance, bank_used, close, ending, settle
from statecharts.instants import MILLISECOND
from statecharts.lines import Row, Trigger
from statecharts.rules import GROUNDS, Action, Basis, Rule
from statecharts.seat import Turn
from statecharts.step import Step, WakeUp


def start_bank(step: Step, _row: Row) -> None:
    """The time bank runs from the end of the turn time, to its own end."""
    over = step.at + step.turn.bank
    deadline = settle(step, over)
    turn = step.turn._replace(bank_from=step.at, bank_credit=deadline - over, deadline=deadline)
    if turn.policy.time_bank_while_away != "never":  # else his turn may have ended with no bank
        began = turn.at_end[0].at if turn.at_end else None
        turn = turn._replace(at_end=tuple(there for there in turn.at_end if there.at != began))
    step.seat.turn = ending(step, turn, over) if deadline != over else turn


def enter_buffer(step: Step, row: Row) -> None:
    """The turn end: keep who was connected at it, and count buffer and grace from it."""
    turn = step.turn
    buffer_end = step.at + turn.policy.buffer
    grace_end = buffer_end + graces.length(turn, step.account)
    if turn.at_end:  # before the moved end he may have returned, and left again
        grace_end = max(grace_end, step.at + turn.policy.after_return)
    step.seat.turn = turn._replace(
        bank_used=bank_used(step, row, turn),
        at_end=(*turn.at_end, *attendance(step, turn, step.at)),
        buffer_end=settle(step, buffer_end),
        grace_end=settle(step, grace_end),
        deadline=settle(step, buffer_end),
    )


def enter_grace(step: Step, _row: Row) -> None:
    """The buffer is over: from here on it is settled that he was away at the turn end."""
    turn = begin_grace(step)
    step.seat.turn = turn._replace(at_end=(), deadline=turn.grace_end, grace_uses=1)


def enter_grace_at_once(step: Step, row: Row) -> None:
    """The turn end, where the policy has no buffer: the grace begins."""
    enter_buffer(step, row)
    enter_grace(step, row)


def hold(step: Step, _row: Row) -> None:
    """A storm holds what would be decided; none of that is taken from his budget."""
    turn, until = step.turn, step.held_until()
    assert until is not None  # noqa: S101 - the guard has asked it
    charged_from = turn.charged_from
    if charged_from is not None and turn.grace_end is not None:
        charged_from += max(0, until - turn.grace_end)
    until = settle(step, until)
    step.seat.turn = turn._replace(
        is_held=True, charged_from=charged_from, grace_end=until, deadline=until
    )
    step.moved_by = Trigger.DEADLINE


def hold_at_end(step: Step, row: Row) -> None:
    """The same at the turn end: he has until then to come back, although no grace is his."""
    turn, until = step.turn, step.held_until()
    assert until is not None  # noqa: S101 - the guard has asked it
    until = settle(step, until)
    step.seat.turn = turn._replace(
        bank_used=bank_used(step, row, turn),
        at_end=(),
        buffer_end=step.at,
        grace_end=until,
        deadline=until,
        is_held=True,
        has_grace=True,
    )


def enter_returned(step: Step, row: Row) -> None:
    """The turn end, moved by an interruption: he was away at its own instant, and is back."""
    enter_buffer(step, row)
    come_back(step, row)


def decide(step: Step, row: Row) -> None:
    """Decide for the player: final, once per turn."""
    assert row.decision is not None  # noqa: S101 - a test of the table proves it
    assert isinstance(step.event, WakeUp)  # noqa: S101 - only a deadline decides
    action, rule = row.decision
    charge(step)
    if action is Action.ALL_IN:
        use_protection(step)
    turn, seat = step.turn, step.seat
    used = bank_used(step, row, turn)
    connected = step.connected()
    left = graces.budget_left(step.table.accounts, turn)
    close(step, turn.turn_id)
    seat.turn = turn._replace(
        deadline=None, at_end=(), bank_used=used, charged_from=None, answer_at=None
    )
    step.outputs.append(
        DecisionMade(
            at=step.at,
            table_id=seat.table_id,
            seat=seat.number,
            hand_id=turn.hand_id,
            turn_id=turn.turn_id,
            player_id=turn.player_id,
            seq=seat.next_seq(),
            action=action,
            card=_card_to_discard(turn) if action is Action.DISCARD else None,
            rule=rule,
            basis=_basis(rule, turn, connected=connected),
            policy=PolicyName(name=turn.policy.name, digest=turn.policy.digest),
            connected=connected,
            to_call=turn.to_call,
            time_bank_used_ms=used // MILLISECOND,
            late_ms=max(0, step.event.made - step.at) // MILLISECOND,
            budget_left_ms=None if left is None else left // MILLISECOND,
            protection_left=graces.protection_left(step.account, turn),
        )
    )
    if not connected or rule is Rule.AWAY_STATUS:
        advise(step)


def _card_to_discard(turn: Turn) -> str:
    chosen = turn.choice.card if turn.choice else None
    return chosen or rightmost(turn.cards)


def _basis(rule: Rule, turn: Turn, *, connected: bool) -> Basis:
    """A discard is the text's for the disconnected alone, a choice if made before the timer."""
    if rule in (Rule.CHOSEN_CARD, Rule.RIGHTMOST_CARD) and connected:
        return Basis.OURS
    if rule is Rule.CHOSEN_CARD and turn.choice and turn.choice.reference > turn.started:
        return Basis.OURS
    return GROUNDS[rule].basis
