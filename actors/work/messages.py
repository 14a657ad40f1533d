"""The messages that the service sends: outputs, dead letters, and events moved to their slot."""

from __future__ import annotations

from actors.broker.slots import TO_ALL, routing_key
from actors.broker.topology import DEAD, DECISIONS, EVENTS
from actors.transport import Delivery, Headers, Message
from statecharts.decisions import Output, SeatChanged
from statecharts.instants import to_rfc3339
from statecharts.lines import State, Trigger
from statecharts.refusals import Refusal

MOVED = "seatwarden-moved"
"""Header of an event that was moved: it is moved once."""
REDRIVEN = "seatwarden-redriven"
"""Header of an event that comes from the dead letters: how often it has been there."""

_OF_MOST_TURNS = ({State.IDLE, State.ACTING}, {State.IDLE, State.DISCARDING})


def is_told(output: Output, *, all_changes: bool) -> bool:
    """Say whether an output is published: not, unless asked for, what most turns are."""
    return (
        all_changes
        or not isinstance(output, SeatChanged)
        or {output.from_, output.to} not in _OF_MOST_TURNS
        or output.trigger is Trigger.DEADLINE  # the turn is left to the engine, which must hear it
    )


def of_output(output: Output) -> Message:
    """Return the message that publishes an output."""
    return Message(DECISIONS, output.routing_key, output.encoded(), id=output.id())


def dead_letter(delivery: Delivery, refusal: Refusal, received: int) -> Message:
    """Return the dead letter of a refused delivery: the original bytes, and why."""
    headers = {
        "code": refusal.code.value,
        "detail": refusal.detail,
        "received": to_rfc3339(received),
        **_redriven(delivery),
    }
    return Message(DEAD, refusal.code.value, delivery.body, headers=headers)


def moved(delivery: Delivery, table_id: str) -> Message:
    """Return an event on its way to its right slot; `table_id` "" for what goes to all shards."""
    key = routing_key(table_id) if table_id else TO_ALL
    return Message(EVENTS, key, delivery.body, headers={MOVED: 1, **_redriven(delivery)})


def was_moved(delivery: Delivery) -> bool:
    """Say whether an event has been moved already."""
    return MOVED in delivery.headers


def _redriven(delivery: Delivery) -> Headers:
    """Return the header that says how often it was redriven: so nobody does so for ever."""
    times = delivery.headers.get(REDRIVEN)
    return {REDRIVEN: times} if isinstance(times, int) else {}
