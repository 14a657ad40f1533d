"""Records of each older version, as that version wrote them, are read and go on as they would have.

Each file of `journals` tells the same turns in every state.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from actors import policies
from actors.journal import Journal, Record, begin
from actors.journal.records import RECORD, UPGRADES
from actors.memory import MemoryBroker, MemoryTransport
from actors.shards.pictures import Picture
from actors.shards.shard import Shard
from actors.transport import Message, Queue, Topology
from statecharts.decisions import DecisionMade
from statecharts.instants import SECOND, from_rfc3339

STREAM = "journal"
KNOWN = policies.bundled()
BEGAN = from_rfc3339("2026-03-01T12:00:00Z")
WRITTEN = {
    version: (Path(__file__).parent / "journals" / f"record-{version}.json").read_bytes()
    for version in UPGRADES
}


@pytest.mark.parametrize("version", WRITTEN)
async def test_what_an_older_version_has_written_goes_on(version: int) -> None:
    connection = await MemoryTransport(MemoryBroker()).connect()
    await connection.declare(Topology(queues=(Queue(STREAM, "stream"),)))
    await begin(connection, STREAM, Record(Picture({}, {})))
    journal = Journal(connection, STREAM, "one")
    await journal.open(KNOWN)
    headers = {"epoch": journal.epoch or 0, "number": 1, "part": 0, "more": 0}
    message = Message("", STREAM, WRITTEN[version], kind=RECORD, headers=headers)
    await connection.publish(message)
    found = await Journal(connection, STREAM, "two").open(KNOWN)
    shard = Shard(KNOWN, timelines=True)
    shard.restore(found.changes)
    decided = {
        one.table_id: ((one.at - BEGAN) // SECOND, one.action, one.card)
        for one in shard.fire(1 << 62)
        if isinstance(one, DecisionMade)
    }
    assert decided == {
        "grace": (38, "fold", None),
        "back": (38, "fold", None),
        "buffer": (48, "fold", None),
        "acting": (58, "fold", None),
        "discard": (60, "discard", "Kd"),
    }
    assert shard.faults == []
