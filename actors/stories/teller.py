"""The teller: it goes on with the story of a seat's turn after each step that the seat has taken.

It only looks at what a step was given and what came of it; nothing that is decided reads a story.
"""

from __future__ import annotations

from actors.shards.seat_actor import SeatActor
from actors.stories.entries import Heard, begun, entries_of, heard_by, noted, unread
from actors.stories.story import Change, Entry, Input, Story, Uncovered
from actors.stories.timeline import Timeline
from statecharts.decisions import TurnUncovered
from statecharts.kernel import Outcome
from statecharts.lines import Row, State
from statecharts.policy import Policy
from statecharts.refusals import Code, Refusal
from statecharts.step import Interrupted, WakeUp
from statecharts.surroundings import Interruption

OPENING = ("open_turn", "tell_uncovered")
"""Effects with which a turn's story begins."""


class Teller:
    """Whoever has it tell takes the timelines of the turns that have closed."""

    def __init__(self) -> None:
        """Begin with nothing told."""
        self.timelines: list[Timeline] = []
        self.faults: list[Exception] = []
        """Errors of ours in telling; they cost a story and nothing else."""

    def tell(
        self,
        actor: SeatActor,
        cause: Heard | WakeUp | Interrupted,
        outcome: Outcome,
        policy: Policy,
        interruptions: tuple[Interruption, ...],
    ) -> None:
        """Go on after a step; `policy` is that of a turn which it may have opened."""
        line = outcome.lines[-1]
        opens = isinstance(line, Row) and line.effect in OPENING
        if actor.story is None and not opens:
            return
        try:
            told = [*entries_of(cause, outcome, interruptions)] if outcome.outputs else []
            if actor.story is not None:
                first = heard_by(cause, actor.story, outcome.lines[0], outcome.seat)
                self._go_on(actor, actor.story, first, told)
            if opens:
                assert isinstance(cause, Heard)  # noqa: S101 - only events open a turn
                story = begun(cause.event, policy, outcome.seat)
                self._go_on(actor, story, heard_by(cause, story, line, outcome.seat), told)
                if outcome.seat.turn is None and actor.story is not None:
                    # Uncovered, as another turn of this hand before it: that has been told.
                    self._close(actor, cause.arrival)
        except Exception as fault:  # noqa: BLE001 - a story must not cost a decision
            self._lost(actor, fault)

    def note(
        self, actor: SeatActor, heard: Heard, *, reason: str, refusal: Refusal | None = None
    ) -> None:
        """Note an event that was refused, or known before the seat was asked."""
        story = actor.story
        if story is None:
            return
        try:
            actor.story = story.add(noted(heard, story, reason, refusal))
        except Exception as fault:  # noqa: BLE001 - as above
            self._lost(actor, fault)

    def note_refused(self, actor: SeatActor, refusal: Refusal, received: int) -> None:
        """Note a message that names this seat and never became an event."""
        story = actor.story
        if story is None:
            return
        try:
            actor.story = story.add(unread(refusal, received))
        except Exception as fault:  # noqa: BLE001 - as above
            self._lost(actor, fault)

    def abandoned(self, actor: SeatActor, cause: object, outcome: Outcome) -> None:
        """End the story of a turn that a fault of ours has closed."""
        story = actor.story
        if story is None:
            return
        try:
            row = outcome.lines[-1]
            (notice,) = outcome.outputs
            assert isinstance(row, Row)  # noqa: S101 - so `kernel.abandon` made it
            assert isinstance(notice, TurnUncovered)  # noqa: S101 - the same
            changes = [entry for entry in story.entries if isinstance(entry, Change)]
            source = changes[-1].target if changes else State.ACTING
            if isinstance(cause, Heard):
                failed = Refusal(Code.FAILED, row.why)
                story = story.add(noted(cause, story, row.why, failed))
            trigger = cause.event.name if isinstance(cause, Heard) else row.trigger
            connected = changes[-1].connected if changes else True
            actor.story = story.add(
                Uncovered(notice.at, notice.reason),
                Change(notice.at, source, State.IDLE, trigger, None, row.id, connected, None),
            )
            self._close(actor, notice.at)
        except Exception as fault:  # noqa: BLE001 - as above
            self._lost(actor, fault)

    def _go_on(
        self, actor: SeatActor, story: Story, first: Input | None, told: list[tuple[str, Entry]]
    ) -> None:
        own = [entry for turn_id, entry in told if turn_id == story.turn_id]
        actor.story = story.add(*own) if first is None else story.add(first, *own)
        for entry in own:
            if isinstance(entry, Uncovered):
                self._close(actor, entry.at)
            elif isinstance(entry, Change):
                if entry.target is State.IDLE:
                    self._close(actor, entry.at)
                elif entry.target is State.AUTO_ACTION:
                    self._record(actor, entry.at)

    def _record(self, actor: SeatActor, at: int) -> None:
        if actor.story is not None:
            seat = actor.seat
            self.timelines.append(Timeline(seat.table_id, seat.number, at, actor.story))

    def _close(self, actor: SeatActor, at: int) -> None:
        self._record(actor, at)
        actor.story = None

    def _lost(self, actor: SeatActor, fault: Exception) -> None:
        actor.story = None
        self.faults.append(fault)
