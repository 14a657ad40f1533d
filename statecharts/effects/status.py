"""Effects of the status that a player sets himself, and of his actions, which clear it."""

from __future__ import annotations

from statecharts import statuses
from statecharts.effects.closing import close_turn
from statecharts.effects.shared import settle
from statecharts.lines import Row, Trigger
from statecharts.step import Step


def note_status(step: Step, _row: Row) -> None:
    """Keep what is said, for the turns to come."""
    said = step.status(away=step.event.name is Trigger.PLAYER_AWAY)
    step.seat.statuses = statuses.noted(step.seat.statuses, said)


def answer_at_once(step: Step, row: Row) -> None:
    """The open turn is answered at once, or has its own time again."""
    note_status(step, row)
    turn, now = step.turn, step.at
    if turn.answer_at is not None:
        step.seat.turn = turn._replace(answer_at=None)
    else:
        at = settle(step, now if turn.paused_at is None else turn.paused_at)
        step.seat.turn = turn._replace(answer_at=at)
    step.moved_by = row.trigger


def act(step: Step, row: Row) -> None:
    """The turn is closed; by an action of the player's own he is there again."""
    seat, account = step.seat, step.account
    if step.data.by == "player":
        back = step.status(away=False)
        # Also while he is there: a word that is older than this may still come.
        matters = step.turn.policy.away_status != "not_offered" or statuses.is_away(
            seat.statuses, back.player
        )
        if matters and statuses.is_news(seat.statuses, back):
            seat.statuses = statuses.noted(seat.statuses, back)
        if account.decisions:
            step.account = account._replace(
                decisions=0, decided_hands=0, decided_hand=0, advised=()
            )
    close_turn(step, row)
