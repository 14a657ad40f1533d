"""Slots: 256 fixed shares of all tables, by which publishers address shards unknown to them."""

from __future__ import annotations

from zlib import crc32

SLOTS = 256
TO_ALL = "all"
"""The routing key of what concerns every shard."""


def slot_of(table_id: str) -> int:
    """Return a table's slot.

    >>> slot_of("table-7"), slot_of("t1")
    (4, 55)
    """
    return crc32(table_id.encode()) % SLOTS


def routing_key(table_id: str) -> str:
    """Return a routing key for an event of a table."""
    return f"{slot_of(table_id)}.{table_id.replace('.', '-')}"


def is_addressed_right(key: str, table_id: str) -> bool:
    """Say whether a message stands in the right slot; `table_id` is "" for what goes to all."""
    first = key.partition(".")[0]
    return first == (str(slot_of(table_id)) if table_id else TO_ALL)
