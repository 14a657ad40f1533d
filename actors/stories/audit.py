"""The audit stream: the timelines of closed turns, beside a copy of all output.

A message of timelines is a batch of CloudEvents, one for a whole group of deliveries.  What a
stream keeps for years is read by `explaining`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pydantic_core

from actors.broker.topology import AUDIT
from actors.stories.timeline import TYPE, Timeline
from actors.transport import Delivery, Message
from statecharts.digests import long

KIND = "seatwarden.timeline"
CONTENT_TYPE = "application/cloudevents-batch+json"
MAX_BYTES = 4 * 1024 * 1024
"""A message is not begun anew below this; RabbitMQ 4 takes 16 MiB."""
FIELDS = {"table_id", "seat", "hand_id", "turn_id", "player_id", "policy", "facts", "entries",
          "left_out"}  # fmt: skip


def audit_messages(timelines: Iterable[Timeline]) -> list[Message]:
    """Return the message for a group's timelines: none if there are none, more if it is huge."""
    messages: list[Message] = []
    ids: list[str] = []
    bodies: list[bytes] = []
    size = 0
    for timeline in timelines:
        body = pydantic_core.to_json(timeline.as_json())
        if bodies and size + len(body) > MAX_BYTES:
            messages.append(_message(ids, bodies))
            ids, bodies, size = [], [], 0
        ids.append(timeline.id)
        bodies.append(body)
        size += len(body)
    return [*messages, _message(ids, bodies)] if bodies else messages


def records(delivery: Delivery) -> list[dict[str, Any]]:
    """Return the timelines in a message of the stream; none if it is no message of timelines."""
    if delivery.kind != KIND:
        return []
    try:
        batch = pydantic_core.from_json(delivery.body)
    except ValueError:
        return []
    return [
        one
        for one in (batch if isinstance(batch, list) else ())
        if isinstance(one, dict)
        and one.get("type") == TYPE
        and isinstance(one.get("data"), dict)
        and one["data"].keys() >= FIELDS
    ]


def _message(ids: list[str], bodies: list[bytes]) -> Message:
    return Message(
        "", AUDIT, b"[" + b",".join(bodies) + b"]",
        content_type=CONTENT_TYPE, kind=KIND, id=long(KIND, *ids),
    )  # fmt: skip
