"""A broker with dead letters, for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from actors.broker import layout
from actors.broker.slots import routing_key
from actors.broker.topology import DEAD, EVENTS
from actors.transport import Connection, Delivery, Message
from actors.work.messages import REDRIVEN, dead_letter
from statecharts.instants import SECOND, from_rfc3339, to_rfc3339
from statecharts.refusals import Code, Refusal

NOW = from_rfc3339("2026-03-01T20:15:00Z")


def event(
    name: str = "seat.vacated", table: str = "t1", id_: str = "e1", at: int = NOW, **data: Any
) -> bytes:
    """Return the bytes of an event of seat 1 of a table."""
    return json.dumps(
        {
            "specversion": "1.0",
            "id": id_,
            "source": "/engines/ring-3",
            "type": f"seatwarden.{name}.v1",
            "time": to_rfc3339(at),
            "subject": f"{table}/1",
            "data": {"player_id": "p1"} | data,
        }
    ).encode()


def start(at: int, id_: str = "e1") -> bytes:
    """Return the bytes of a turn's start."""
    turn: dict[str, Any] = {
        "hand_id": "h1",
        "turn_id": id_,
        "turn_seconds": 20,
        "format": "cash",
        "to_call": 100,
        "contributed": 50,
        "pots": [150],
        "big_blind": 100,
    }
    return event("turn.started", id_=id_, at=at, **turn)


def letter(
    body: bytes, code: Code | str = Code.FAILED, seconds: float = 0, redriven: int = 0
) -> Message:
    """Return a dead letter as the service publishes it, refused `seconds` after NOW."""
    headers: dict[str, str | int] = {REDRIVEN: redriven} if redriven else {}
    delivery = Delivery(1, EVENTS, routing_key("t1"), body, headers=headers)
    received = NOW + round(seconds * SECOND)
    if code not in set(Code):
        return Message(DEAD, str(code), body, headers={"code": str(code)})
    return dead_letter(delivery, Refusal(Code(code), f"the detail of {code}"), received)


async def furnish(connection: Connection, letters: Iterable[Message]) -> None:
    """Have all that the service needs on a broker, and letters in the queue."""
    await layout.find_or_begin(connection, 2, 30, NOW)
    for message in letters:
        await connection.publish(message)
