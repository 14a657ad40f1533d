"""What has to exist on the broker, and the names of it."""

from __future__ import annotations

from typing import NamedTuple

from actors.broker.slots import SLOTS, TO_ALL, slot_of
from actors.transport import Binding, Exchange, Queue, Topology

EVENTS = "seatwarden.events"
DECISIONS = "seatwarden.decisions"
DEAD = "seatwarden.dead"
DEAD_LETTERS = "seatwarden.dead-letters"
AUDIT = "seatwarden.audit"
"""A stream of what was said and why: see `audit`."""
LAYOUT = "seatwarden.layout"
WORKERS = "seatwarden.workers"
"""A queue without messages: its consumers are the workers."""

GIB = 1 << 30
SEGMENT = 32 << 20
AUDIT_DAYS, AUDIT_GIB = 1825, 64


class Layout(NamedTuple):
    """How many shards there are, and the generation of their queues.

    The generation counts up when they are made anew, since neither the number of queues nor their
    arguments can be changed.
    """

    generation: int
    shards: int

    def queue(self, shard: int) -> str:
        """Return the name of a shard's queue."""
        return f"seatwarden.shard.{self.generation}.{shard}"

    def journal(self, shard: int) -> str:
        """Return the name of a shard's journal."""
        return f"seatwarden.journal.{self.generation}.{shard}"

    def slots(self, shard: int) -> range:
        """Return a shard's slots."""
        return range(SLOTS * shard // self.shards, SLOTS * (shard + 1) // self.shards)

    def shard_of(self, table_id: str) -> int:
        """Return the shard of a table."""
        slot = slot_of(table_id)
        return next(shard for shard in range(self.shards) if slot in self.slots(shard))

    def queues(self) -> Topology:
        """Return the shards' queues."""
        return Topology(
            queues=tuple(
                Queue(self.queue(shard), single_active=True) for shard in range(self.shards)
            )
        )

    def bindings(self) -> Topology:
        """Return what brings each slot's events to its shard."""
        return Topology(
            bindings=tuple(
                Binding(self.queue(shard), EVENTS, key)
                for shard in range(self.shards)
                for key in (*(f"{slot}.#" for slot in self.slots(shard)), TO_ALL)
            )
        )

    def journals(self) -> Topology:
        """Return the shards' journals: kept by size, far above what is needed, never by age."""
        return Topology(
            queues=tuple(
                Queue(self.journal(shard), "stream", max_bytes=GIB, segment_bytes=SEGMENT)
                for shard in range(self.shards)
            )
        )


def common(audit_days: int = AUDIT_DAYS) -> Topology:
    """Return what there is once, whatever the layout.

    The audit is bounded in bytes too: a full disk stops all who publish.
    """
    return Topology(
        exchanges=(Exchange(EVENTS), Exchange(DECISIONS), Exchange(DEAD)),
        queues=(
            Queue(DEAD_LETTERS, max_bytes=GIB),
            Queue(WORKERS),
            Queue(LAYOUT, "stream", max_bytes=GIB, segment_bytes=SEGMENT),
            Queue(
                AUDIT,
                "stream",
                max_bytes=AUDIT_GIB * GIB,
                max_days=audit_days,
                segment_bytes=8 * SEGMENT,
            ),
        ),
        bindings=(Binding(DEAD_LETTERS, DEAD),),
    )
