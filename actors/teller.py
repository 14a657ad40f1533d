"""The teller: it goes on with the story of a seat's turn after each step that the seat has taken.

It only looks at what a step was given and what came of it; nothing that is decided reads a story.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from actors.seat_actor import SeatActor
from actors.story import (
    Change,
    Decision,
    Entry,
    Facts,
    Input,
    KnownSession,
    Moved,
    Story,
    Uncovered,
)  # fmt: skip
from actors.timeline import Timeline
from statecharts.chart import PRESENCE
from statecharts.decisions import DecisionMade, SeatChanged, TurnUncovered
from statecharts.digests import short
from statecharts.events import Event
from statecharts.kernel import Outcome
from statecharts.lines import Ignored, Line, Row, State, Trigger
from statecharts.policy import Policy
from statecharts.presence import is_connected
from statecharts.refusals import Code, Refusal
from statecharts.seat import Seat, Turn
from statecharts.step import Interrupted, WakeUp
from statecharts.surroundings import Interruption

OPENING = ("open_turn", "tell_uncovered")
"""Effects with which a turn's story begins."""

_FACTS: Mapping[Trigger, tuple[str, ...]] = {
    Trigger.TURN_STARTED: (
        "hand_id", "turn_id", "player_id", "turn_seconds", "format", "kind", "variant", "street",
        "policy", "connected", "to_call", "contributed", "pots", "big_blind", "stack",
        "time_bank_seconds", "chosen",
    ),
    Trigger.TURN_ACTED: ("turn_id", "action", "by"),
    Trigger.CARD_CHOSEN: ("hand_id", "turn_id"),
    Trigger.PLAYER_CONNECTED: ("player_id", "session_id", "sole"),
    Trigger.PLAYER_DISCONNECTED: ("player_id", "session_id", "reason"),
    Trigger.SEAT_VACATED: ("player_id",),
    Trigger.HAND_ENDED: ("hand_id",),
    Trigger.TABLE_CLOSED: (),
    Trigger.GATEWAY_RESET: ("gateway",),
}  # fmt: skip
"""What is told of an event; of cards nothing but the choice."""
_NAMED = ("hand_id", "turn_id", "player_id")
_OF_ANOTHER = ("hand_id", "turn_id")
"""What is told of any start but that of the story's own turn."""


class Heard(NamedTuple):
    """An event as the shard took it; instants as in `story.Input`."""

    event: Event
    arrival: int
    received: int | None
    reference: int


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
            told = [*_entries(cause, outcome, interruptions)] if outcome.outputs else []
            if actor.story is not None:
                first = _input(cause, actor.story, outcome.lines[0], outcome.seat)
                self._go_on(actor, actor.story, first, told)
            if opens:
                assert isinstance(cause, Heard)  # noqa: S101 - only events open a turn
                story = _begun(cause.event, policy, outcome.seat)
                self._go_on(actor, story, _input(cause, story, line, outcome.seat), told)
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
            actor.story = story.add(_noted(heard, story, reason, refusal))
        except Exception as fault:  # noqa: BLE001 - as above
            self._lost(actor, fault)

    def note_refused(self, actor: SeatActor, refusal: Refusal, received: int) -> None:
        """Note a message that names this seat and never became an event."""
        identity, story = refusal.identity, actor.story
        if story is None:
            return
        ids = {name: getattr(identity, name) for name in _NAMED}
        actor.story = story.add(
            Input(
                None, identity.id or "?", identity.source or "?", None, received, received,
                received, "refused", None, refusal.detail, refusal.code.value, None,
                {name: value for name, value in ids.items() if value is not None},
            )
        )  # fmt: skip

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
                story = story.add(_noted(cause, story, row.why, failed))
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


def _begun(event: Event, policy: Policy, seat: Seat) -> Story:
    data = event.data
    player = short(data.player_id)
    sessions = tuple(
        KnownSession(one.id, one.stamp, one.since, int(one.status))
        for one in seat.sessions
        if one.player == player
    )
    name = (policy.name, policy.digest)
    return Story(data.turn_id, data.hand_id, data.player_id, name, sessions)


def _input(
    cause: Heard | WakeUp | Interrupted, story: Story, line: Line, seat: Seat
) -> Input | None:
    if not isinstance(cause, Heard):
        return None
    event, arrival, received, reference = cause
    connected = None
    if event.name in PRESENCE and seat.turn is not None:
        told_connected = seat.turn.told_connected
        connected = is_connected(seat.sessions, short(story.player_id), told_connected)
    return Input(
        event.name, event.id, event.source, event.stamp, arrival, received, reference,
        "ignored" if isinstance(line, Ignored) else "applied", line.id, None, None, connected,
        _facts(event, story, seat.turn),
    )  # fmt: skip


def _noted(heard: Heard, story: Story, reason: str, refusal: Refusal | None) -> Input:
    event, arrival, received, reference = heard
    return Input(
        event.name, event.id, event.source, event.stamp, arrival, received, reference,
        "ignored" if refusal is None else "refused", None, reason,
        None if refusal is None else refusal.code.value, None, _facts(event, story, None),
    )  # fmt: skip


def _facts(event: Event, story: Story, turn: Turn | None) -> Facts:
    """Return what is told of an event; a card only if it is one that the player holds."""
    data, name = event.data, event.name
    names, fields = _FACTS[name], vars(data)
    if name is Trigger.TURN_STARTED and (story.entries or data.turn_id != story.turn_id):
        names = _OF_ANOTHER
    facts: dict[str, Any] = {
        field: value for field in names if (value := fields.get(field)) is not None
    }
    if (
        name is Trigger.CARD_CHOSEN
        and turn is not None
        and data.hand_id == story.hand_id
        and data.turn_id in (None, story.turn_id)
        and data.card in (None, *turn.cards)
    ):
        facts["card"] = data.card  # None withdraws
    return facts


def _entries(
    cause: Heard | WakeUp | Interrupted,
    outcome: Outcome,
    interruptions: tuple[Interruption, ...],
) -> Iterator[tuple[str, Entry]]:
    """Yield what a step has published, each with its turn: changes together with their rows."""
    rows = iter([one for one in outcome.lines if isinstance(one, Row) and one.target is not None])
    noticed = cause.made if isinstance(cause, WakeUp) else None
    for output in outcome.outputs:
        if isinstance(output, SeatChanged):
            if output.trigger is Trigger.INTERRUPTION:
                yield output.turn_id, _moved(output, interruptions)
            else:
                yield (
                    output.turn_id,
                    Change(
                        output.at, output.from_, output.to, output.trigger, output.until,
                        next(rows).id, output.connected, noticed,
                    ),
                )  # fmt: skip
        elif isinstance(output, DecisionMade):
            yield (
                output.turn_id,
                Decision(
                    output.at, output.at if noticed is None else noticed, output.action,
                    output.card, output.rule, output.basis, output.connected,
                ),
            )  # fmt: skip
        elif isinstance(output, TurnUncovered):
            yield output.turn_id, Uncovered(output.at, output.reason)


def _moved(told: SeatChanged, interruptions: tuple[Interruption, ...]) -> Moved:
    start, end = next((one for one in interruptions if one.end == told.until), (None, None))
    return Moved(told.at, start, end, told.until)
