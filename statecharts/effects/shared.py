"""What several effects do."""

from __future__ import annotations

from statecharts.digests import short
from statecharts.lines import Row, State, Trigger
from statecharts.presence import Attendance
from statecharts.seat import MAX_TURNS, Turn
from statecharts.step import Step
from statecharts.surroundings import settled


def bank_used(step: Step, row: Row, turn: Turn) -> int:
    """Return the time bank used when `row` leaves the turn's state, in microseconds."""
    if row.source is not State.TIME_BANK or turn.bank_from is None:
        return turn.bank_used
    return min(turn.bank, max(0, running(turn, step.at) - turn.bank_from - turn.bank_credit))


def running(turn: Turn, instant: int) -> int:
    """Return until when the turn's clock has run, of an instant: no further than to its pause."""
    return instant if turn.paused_at is None else min(instant, turn.paused_at)


def ending(step: Step, turn: Turn, own_end: int) -> Turn:
    """Return a turn whose end is moved, with who is there at its own instants, if not yet kept.

    Where a time bank is to begin at `own_end` that is asked by what is known then, and also by
    what is told later; the turn itself ends with the bank.
    """
    if turn.at_end:
        return turn
    if not turn.bank or turn.bank_from is not None:
        return turn._replace(at_end=attendance(step, turn, own_end))
    known, late = attendance(step, turn, own_end)
    over = attendance(step, turn, own_end + turn.bank)
    return turn._replace(at_end=(known._replace(until=own_end), late, *over))


def attendance(step: Step, turn: Turn, instant: int) -> tuple[Attendance, Attendance]:
    """Return who is there at an instant, twice.

    By the words that come while a buffer after it would run, and by those that come while the
    turn's own buffer, which an interruption may move, has not ended: he gets the better of both.
    """
    player = short(turn.player_id)
    sessions = tuple(
        one for one in step.seat.sessions if one.player == player and one.since <= instant
    )
    return (
        Attendance(instant, instant + turn.policy.buffer, sessions),
        Attendance(instant, None, sessions),
    )


def settle(step: Step, instant: int) -> int:
    """Return a deadline, moved out of the interruptions in which it lies."""
    moved = settled(instant, step.around.interruptions)
    if moved != instant:
        step.moved_by = Trigger.INTERRUPTION
    return moved


def close(step: Step, turn_id: str) -> None:
    """Remember a turn as one that nothing opens again."""
    known = step.seat.closed_turns
    if (digest := short(turn_id)) not in known:
        step.seat.closed_turns = (*known, digest)[-MAX_TURNS:]
