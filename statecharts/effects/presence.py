"""Effects of words of presence: they have been written down before the table was asked."""

from __future__ import annotations

from statecharts.effects.accounting import begin_grace
from statecharts.effects.shared import running, settle
from statecharts.lines import Row
from statecharts.step import Step


def keep(step: Step, row: Row) -> None:
    """Nothing more than that."""


def come_back(step: Step, _row: Row) -> None:
    """Back: he may act until the grace would end, the first time within the policy's bounds."""
    turn = begin_grace(step)
    until = turn.grace_end
    if not turn.has_returned and until is not None:
        until = settle(step, turn.policy.until_after_return(running(turn, step.at), until))
    step.seat.turn = turn._replace(has_returned=True, grace_end=until, deadline=until)


def leave_again(step: Step, _row: Row) -> None:
    """Away again: the same grace, with the same end."""
    turn = step.turn
    step.seat.turn = turn._replace(deadline=turn.grace_end, grace_uses=turn.grace_uses + 1)


def leave_for_good(step: Step, _row: Row) -> None:
    """Away once more than the policy allows: the grace is over at once."""
    now = running(step.turn, step.at)
    step.seat.turn = step.turn._replace(grace_end=now, deadline=now)


def back_to_buffer(step: Step, _row: Row) -> None:
    """He was connected at the turn end after all: what remains is the buffer."""
    assert step.turn.buffer_end is not None  # noqa: S101 - he has passed the turn end
    buffer_end = settle(step, step.turn.buffer_end)
    step.seat.turn = step.turn._replace(buffer_end=buffer_end, deadline=buffer_end)
