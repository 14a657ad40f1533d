"""What it takes to restore a journal with a hundred thousand seats.

The journal is written as an owner writes it, group after group, with the rolling checkpoint; then a
process of its own opens it.
"""

import asyncio
import cProfile
import json
import os
import pstats
import random
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from actors import policies
from actors.journal import Journal, Record, begin
from actors.journal.collector import collector
from actors.rabbit import RabbitTransport
from actors.shards.pictures import Picture
from actors.shards.shard import Shard
from actors.transport import Queue, Topology
from statecharts.events import Event, decode
from statecharts.instants import to_rfc3339
from tests.broker.nodes import Node
from tests.chaos.crowd import now
from tests.chaos.stage import connected

STREAM = "restored"
SEATS = 100_000
SEATS_AT_A_TABLE = 9
GROUP = 256
ROOT = Path(__file__).parents[2]


async def write(url: str, seats: int = SEATS) -> None:
    """Write a journal: every seat is taken, every fourth has a turn open; then some play on."""
    shard = Shard(policies.bundled())
    async with connected(url) as connection:
        await connection.declare(Topology(queues=(Queue(STREAM, "stream", max_bytes=1 << 30),)))
        await begin(connection, STREAM, Record(Picture({}, {})))
        journal = Journal(connection, STREAM, uuid4().hex)
        await journal.open(policies.bundled())
        events, at = _events(seats), now()
        while group := [event for event, _ in zip(events, range(GROUP), strict=False)]:
            for event in group:
                shard.apply(event, at)
            record = Record(shard.take_changes(), keep=1000, sign_of_life=at)
            await journal.commit(journal.with_oldest(record, shard.entries))
        await journal.close()


def _events(seats: int) -> Iterator[Event]:
    chance, ids, at = random.Random(1), iter(range(1 << 62)), now()

    def event(name: str, seat: int, **data: object) -> Event:
        table, number = divmod(seat, SEATS_AT_A_TABLE)
        return decode(
            json.dumps(
                {
                    "specversion": "1.0",
                    "id": f"e{next(ids)}",
                    "source": f"/gateways/{seat % 7}",
                    "type": f"seatwarden.{name}.v1",
                    "time": to_rfc3339(at + next(ids)),
                    "subject": f"table-{table}/{number + 1}",
                    "data": {"player_id": f"player-{seat}", "hand_id": "h1", **data},
                }
            ).encode()
        )

    def start(seat: int, turn: int) -> Event:
        return event(
            "turn.started", seat, turn_id=f"h1-{seat}-{turn}", turn_seconds=600, format="cash",
            to_call=100, contributed=50, pots=[150, 300], big_blind=100,
        )  # fmt: skip

    for seat in range(seats):
        yield event("player.connected", seat, session_id=f"session-{seat}-1")
        for turn in range(chance.randint(0, 2)):
            yield start(seat, turn)
            yield event("turn.acted", seat, turn_id=f"h1-{seat}-{turn}")
        if seat % 4 == 0:
            yield start(seat, 9)
    for seat in chance.choices(range(seats), k=seats // 2):
        yield event("player.disconnected", seat, session_id=f"session-{seat}-1")


async def read(url: str, *, profile: bool) -> None:
    """Open the journal, and print what that took."""
    connection = await RabbitTransport(url).connect()
    journal = Journal(connection, STREAM, uuid4().hex)
    before, began, processor = _rss(), time.perf_counter(), time.process_time()
    profiler = cProfile.Profile()
    if profile:
        profiler.enable()
    restored = await journal.open(policies.bundled())
    opened = time.perf_counter()
    with collector.rests():
        Shard(policies.bundled()).restore(restored.changes)
    ended = time.perf_counter()
    if profile:
        profiler.disable()
        pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(25)
    sys.stdout.write(
        f"{connection.broker_version}: {len(restored.changes.seats)} seats:"
        f" opened in {opened - began:.2f} s, a shard made of it in {ended - opened:.2f} s"
        f" ({time.process_time() - processor:.2f} s of processor time in all);"
        f" memory {before} MiB before, {_rss()} after,"
        f" {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} at the most\n"
    )
    await journal.close()
    await connection.close()


async def measure(node: Node, seats: int, *, profile: bool) -> str:
    """Write a journal and open it in a process of its own; returns what that says."""
    began = time.perf_counter()
    await write(node.url, seats)
    took = time.perf_counter() - began
    argv = ("-m", "tests.chaos.restoring", node.url, *(["profile"] if profile else []))
    process = await asyncio.create_subprocess_exec(
        sys.executable, *argv, stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    out, _ = await process.communicate()
    assert process.returncode == 0
    return f"{out.decode()}(written in {took:.0f} s)"


def _rss() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() >> 20


if __name__ == "__main__":
    asyncio.run(read(sys.argv[1], profile="profile" in sys.argv))
