"""Effects of the status that a player sets himself, and of his actions, which clear it."""

from __future__ import annotations

from statecharts import accounts, statuses
from statecharts.digests import short
from statecharts.effects.closing import close_turn, remember_turn
from statecharts.effects.shared import settle
from statecharts.lines import Row, Trigger
from statecharts.step import Step


def note_status(step: Step, _row: Row) -> None:
    """Keep what is said, for the turns to come."""
    away = step.event.name is Trigger.PLAYER_AWAY
    said = step.status(short(step.data.player_id), away=away)
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
    if step.data.by == "player":
        policy = step.turn.policy
        player = short(step.turn.player_id)
        # Also while he is there: a word that is older than this may still come.
        matters = policy.away_status != "not_offered" or bool(policy.advice)
        if matters or statuses.is_away(step.seat.statuses, player):
            _is_back(step, player)
    close_turn(step, row)


def act_elsewhere(step: Step, row: Row) -> None:
    """The same, in a turn that is not open here: it was not covered, or is not heard of yet."""
    _is_back(step, step.seat.whose)
    remember_turn(step, row)


def _is_back(step: Step, player: int) -> None:
    back = step.status(player, away=False)
    if not statuses.is_news(step.seat.statuses, back):
        return
    step.seat.statuses = statuses.noted(step.seat.statuses, back)
    account = accounts.of(step.table.accounts, player)
    if account.decisions:
        account = account._replace(decisions=0, decided_hands=0, decided_hand=0, advised=())
        kept = accounts.kept(step.table.accounts, account)
        step.table = step.table._replace(accounts=kept)
