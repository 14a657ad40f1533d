"""What has to exist on the broker, and the names of it."""

from __future__ import annotations

from actors.slots import SLOTS, TO_ALL
from actors.transport import Binding, Exchange, Queue, Topology

EVENTS = "seatwarden.events"
DECISIONS = "seatwarden.decisions"
DEAD = "seatwarden.dead"
DEAD_LETTERS = "seatwarden.dead-letters"
AUDIT = "seatwarden.audit"
"""The stream that keeps what was said and why: see `audit`."""
GENERATION = 1
"""Counts up when queues must be made anew, since a queue's arguments cannot be changed."""


def shard_queue(shard: int) -> str:
    """Return the name of a shard's queue."""
    return f"seatwarden.shard.{GENERATION}.{shard}"


def topology(shards: int = 1) -> Topology:
    """Return the exchanges, the dead letters, and the shards' queues with their ranges of slots."""
    ranges = [
        (shard_queue(shard), range(SLOTS * shard // shards, SLOTS * (shard + 1) // shards))
        for shard in range(shards)
    ]
    return Topology(
        exchanges=(Exchange(EVENTS), Exchange(DECISIONS), Exchange(DEAD)),
        queues=(
            Queue(DEAD_LETTERS),
            *(Queue(name, single_active=True) for name, _ in ranges),
        ),
        bindings=(
            Binding(DEAD_LETTERS, DEAD),
            *(Binding(name, EVENTS, f"{slot}.#") for name, slots in ranges for slot in slots),
            *(Binding(name, EVENTS, TO_ALL) for name, _ in ranges),
        ),
    )
