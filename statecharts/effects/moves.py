"""Effects of what moves deadlines: extensions, pauses, interruptions."""

from __future__ import annotations

from statecharts.effects.shared import ending, settle
from statecharts.instants import from_seconds
from statecharts.lines import Row, State, Trigger
from statecharts.presence import Attendance
from statecharts.seat import MAX_EXTENSIONS, MAX_PAUSES
from statecharts.step import Interrupted, Step
from statecharts.surroundings import settled


def extend_turn(step: Step, row: Row) -> None:
    """The turn time, or the time bank that runs, is longer."""
    keep_extension(step, row)
    turn, longer = step.turn, from_seconds(step.data.seconds)
    assert turn.deadline is not None  # noqa: S101 - nothing is decided yet
    own_end = (turn.at_end[0].at if turn.at_end else turn.deadline) + longer
    deadline = settle(step, own_end)
    turn = turn._replace(at_end=(), deadline=deadline)
    if row.source is State.TIME_BANK:
        turn = turn._replace(bank=turn.bank + longer)
    step.seat.turn = ending(step, turn, own_end) if deadline != own_end else turn
    step.moved_by = Trigger.TURN_EXTENDED


def keep_extension(step: Step, _row: Row) -> None:
    """Keep the extension: it may be for a turn to come, and a repeated one must be known."""
    step.seat.extensions = (*step.seat.extensions, step.extension())[-MAX_EXTENSIONS:]


def stop_clock(step: Step, _row: Row) -> None:
    """The table is paused: nothing runs until it is resumed."""
    since = max(step.reference, step.turn.started)
    step.seat.turn = step.turn._replace(paused_at=since)
    step.moved_by = Trigger.TABLE_PAUSED


def start_clock(step: Step, row: Row) -> None:
    """The table goes on: what was to come is later by the length of the pause.

    It is over when that is heard: nobody could know before that his time runs.
    """
    turn = step.turn
    assert turn.paused_at is not None  # noqa: S101 - the guard has asked it
    paused_at, pause = turn.paused_at, max(0, step.at - turn.paused_at)

    def later(instant: int | None) -> int | None:
        return None if instant is None else settle(step, instant + pause)

    deadline = later(turn.deadline)
    credit = (deadline or 0) - (turn.deadline or 0) if row.source is State.TIME_BANK else 0
    step.seat.turn = turn._replace(
        paused_at=None,
        pauses=(*turn.pauses, (paused_at, paused_at + pause))[-MAX_PAUSES:],
        answer_at=later(turn.answer_at),
        charged_from=None if turn.charged_from is None else turn.charged_from + pause,
        deadline=deadline,
        buffer_end=later(turn.buffer_end),
        grace_end=later(turn.grace_end),
        bank_credit=turn.bank_credit + credit,
        at_end=tuple([_later(there, paused_at, pause) for there in turn.at_end]),
    )
    step.moved_by = row.trigger


def move_turn_end(step: Step, row: Row) -> None:
    """Move the turn end, and keep who is there at its own instant."""
    assert isinstance(step.event, Interrupted)  # noqa: S101 - only an interruption moves
    deadline = step.turn.deadline
    assert deadline is not None  # noqa: S101 - nothing is decided yet
    if settled(deadline, (step.event.interruption,)) != deadline:  # else the answer alone is moved
        step.seat.turn = ending(step, step.turn, deadline)
    move_deadlines(step, row)


def move_deadlines(step: Step, row: Row) -> None:
    """Move every deadline that lies in the interruption to its end; no time bank pays for it."""
    assert isinstance(step.event, Interrupted)  # noqa: S101 - only an interruption moves
    turn, interruptions = step.turn, (step.event.interruption,)

    def moved(instant: int | None) -> int | None:
        return None if instant is None else settled(instant, interruptions)

    deadline = moved(turn.deadline)
    step.moved_by = Trigger.INTERRUPTION
    later = (deadline or 0) - (turn.deadline or 0)
    credit = later if row.source is State.TIME_BANK else 0
    step.seat.turn = turn._replace(
        charged_from=None if turn.charged_from is None else turn.charged_from + later,
        deadline=deadline,
        answer_at=moved(turn.answer_at),
        buffer_end=moved(turn.buffer_end),
        grace_end=moved(turn.grace_end),
        bank_credit=turn.bank_credit + credit,
    )


def _later(there: Attendance, paused_at: int, pause: int) -> Attendance:
    """What was to come when the table was paused comes later; what had been stays."""
    at, until = there.at, there.until
    return there._replace(
        at=at + pause if at > paused_at else at,
        until=until + pause if until is not None and until >= paused_at else until,
    )
