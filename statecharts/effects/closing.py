"""Effects of turns that end, and of players who leave."""

from __future__ import annotations

from statecharts import accounts, statuses
from statecharts.digests import short
from statecharts.effects.accounting import charge
from statecharts.effects.moves import start_clock
from statecharts.effects.shared import close
from statecharts.lines import Row, Trigger
from statecharts.presence import Session
from statecharts.presence import forget as forgotten
from statecharts.seat import MAX_SOURCES, Departure
from statecharts.step import Step


def close_turn(step: Step, _row: Row) -> None:
    """The turn is over; its id is remembered, so that nothing opens it again."""
    charge(step)
    close(step, step.turn.turn_id)
    step.seat.turn = None


def remember_turn(step: Step, _row: Row) -> None:
    """Remember the id of a turn that is not open, so that a late start does not open it."""
    close(step, step.data.turn_id)


def leave(step: Step, row: Row) -> None:
    """The player leaves with his turn open."""
    player = short(step.turn.player_id)
    close_turn(step, row)
    if row.trigger is Trigger.TABLE_CLOSED:  # it has forgotten the accounts before the turn was off
        left = tuple(one for one in step.table.accounts if one.player != player)
        step.table = step.table._replace(accounts=left)
    forget(step, row)


def forget_and_go_on(step: Step, row: Row) -> None:
    """The same; the pause has ended with the table that was paused, and the turn goes on."""
    forget(step, row)
    start_clock(step, row)


def forget(step: Step, _row: Row) -> None:
    """Forget the sessions of who has left.

    Not those of which the same source has said something later; and where it has even started a
    later turn in this seat, the word of the leaving is an old one: then only what that source had
    said before is forgotten.
    """
    seat, source, stamp = step.seat, step.source, step.stamp
    player_id = getattr(step.data, "player_id", None)
    player = None if player_id is None else short(player_id)
    is_old = dict(seat.latest_starts).get(source, stamp) > stamp

    def leaves(one: Session) -> bool:
        if player not in (None, one.player):
            return False
        return one.stamp <= stamp if one.source == source else not is_old

    seat.sessions = forgotten(seat.sessions, leaves)
    if seat.turn:  # what is forgotten after the turn end changes nothing of how it was then
        seat.turn = seat.turn._replace(
            at_end=tuple(
                there._replace(sessions=forgotten(there.sessions, leaves))
                if step.at <= there.at
                else there
                for there in seat.turn.at_end
            )
        )
    if player is not None and not is_old:
        step.table = step.table._replace(
            accounts=accounts.session_over(step.table.accounts, player)
        )
    if not is_old:
        seat.statuses = statuses.left(seat.statuses, player)
        seat.choices_from = max(seat.choices_from, step.reference)
    if player is not None:
        others = tuple(
            one for one in seat.departures if (one.player, one.source) != (player, source)
        )
        seat.departures = (*others, Departure(player, source, stamp))[-MAX_SOURCES:]
