"""Effects of turns that begin."""

from __future__ import annotations

from statecharts import statuses
from statecharts.decisions import PolicyName, TurnUncovered
from statecharts.digests import short
from statecharts.effects.shared import close, ending, settle
from statecharts.instants import from_seconds
from statecharts.lines import Row
from statecharts.payloads import Amounts, BettingTurn, DiscardTurn
from statecharts.policy import Policy
from statecharts.seat import MAX_SOURCES, Choice, Turn
from statecharts.step import Step


def open_turn(step: Step, _row: Row) -> None:
    """Open a betting turn or a discard; its time counts from the start's reference time."""
    data = step.data
    _note_start(step)
    turn_time = from_seconds(data.turn_seconds)
    over = step.reference + turn_time + _extended(step)
    paused_at = step.around.table.paused_at
    is_away = step.policy.away_status != "not_offered" and statuses.is_away(
        step.seat.statuses, short(data.player_id)
    )
    turn = Turn(
        turn_id=data.turn_id,
        hand_id=data.hand_id,
        player_id=data.player_id,
        kind=data.kind,
        policy=step.policy,
        source=step.source,
        stamp=step.stamp,
        started=step.reference,
        deadline=settle(step, over),
        told_connected=data.connected,
        turn_time=turn_time,
        answer_at=settle(step, step.reference) if is_away else None,
        paused_at=None if paused_at is None else max(paused_at, step.reference),
        bank=0 if isinstance(data, DiscardTurn) else from_seconds(data.time_bank_seconds),
    )
    if isinstance(data, BettingTurn):
        amounts = data.in_one_unit()
        turn = turn._replace(
            to_call=data.to_call,
            bet=amounts.to_call,
            contributed=_money_in_pot(amounts, step.policy),
            pot=amounts.pot if step.policy.pot_that_counts == "total" else amounts.main_pot,
            big_blind=amounts.big_blind,
            protection_left=data.protection_left,
        )
    elif isinstance(data, DiscardTurn):
        step.seat.turn = turn._replace(cards=data.cards, choice=_choice_at_start(step, data))
        return
    step.seat.turn = ending(step, turn, over) if turn.deadline != over else turn


def tell_uncovered(step: Step, _row: Row) -> None:
    """Tell, once per hand, that nothing will be decided here."""
    data = step.data
    _note_start(step)
    close(step, data.turn_id)
    if step.seat.uncovered_hand == short(data.hand_id):
        return
    step.seat.uncovered_hand = short(data.hand_id)
    step.outputs.append(
        TurnUncovered(
            at=step.at,
            table_id=step.seat.table_id,
            seat=step.seat.number,
            hand_id=data.hand_id,
            turn_id=data.turn_id,
            player_id=data.player_id,
            seq=step.seat.next_seq(),
            policy=PolicyName(name=step.policy.name, digest=step.policy.digest),
            reason=step.policy.uncovered(data.format, data.kind, data.variant),
        )
    )


def _money_in_pot(amounts: Amounts, policy: Policy) -> int:
    """Return what counts as his; where the engine does not tell what was forced, all of it."""
    if policy.grace_needs == "voluntary_chip" and amounts.voluntarily is not None:
        return amounts.voluntarily
    return amounts.contributed


def _extended(step: Step) -> int:
    """Return by how much extensions that have overtaken the start make it longer."""
    turn = short(step.data.turn_id)
    return sum(one.seconds for one in step.seat.extensions if one.turn == turn)


def _note_start(step: Step) -> None:
    step.seat.player = short(step.data.player_id)
    known = step.seat.latest_starts
    latest = max(dict(known).get(step.source, step.stamp), step.stamp)
    others = tuple(pair for pair in known if pair[0] != step.source)
    step.seat.latest_starts = (*others, (step.source, latest))[-MAX_SOURCES:]


def _choice_at_start(step: Step, data: DiscardTurn) -> Choice | None:
    """The choice that counts when a discard begins, of those kept for it and the start's own.

    Those of cards that it does not hold are left out.  Of one source the latest stamp counts, of
    several sources the later arrival (reading 7).
    """
    hand, turn = short(data.hand_id), short(data.turn_id)
    made = [
        one
        for one in step.seat.choices
        if one.hand == hand
        and one.turn in (None, turn)
        and one.card in (None, *data.cards)
        and one.reference > step.seat.choices_from
    ]
    if data.chosen is not None:
        made.append(step.choice(data.chosen))
    counts, latest = None, dict[int, int]()
    for one in made:
        if one.stamp >= latest.get(one.source, one.stamp):
            counts, latest[one.source] = one, one.stamp
    return counts
