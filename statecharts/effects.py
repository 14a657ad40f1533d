"""The effects that the table's rows name: what a step changes in the seat, and what it publishes.

One small function for each name; no clock, no I/O.  The machine has already set the new state when
an effect runs; the row tells the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from statecharts.cards import rightmost
from statecharts.decisions import DecisionMade, PolicyName, TurnUncovered
from statecharts.digests import short
from statecharts.instants import MILLISECOND, from_seconds
from statecharts.lines import Row, State
from statecharts.payloads import Amounts, BettingTurn, DiscardTurn
from statecharts.policy import Policy
from statecharts.presence import Attendance, Session
from statecharts.presence import forget as forgotten
from statecharts.rules import GROUNDS, Action, Basis, Rule
from statecharts.seat import (
    MAX_CHOICES,
    MAX_SOURCES,
    MAX_TURNS,
    Choice,
    Departure,
    Turn,
)
from statecharts.step import Interrupted, Step, WakeUp
from statecharts.surroundings import settled

# -- Turns begin


def open_turn(step: Step, _row: Row) -> None:
    """Open a betting turn or a discard; its time counts from the start's reference time."""
    data = step.data
    _note_start(step)
    turn_time = from_seconds(data.turn_seconds)
    over = step.reference + turn_time
    turn = Turn(
        turn_id=data.turn_id,
        hand_id=data.hand_id,
        player_id=data.player_id,
        kind=data.kind,
        policy=step.policy,
        source=step.source,
        stamp=step.stamp,
        started=step.reference,
        deadline=_settled(step, over),
        told_connected=data.connected,
        turn_time=turn_time,
    )
    if isinstance(data, BettingTurn):
        amounts = data.in_one_unit()
        turn = turn._replace(
            to_call=data.to_call,
            bet=amounts.to_call,
            contributed=_money_in_pot(amounts, step.policy),
            pot=amounts.pot if step.policy.pot_that_counts == "total" else amounts.main_pot,
            big_blind=amounts.big_blind,
            bank=from_seconds(data.time_bank_seconds),
        )
        step.seat.turn = _ending(step, turn, over) if turn.deadline != over else turn
    else:
        step.seat.turn = turn._replace(cards=data.cards, choice=_choice_at_start(step, data))


def tell_uncovered(step: Step, _row: Row) -> None:
    """Tell, once per hand, that nothing will be decided here."""
    data = step.data
    _note_start(step)
    remember_turn(step, _row)
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


# -- Deadlines


def start_bank(step: Step, _row: Row) -> None:
    """The time bank runs from the end of the turn time, to its own end."""
    over = step.at + step.turn.bank
    deadline = _settled(step, over)
    turn = step.turn._replace(bank_from=step.at, bank_credit=deadline - over, deadline=deadline)
    if turn.policy.time_bank_while_away != "never":  # else his turn may have ended with no bank
        began = turn.at_end[0].at if turn.at_end else None
        turn = turn._replace(at_end=tuple(there for there in turn.at_end if there.at != began))
    step.seat.turn = _ending(step, turn, over) if deadline != over else turn


def enter_buffer(step: Step, row: Row) -> None:
    """The turn end: keep who was connected at it, and count buffer and grace from it."""
    turn = step.turn
    buffer_end = step.at + turn.policy.buffer
    grace_end = buffer_end + turn.policy.grace_for(turn.pot, turn.big_blind, turn.turn_time)
    if turn.at_end:  # before the moved end he may have returned, and left again
        grace_end = max(grace_end, step.at + turn.policy.after_return)
    step.seat.turn = turn._replace(
        bank_used=bank_used(step, row, turn),
        at_end=(*turn.at_end, *_there(step, turn, step.at)),
        buffer_end=_settled(step, buffer_end),
        grace_end=_settled(step, grace_end),
        deadline=_settled(step, buffer_end),
    )


def enter_grace(step: Step, _row: Row) -> None:
    """The buffer is over: from here on it is settled that he was away at the turn end."""
    step.seat.turn = step.turn._replace(at_end=(), deadline=step.turn.grace_end)


def enter_grace_at_once(step: Step, row: Row) -> None:
    """The turn end, where the policy has no buffer: the grace begins."""
    enter_buffer(step, row)
    enter_grace(step, row)


def enter_returned(step: Step, row: Row) -> None:
    """The turn end, moved by an interruption: he was away at its own instant, and is back."""
    enter_buffer(step, row)
    come_back(step, row)


def decide(step: Step, row: Row) -> None:
    """Decide for the player: final, once per turn."""
    assert row.decision is not None  # noqa: S101 - a test of the table proves it
    assert isinstance(step.event, WakeUp)  # noqa: S101 - only a deadline decides
    action, rule = row.decision
    turn, seat = step.turn, step.seat
    used = bank_used(step, row, turn)
    connected = step.connected()
    _close(step, turn.turn_id)
    seat.turn = turn._replace(deadline=None, at_end=(), bank_used=used)
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
        )
    )


def move_turn_end(step: Step, row: Row) -> None:
    """Move the turn end, and keep who is there at its own instant."""
    assert step.turn.deadline is not None  # noqa: S101 - the guard has compared it
    step.seat.turn = _ending(step, step.turn, step.turn.deadline)
    move_deadlines(step, row)


def move_deadlines(step: Step, row: Row) -> None:
    """Move every deadline that lies in the interruption to its end; no time bank pays for it."""
    assert isinstance(step.event, Interrupted)  # noqa: S101 - only an interruption moves
    turn, interruptions = step.turn, (step.event.interruption,)

    def moved(instant: int | None) -> int | None:
        return None if instant is None else settled(instant, interruptions)

    deadline = moved(turn.deadline)
    step.is_moved = True
    credit = (deadline or 0) - (turn.deadline or 0) if row.source is State.TIME_BANK else 0
    step.seat.turn = turn._replace(
        deadline=deadline,
        buffer_end=moved(turn.buffer_end),
        grace_end=moved(turn.grace_end),
        bank_credit=turn.bank_credit + credit,
    )


# -- Presence: the word has been written down before the table was asked


def keep(step: Step, row: Row) -> None:
    """Nothing more than that."""


def come_back(step: Step, _row: Row) -> None:
    """Back: he may act until the grace would end, the first time within the policy's bounds."""
    turn = step.turn
    until = turn.grace_end
    if not turn.has_returned and until is not None:
        until = _settled(step, turn.policy.until_after_return(step.at, until))
    step.seat.turn = turn._replace(has_returned=True, grace_end=until, deadline=until)


def leave_again(step: Step, _row: Row) -> None:
    """Away again: the same grace, with the same end."""
    step.seat.turn = step.turn._replace(deadline=step.turn.grace_end)


def back_to_buffer(step: Step, _row: Row) -> None:
    """He was connected at the turn end after all: what remains is the buffer."""
    assert step.turn.buffer_end is not None  # noqa: S101 - he has passed the turn end
    buffer_end = _settled(step, step.turn.buffer_end)
    step.seat.turn = step.turn._replace(buffer_end=buffer_end, deadline=buffer_end)


# -- Choices of a card


def choose(step: Step, row: Row) -> None:
    """The choice counts for the open discard."""
    keep_choice(step, row)
    step.seat.turn = step.turn._replace(choice=step.seat.choices[-1])


def keep_choice(step: Step, _row: Row) -> None:
    """Keep the choice: it may be for a discard to come, and a repeated one must be known."""
    choice = step.choice(step.data.card)
    step.seat.choices = (*step.seat.choices, choice)[-MAX_CHOICES:]


# -- Turns end


def close_turn(step: Step, _row: Row) -> None:
    """The turn is over; its id is remembered, so that nothing opens it again."""
    _close(step, step.turn.turn_id)
    step.seat.turn = None


def remember_turn(step: Step, _row: Row) -> None:
    """Remember the id of a turn that is not open, so that a late start does not open it."""
    _close(step, step.data.turn_id)


def leave(step: Step, row: Row) -> None:
    """The player leaves with his turn open."""
    close_turn(step, row)
    forget(step, row)


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
    if not is_old:
        seat.choices_from = max(seat.choices_from, step.reference)
    if player is not None:
        others = tuple(
            one for one in seat.departures if (one.player, one.source) != (player, source)
        )
        seat.departures = (*others, Departure(player, source, stamp))[-MAX_SOURCES:]


# -- Shared


def bank_used(step: Step, row: Row, turn: Turn) -> int:
    """Return the time bank used when `row` leaves the turn's state, in microseconds."""
    if row.source is not State.TIME_BANK or turn.bank_from is None:
        return turn.bank_used
    return min(turn.bank, max(0, step.at - turn.bank_from - turn.bank_credit))


def _money_in_pot(amounts: Amounts, policy: Policy) -> int:
    """Return what counts as his; where the engine does not tell what was forced, all of it."""
    if policy.grace_needs == "voluntary_chip" and amounts.voluntarily is not None:
        return amounts.voluntarily
    return amounts.contributed


def _ending(step: Step, turn: Turn, own_end: int) -> Turn:
    """Return a turn whose end is moved, with who is there at its own instants, if not yet kept.

    Where a time bank is to begin at `own_end` that is asked by what is known then, and also by
    what is told later; the turn itself ends with the bank.
    """
    if turn.at_end:
        return turn
    if not turn.bank or turn.bank_from is not None:
        return turn._replace(at_end=_there(step, turn, own_end))
    known, late = _there(step, turn, own_end)
    over = _there(step, turn, own_end + turn.bank)
    return turn._replace(at_end=(known._replace(until=own_end), late, *over))


def _there(step: Step, turn: Turn, instant: int) -> tuple[Attendance, Attendance]:
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


def _settled(step: Step, instant: int) -> int:
    """Return a deadline, moved out of the interruptions in which it lies."""
    moved = settled(instant, step.around.interruptions)
    step.is_moved = step.is_moved or moved != instant
    return moved


def _close(step: Step, turn_id: str) -> None:
    known = step.seat.closed_turns
    if (digest := short(turn_id)) not in known:
        step.seat.closed_turns = (*known, digest)[-MAX_TURNS:]


def _note_start(step: Step) -> None:
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


EFFECTS: Mapping[str, Callable[[Step, Row], None]] = {
    effect.__name__: effect
    for effect in (
        open_turn, tell_uncovered, start_bank, enter_buffer, enter_grace, enter_grace_at_once,
        enter_returned, decide, move_turn_end, move_deadlines, keep, come_back, leave_again,
        back_to_buffer, choose, keep_choice, close_turn, remember_turn, leave, forget,
    )
}  # fmt: skip
