"""What the entries of a story are made of: the event as it was taken, and what a step published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from actors.stories.story import (
    Advised,
    Change,
    Decision,
    Entry,
    Facts,
    Input,
    KnownSession,
    Moved,
    Story,
    Uncovered,
)
from statecharts.chart import PRESENCE
from statecharts.decisions import DecisionMade, SeatAdvice, SeatChanged, TurnUncovered
from statecharts.digests import short
from statecharts.events import Event
from statecharts.kernel import Outcome
from statecharts.lines import Ignored, Line, Row, Trigger
from statecharts.policy import Policy
from statecharts.presence import is_connected
from statecharts.refusals import Refusal
from statecharts.seat import Seat, Turn
from statecharts.step import Interrupted, WakeUp
from statecharts.surroundings import Interruption

_FACTS: Mapping[Trigger, tuple[str, ...]] = {
    Trigger.TURN_STARTED: (
        "hand_id", "turn_id", "player_id", "turn_seconds", "format", "kind", "variant", "street",
        "policy", "connected", "to_call", "contributed", "contributed_voluntarily", "pots",
        "big_blind", "stack", "time_bank_seconds", "chosen", "protection_left",
    ),
    Trigger.TURN_ACTED: ("turn_id", "action", "by"),
    Trigger.TURN_CANCELLED: ("turn_id",),
    Trigger.TURN_EXTENDED: ("turn_id", "seconds"),
    Trigger.CARD_CHOSEN: ("hand_id", "turn_id"),
    Trigger.PLAYER_CONNECTED: ("player_id", "session_id", "sole"),
    Trigger.PLAYER_DISCONNECTED: ("player_id", "session_id", "reason"),
    Trigger.PLAYER_AWAY: ("player_id",),
    Trigger.PLAYER_BACK: ("player_id",),
    Trigger.SEAT_VACATED: ("player_id",),
    Trigger.HAND_ENDED: ("hand_id",),
    Trigger.TABLE_CLOSED: (),
    Trigger.TABLE_PAUSED: (),
    Trigger.TABLE_RESUMED: (),
    Trigger.PROTECTION_RESET: ("player_id",),
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


def begun(event: Event, policy: Policy, seat: Seat) -> Story:
    """Return the story of a turn that begins: who he is, and what is known of him."""
    data = event.data
    player = short(data.player_id)
    sessions = tuple(
        KnownSession(one.id, one.stamp, one.since, int(one.status))
        for one in seat.sessions
        if one.player == player
    )
    name = (policy.name, policy.digest)
    return Story(data.turn_id, data.hand_id, data.player_id, name, sessions)


def heard_by(
    cause: Heard | WakeUp | Interrupted, story: Story, line: Line, seat: Seat
) -> Input | None:
    """Return the entry of an event that was put to the seat, and what line settled it."""
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


def noted(heard: Heard, story: Story, reason: str, refusal: Refusal | None) -> Input:
    """Return the entry of an event that was refused, or known before the seat was asked."""
    event, arrival, received, reference = heard
    return Input(
        event.name, event.id, event.source, event.stamp, arrival, received, reference,
        "ignored" if refusal is None else "refused", None, reason,
        None if refusal is None else refusal.code.value, None, _facts(event, story, None),
    )  # fmt: skip


def unread(refusal: Refusal, received: int) -> Input:
    """Return the entry of a message that never became an event."""
    identity = refusal.identity
    ids = {name: getattr(identity, name) for name in _NAMED}
    return Input(
        None, identity.id or "?", identity.source or "?", None, received, received, received,
        "refused", None, refusal.detail, refusal.code.value, None,
        {name: value for name, value in ids.items() if value is not None},
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


def entries_of(
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
                row = outcome.line if output.from_ is output.to else next(rows)
                yield (
                    output.turn_id,
                    Change(
                        output.at, output.from_, output.to, output.trigger, output.until,
                        row.id, output.connected, noticed, output.budget_left_ms,
                    ),
                )  # fmt: skip
        elif isinstance(output, DecisionMade):
            yield (
                output.turn_id,
                Decision(
                    output.at, output.at if noticed is None else noticed, output.action,
                    output.card, output.rule, output.basis, output.connected,
                    output.budget_left_ms, output.protection_left,
                ),
            )  # fmt: skip
        elif isinstance(output, SeatAdvice):
            yield (
                output.turn_id,
                Advised(output.at, output.advice, output.when, output.decisions, output.hands),
            )
        elif isinstance(output, TurnUncovered):
            yield output.turn_id, Uncovered(output.at, output.reason)


def _moved(told: SeatChanged, interruptions: tuple[Interruption, ...]) -> Moved:
    start, end = next((one for one in interruptions if one.end == told.until), (None, None))
    return Moved(told.at, start, end, told.until)
