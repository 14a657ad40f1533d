"""`seatwarden shards`: who owns which shard, since when, and how far behind he is."""

from __future__ import annotations

from typing import NamedTuple

from actors.broker.streams import end_of
from actors.broker.topology import WORKERS, Layout
from actors.journal import reading, records
from actors.journal.records import Owner
from actors.transport import Connection
from statecharts.instants import SECOND
from statecharts.seat import SnapshotError

UNREADABLE = "(its journal cannot be read)"


class Held(NamedTuple):
    """One shard: instants in microseconds since 1970."""

    shard: int
    slots: str
    owner: Owner | None
    """Who wrote last; None if nobody has yet."""
    sign_of_life: int | None
    """When time last came through the shard's queue."""
    backlog: int
    """Messages that nobody has been given yet."""

    def lag(self, now: int) -> float | None:
        """Return for how many seconds no time has come through."""
        return round((now - self.sign_of_life) / SECOND, 1) if self.sign_of_life else None


class Holders(NamedTuple):
    """All shards, and how many workers there are."""

    workers: int
    shards: list[Held]


async def holders(connection: Connection, layout: Layout) -> Holders:
    """Look at each shard's queue and at the last record of its journal; raises ConnectionLost."""
    survey = await connection.survey(WORKERS)
    shards = [await _held(connection, layout, shard) for shard in range(layout.shards)]
    return Holders(survey.consumers if survey else 0, shards)


async def _held(connection: Connection, layout: Layout, shard: int) -> Held:
    queue, journal, slots = layout.queue(shard), layout.journal(shard), layout.slots(shard)
    survey = await connection.survey(queue)
    last = await reading.last_counting(connection, journal, await end_of(connection, journal))
    try:
        told = records.plain(last.body) if last else {"owner": None, "sign_of_life": None}
        owner = Owner(*told["owner"]) if told["owner"] else None
    except (SnapshotError, KeyError, TypeError):
        told, owner = {"sign_of_life": None}, Owner(UNREADABLE, 0)
    return Held(
        shard, f"{slots.start}-{slots.stop - 1}", owner, told["sign_of_life"],
        survey.messages if survey else 0,
    )  # fmt: skip
