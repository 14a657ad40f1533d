"""The tick: how time comes to a shard through its own queue.

One message of the shard's own is always on its way through the queue.  It is sent when the next
deadline is due, 1 ms after it, so that an event of the same millisecond is in time, and at least
every second, however busy the shard is; what stands before it in the queue reached the broker
before it.  Where none stands in the queue for longer, nobody was there.

A probe asks who is served: who stands by sends one now and then, and whoever gets it is the owner.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass

from actors.transport import Delivery, Message
from statecharts.instants import MILLISECOND, SECOND

KIND = "seatwarden.tick"
PROBE = "seatwarden.probe"
PROBE_SECONDS = 1.0
"""How long a probe waits to be read."""
EVERY = SECOND
AFTER_DEADLINE = MILLISECOND
MAX_AWAITED = 1000
AHEAD_OF = 8
"""So many ticks tell how far our clock is ahead of the broker's."""
MAX_BYTES = 256


@dataclass(frozen=True, slots=True)
class Tick:
    """One tick: who waits for it, and when it was sent (microseconds since 1970)."""

    nonce: str
    sent: int

    def message(self, queue: str) -> Message:
        """Return the message that brings it to the shard's own queue."""
        body = json.dumps({"nonce": self.nonce, "sent": self.sent}).encode()
        return Message("", queue, body, content_type="application/json", kind=KIND)


def is_tick(delivery: Delivery) -> bool:
    """Say whether a delivery is a tick: sent to the queue itself, as no event is."""
    return delivery.exchange == "" and delivery.kind == KIND


def is_probe(delivery: Delivery) -> bool:
    """Say whether a delivery is a probe: it says nothing, and whoever sends one loses nothing."""
    return delivery.kind == PROBE and not delivery.body


def probe(queue: str) -> Message:
    """Return the message that asks who is served by a queue."""
    return Message("", queue, b"", "application/json", PROBE, expires=PROBE_SECONDS)


def read(delivery: Delivery) -> Tick | None:
    """Read a tick; None if it is none of ours."""
    if len(delivery.body) > MAX_BYTES:
        return None
    try:
        body = json.loads(delivery.body)
        return Tick(str(body["nonce"]), int(body["sent"]))
    except (ValueError, TypeError, KeyError, OverflowError):
        return None


class Ticker:
    """When to send the next tick, and which one is awaited."""

    def __init__(self, prefix: str) -> None:
        """`prefix` tells this connection's ticks from any other's."""
        self._prefix = prefix
        self._count = 0
        self._awaited: deque[Tick] = deque(maxlen=MAX_AWAITED)
        self._last_sent = 0
        self.has_returned = False
        """Whether a tick has made its way through the queue."""
        self._ahead: deque[int] = deque(maxlen=AHEAD_OF)
        """How far the latest ticks were sent after the arrivals that they got."""

    @property
    def is_awaited(self) -> bool:
        """Whether a tick is on its way."""
        return bool(self._awaited)

    @property
    def oldest(self) -> int | None:
        """When the oldest one on its way was sent."""
        return self._awaited[0].sent if self._awaited else None

    @property
    def regular(self) -> int:
        """When to send the next one, whatever is due."""
        return self._last_sent + EVERY

    def due(self, deadline: int | None) -> int:
        """Return when to send a tick, for the soonest deadline of the shard."""
        if self._awaited or deadline is None:
            return self.regular
        ahead = max(self._ahead, default=0)
        return min(self.regular, deadline + AFTER_DEADLINE + ahead)

    def arrived(self, tick: Tick, arrival: int) -> None:
        """Take note of when a tick of ours arrived, by the clock that decides.

        If that is not ours, ours is ahead or behind: the tick for a deadline goes out accordingly,
        else it would come early, and another one after it, until the deadline.
        """
        self._ahead.append(tick.sent - arrival)

    def next(self, now: int) -> Tick:
        """Return the tick to send now."""
        self._count += 1
        self._last_sent = now
        tick = Tick(f"{self._prefix}-{self._count}", now)
        self._awaited.append(tick)
        return tick

    def is_back(self, tick: Tick) -> bool:
        """Take note that a tick came back, and that older ones went astray; False if not ours."""
        if tick not in self._awaited:
            return False
        while self._awaited.popleft() != tick:
            continue
        self.has_returned = True
        return True
