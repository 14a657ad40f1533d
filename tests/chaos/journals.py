"""What the journals say afterwards: who owned which shard when, and what each record covered."""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from actors.broker import layout, streams
from actors.broker.topology import Layout
from actors.journal import reading, records
from actors.rabbit import RabbitTransport
from actors.transport import Connection
from statecharts.instants import SECOND
from statecharts.surroundings import Interruption


class Entry(NamedTuple):
    """A record that counts."""

    epoch: int
    plain: dict[str, Any]
    keys: tuple[str, ...]
    """Of the deliveries that it covers, and no record before it."""

    @property
    def owner(self) -> str:
        return str(self.plain["owner"][0]) if self.plain["owner"] else ""

    @property
    def alive(self) -> int:
        """The sign of life that was known when it was written."""
        return int(self.plain["sign_of_life"] or 0)


class Noticed(NamedTuple):
    """An interruption, and when it was noticed."""

    place: int
    """In which record."""
    interruption: Interruption
    fired: int
    """Deadlines before this instant may have fired all the same, by a tick that was late."""


class Journals(NamedTuple):
    """All records that count, by shard, in their order."""

    layout: Layout
    shards: Sequence[Sequence[Entry]]

    def interruptions(self, shard: int) -> list["Noticed"]:
        """Return the interruptions of a shard as they were noticed, not merged yet."""
        found, known, alive, mark = [], set[tuple[int, int]](), 0, 0
        for place, entry in enumerate(self.shards[shard]):
            facts = entry.plain["facts"]
            told = {(start, end) for start, end in facts["interruptions"]}
            found += [
                Noticed(place, Interruption(max(start, alive), end), max(start, alive, mark))
                for start, end in told - known
            ]
            known, alive, mark = told, entry.alive, facts["mark"]
        return found

    def places(self, shard: int) -> dict[str, int]:
        """Return for each message by its id in which record it was."""
        return {
            outgoing[-1]: place
            for place, entry in enumerate(self.shards[shard])
            for outgoing in entry.plain["outbox"]
        }

    def arrivals(self, shard: int) -> dict[str, list[dict[str, int]]]:
        """Return for each delivery by its key when the last event of each table had arrived.

        As often as it was covered; its own table is among them, unless it was known already.
        """
        found: dict[str, list[dict[str, int]]] = defaultdict(list)
        for entry in self.shards[shard]:
            touched = {table: at for table, at, *_ in entry.plain["tables"]}
            for key in entry.keys:
                found[key].append(touched)
        return found

    def silence(self, since: int) -> float:
        """Return for how many seconds a shard's deadlines stood still at the most, from then on."""
        longest = 0
        for entries in self.shards:
            signs = sorted({entry.alive for entry in entries})
            for earlier, later in pairwise(signs):
                if later > since:
                    longest = max(longest, later - max(earlier, since))
        return longest / SECOND

    def owners(self, shard: int) -> list[str]:
        """Return who has owned a shard, one after the other."""
        found: list[str] = []
        for entry in self.shards[shard]:
            if entry.owner and found[-1:] != [entry.owner]:
                found.append(entry.owner)
        return found

    def faults(self) -> Iterator[str]:
        """Say where more than one may have handled the events of a shard at a time."""
        for shard, entries in enumerate(self.shards):
            number, epochs, seen = 0, [], dict[int, str]()
            for entry in entries:
                epochs.append(entry.epoch)
                if seen.setdefault(entry.epoch, entry.owner) != entry.owner:
                    yield f"shard {shard}: two owners in epoch {entry.epoch}"
                for outgoing in entry.plain["outbox"]:
                    number += 1
                    if outgoing[0] != number:
                        yield f"shard {shard}: message {outgoing[0]} follows {number - 1}"
                        number = outgoing[0]
            if epochs != sorted(epochs):
                yield f"shard {shard}: epochs mixed"


async def read(url: str) -> Journals:
    """Read all journals of a broker, from their first record to their end."""
    connection = await RabbitTransport(url).connect()
    try:
        found = await layout.find(connection)
        assert found is not None
        names = [found.journal(shard) for shard in range(found.shards)]
        return Journals(found, await asyncio.gather(*(_read(connection, name) for name in names)))
    finally:
        await connection.close()


async def _read(connection: Connection, stream: str) -> list[Entry]:
    until = await streams.end_of(connection, stream)
    counting, entries, kept = reading.Counting(), list[Entry](), list[str]()
    async with streams.messages(connection, stream, "first", until) as read_:
        async for delivery in read_:
            for found in counting.hear(delivery):
                plain = records.plain(found.body)
                covered = plain["covered"]
                new = _behind(kept, covered) if plain["all_keys"] else covered
                kept = [*kept, *new][-max(plain["keep"], len(new)) :]
                entries.append(Entry(found.epoch, plain, tuple(new)))
    return entries


def _behind(kept: Sequence[str], whole: Sequence[str]) -> Sequence[str]:
    """Return what a record that names all kept keys adds to those of before."""
    for length in range(min(len(kept), len(whole)), -1, -1):
        if list(kept[len(kept) - length :]) == list(whole[:length]):
            return whole[length:]
    return whole
