"""An event on its way: the CloudEvent, when it shall reach the broker, and what there is to see."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actors.broker.slots import TO_ALL, routing_key
from actors.broker.topology import EVENTS
from actors.transport import Message
from statecharts.instants import to_rfc3339
from statecharts.lines import Trigger


@dataclass(frozen=True, slots=True)
class Scene:
    """A table as it is after an event."""

    table_id: str
    hand: str
    variant: str
    street: str
    board: str
    pot: str
    """In big blinds."""
    seats: Mapping[int, tuple[str, str]]
    """Per seat the player's name, and `here`, `away` or `folded`."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One event.  `arrival` is in microseconds since 1970, as its `time` is."""

    name: Trigger
    table_id: str
    stamp: int
    arrival: int
    event: Mapping[str, Any]
    scene: Scene

    @property
    def message(self) -> Message:
        """The message for the broker."""
        to_all = self.name is Trigger.GATEWAY_RESET
        key = TO_ALL if to_all else routing_key(self.table_id)
        return Message(EVENTS, key, json.dumps(self.event).encode())

    @property
    def line(self) -> bytes:
        """The line for `seatwarden simulate`, which is told the arrival where it differs."""
        event = dict(self.event)
        if self.arrival != self.stamp:
            event["arrival"] = to_rfc3339(self.arrival)
        return json.dumps(event).encode() + b"\n"
