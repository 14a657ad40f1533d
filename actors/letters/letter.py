"""One dead letter: the bytes that were refused, why, and what can be read of them all the same."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import pydantic_core

from actors.broker.slots import TO_ALL, routing_key
from actors.transport import Delivery
from actors.work.messages import REDRIVEN
from statecharts.digests import long
from statecharts.events import TABLE
from statecharts.instants import from_rfc3339
from statecharts.lines import Trigger

_ATTRIBUTES = ("id", "source", "type", "time", "subject")
_TABLE = re.compile(TABLE, re.ASCII)
_RESET = f"seatwarden.{Trigger.GATEWAY_RESET}.v1"
_ANY_SLOT = "0.unreadable"
"""Where a message goes whose table cannot be read: it is refused by whichever shard takes it."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter as it lies in the queue."""

    tag: int
    """Its place among those that were taken together, from 1."""
    name: str
    """What it is known by: a digest, the same at each look, and for a copy of it."""
    body: bytes
    code: str
    """Empty, as the others are, if whoever put it there did not say."""
    detail: str
    received: str
    """When the service refused it, RFC 3339."""
    redriven: int
    """How often it has been redriven."""
    event: Any = field(repr=False)
    """The JSON of the body; None if it is none."""
    attributes: dict[str, str] = field(repr=False)
    """Those of `id`, `source`, `type`, `time`, `subject` that can be read."""

    @property
    def table(self) -> str | None:
        """The table that it is about, if it is about one and that can be read."""
        table = self.attributes.get("subject", "").partition("/")[0]
        return table if _TABLE.fullmatch(table) else None

    @property
    def instant(self) -> int | None:
        """When it was refused, in microseconds since 1970; None if it does not say."""
        try:
            return from_rfc3339(self.received)
        except ValueError:
            return None

    @property
    def routing_key(self) -> str:
        """The key by which it is published again."""
        if self.attributes.get("type") == _RESET:
            return TO_ALL
        return routing_key(self.table) if self.table else _ANY_SLOT


def read(delivery: Delivery) -> Letter:
    """Read a dead letter, whatever it holds."""
    code, detail, received = (_text(delivery, name) for name in ("code", "detail", "received"))
    times = delivery.headers.get(REDRIVEN)
    try:
        event = pydantic_core.from_json(delivery.body, allow_inf_nan=False)
    except ValueError:
        event = None
    known = event if isinstance(event, dict) else {}
    return Letter(
        tag=delivery.tag,
        name=long(code, received, delivery.body.hex())[:12],
        body=delivery.body,
        code=code,
        detail=detail,
        received=received,
        redriven=times if isinstance(times, int) else 0,
        event=event,
        attributes={name: known[name] for name in _ATTRIBUTES if isinstance(known.get(name), str)},
    )


def _text(delivery: Delivery, header: str) -> str:
    value = delivery.headers.get(header)
    return value if isinstance(value, str) else ""
