"""One step of one seat: the only module that drives `transitions`.

One shared flat machine serves every seat: the whole table is in it, ignored and refused cells too,
so that exactly one line answers each event.  The step works on a copy: whatever raises, the seat is
as it was.  No clock, no I/O: instants are arguments, deadlines stand in the seat and are told with
`until`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from transitions import Machine

from statecharts.chart import OPEN, PRESENCE, TABLE
from statecharts.decisions import Output, PolicyName, SeatChanged, TurnUncovered
from statecharts.digests import short
from statecharts.effects import EFFECTS
from statecharts.effects.shared import bank_used, running
from statecharts.events import Event
from statecharts.graces import budget_left
from statecharts.guards import holds
from statecharts.instants import MILLISECOND
from statecharts.limits import REASONS
from statecharts.lines import Line, Refused, Row, State, Trigger
from statecharts.policy import Policy
from statecharts.presence import Attendance, Reset, Resets, Sessions, Word, after_reset, hear
from statecharts.refusals import Code, Refusal
from statecharts.seat import Seat, Turn
from statecharts.step import Interrupted, Step, WakeUp
from statecharts.surroundings import Surroundings
from statecharts.tables import Table


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step gives: the seat after it, the lines that applied, what to publish."""

    seat: Seat
    lines: tuple[Line, ...]
    outputs: tuple[Output, ...] = ()
    table: Table | None = None
    """The table's facts, where the step has changed them."""

    @property
    def line(self) -> Line:
        """The line that settled it: the only one, but where a new turn has cancelled another."""
        return self.lines[-1]


def step(
    seat: Seat,
    event: Event | WakeUp | Interrupted,
    at: int,
    reference: int,
    policy: Policy,
    around: Surroundings,
) -> Outcome:
    """Put one event, deadline or interruption to a seat.

    `at` is the instant at which it takes effect (the arrival, or the deadline itself), `reference`
    the event's reference time, both in microseconds since 1970; `policy` is for a turn that it
    opens. Raises Refusal where the table refuses the message.  `seat` is never changed.
    """
    draft = Step(seat.copy(), event, at, reference, policy, around, around.table)
    if event.name in PRESENCE:
        _write_down(draft)
    lines: list[Line] = []
    while True:
        _EVENTS[event.name].trigger(draft, draft)
        line = draft.line
        if isinstance(line, Refused):
            assert isinstance(event, Event)  # noqa: S101 - only messages are refused
            raise Refusal(Code(line.code), line.why, event.identity)
        assert line is not None  # noqa: S101 - the table covers every cell
        lines.append(line)
        if not isinstance(line, Row):
            return Outcome(seat, tuple(lines))
        if not line.again:
            table = None if draft.table is around.table else draft.table
            return Outcome(draft.seat, tuple(lines), tuple(draft.outputs), table)


def abandon(seat: Seat, at: int) -> Outcome | None:
    """Give up an open turn that a fault of ours keeps us from deciding; None if there is none.

    The one change that is not in the table: it must work where the table's own code has failed.
    """
    turn = seat.turn
    if turn is None or seat.state not in OPEN:
        return None
    left = seat.copy()
    left.turn, left.state = None, State.IDLE
    left.closed_turns = (*seat.closed_turns, short(turn.turn_id))
    notice = TurnUncovered(
        at=at,
        table_id=seat.table_id,
        seat=seat.number,
        hand_id=turn.hand_id,
        turn_id=turn.turn_id,
        player_id=turn.player_id,
        seq=left.next_seq(),
        policy=PolicyName(name=turn.policy.name, digest=turn.policy.digest),
        reason="failed",
    )
    return Outcome(left, (ABANDONED,), (notice,))


ABANDONED = Row("abandoned", State.IDLE, Trigger.DEADLINE, {}, State.IDLE, "", "a fault of ours")


def _apply(line: Line) -> Callable[[Step], None]:
    """Make the machine's callback for one line: it runs when the state has been set."""

    def apply(draft: Step) -> None:
        draft.line = line
        if not isinstance(line, Row):
            return
        turn = draft.seat.turn
        connected = draft.connected() if turn else None
        EFFECTS[line.effect](draft, line)
        turn = draft.seat.turn or turn
        if line.target is not None:
            assert turn is not None  # noqa: S101 - a change of state begins or ends with a turn
            draft.outputs.append(_changed(draft, line, turn, connected))
        if draft.moved_by is not None:
            assert turn is not None  # noqa: S101 - deadlines are of a turn
            told = _changed(draft, line, turn, connected)
            told = told.model_copy(update={"from_": told.to, "trigger": draft.moved_by})
            draft.outputs.append(told)

    return apply


def _changed(draft: Step, row: Row, turn: Turn, connected: bool | None) -> SeatChanged:
    seat = draft.seat
    closes = row.source in OPEN and seat.state not in OPEN
    left = budget_left(draft.table.accounts, turn) if closes else None
    return SeatChanged(
        at=draft.at,
        table_id=seat.table_id,
        seat=seat.number,
        hand_id=turn.hand_id,
        turn_id=turn.turn_id,
        player_id=turn.player_id,
        seq=seat.next_seq(),
        from_=row.source,
        to=seat.state,
        trigger=row.trigger,
        until=seat.deadline,
        connected=draft.connected() if connected is None else connected,
        time_bank_used_ms=bank_used(draft, row, turn) // MILLISECOND if closes else None,
        budget_left_ms=None if left is None else left // MILLISECOND,
    )


def _write_down(draft: Step) -> None:
    """Write a word of presence down, and who was there at the turn end where it belongs to that."""
    seat, turn = draft.seat, draft.seat.turn
    keep = short(turn.player_id) if turn else None
    told = _told(draft, seat.sessions, draft.around.resets, keep)
    if told is not None:
        seat.sessions = told
        draft.word_is_new = True
    if turn is None or not turn.at_end:
        return
    at_end = tuple(_corrected(draft, turn, there, keep) for there in turn.at_end)
    if at_end != turn.at_end:
        seat.turn = turn._replace(at_end=at_end)
        draft.word_is_new = True


def _corrected(draft: Step, turn: Turn, there: Attendance, keep: int | None) -> Attendance:
    """Correct who was there, unless the word is of a later time, or comes when that is settled."""
    now = running(turn, draft.at)
    settled = [end for end in (there.until, turn.buffer_end) if end is not None]
    if draft.reference > there.at or any(now > end for end in settled):
        return there
    before = {
        source: tuple(reset for reset in resets if reset.reference <= there.at)
        for source, resets in draft.around.resets.items()
    }
    told = _told(draft, there.sessions, before, keep)
    return there if told is None else there._replace(sessions=told)


def _told(draft: Step, sessions: Sessions, resets: Resets, keep: int | None) -> Sessions | None:
    data = draft.data
    if draft.event.name is Trigger.GATEWAY_RESET:
        return after_reset(sessions, Reset(short(data.gateway), draft.stamp, draft.reference))
    connected = draft.event.name is Trigger.PLAYER_CONNECTED
    word = Word(
        session=short(data.session_id),
        player=short(data.player_id),
        source=draft.source,
        stamp=draft.stamp,
        reference=draft.reference,
        connected=connected,
        sole=connected and data.sole,
        reason=None if connected or data.reason not in REASONS else data.reason,
    )
    return hear(sessions, word, resets, keep)


def _machine() -> Machine:
    machine = Machine(
        model=None,
        states=State,
        initial=State.IDLE,
        auto_transitions=False,
    )
    # Guards exclude each other, so their order is free: what mostly happens is asked for first.
    for line in sorted(TABLE, key=lambda line: not isinstance(line, Row)):
        machine.add_transition(
            line.trigger.value,
            line.source,
            line.target if isinstance(line, Row) else None,  # None: internal, the state stays
            conditions=[lambda draft, when=line.when: holds(draft, when)],
            after=[_apply(line)],
        )
    return machine


MACHINE = _machine()
_EVENTS = {trigger: MACHINE.events[trigger.value] for trigger in Trigger}
