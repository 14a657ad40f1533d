"""What a seat takes in a shard: idle with one session known, and acting.

Measured as what a process of its own grows by (RSS), so with what the allocator wastes.  Events
come through `decode`, since strings that a seat keeps are those of its messages.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from actors import policies
from actors.shards.shard import Shard
from statecharts.events import decode
from statecharts.instants import SECOND, to_rfc3339
from tests.bench.rounds import table

SEATS = 100_000
SEATS_OF_A_TABLE = 10
GROUP = 256
"""After so many events the worker takes what has changed, for its journal."""
START = 1_767_225_600 * SECOND
STATM = Path("/proc/self/statm")


def measure() -> str:
    """Fill a dict in one process; in another a shard, and then let all of its seats act."""
    if not STATM.exists():
        return f"Memory: not measured, this system has no {STATM}\n"
    (least,) = _grown("floor")
    idle, acting = _grown("seats")
    rows = [
        (name, f"{grown / SEATS:,.0f}", f"{grown / least:.1f}")
        for name, grown in (
            ("floor: (table id, seat) in a dict", least),
            ("idle, one session known", idle),
            ("acting, one session known", acting),
        )
    ]
    return table(
        f"Memory: {SEATS:,} seats in one shard, {SEATS_OF_A_TABLE} at a table, by RSS",
        ("", "bytes/seat", "x floor"),
        rows,
    )


def _grown(what: str) -> list[int]:
    """Return by how many bytes a fresh process has grown after each stage."""
    command = [sys.executable, "-m", "tests.bench.memory", what]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    grown: list[int] = json.loads(done.stdout)
    return grown


def _fill(what: str) -> list[int]:
    shard = Shard(policies.bundled())
    _play(shard, connected, 1)  # what is made once, at the first event, is no seat's
    base = _resident()
    if what == "floor":
        kept = dict.fromkeys(_seats(SEATS))
        return [_resident() - base] if kept else []
    _play(shard, connected, SEATS)
    idle = _resident() - base
    _play(shard, started, SEATS)
    return [idle, _resident() - base]


def _seats(number: int) -> Iterator[tuple[str, int]]:
    for count in range(number):
        yield f"table-{count // SEATS_OF_A_TABLE}", count % SEATS_OF_A_TABLE + 1


def _play(shard: Shard, event: Callable[[str, int], bytes], number: int) -> None:
    for count, (table_id, seat) in enumerate(_seats(number)):
        shard.apply(decode(event(table_id, seat)), START)
        if count % GROUP == 0:
            shard.take_changes()
    shard.take_changes()


def connected(table_id: str, seat: int) -> bytes:
    """Return the word that a seat's player is there."""
    data = {"player_id": f"player-{table_id}-{seat}", "session_id": f"session-{table_id}-{seat}"}
    return _event("player.connected", table_id, seat, data)


def started(table_id: str, seat: int) -> bytes:
    """Return the start of a turn."""
    return _event("turn.started", table_id, seat, {
        "hand_id": f"{table_id}-hand-1", "turn_id": f"{table_id}-hand-1-{seat}",
        "player_id": f"player-{table_id}-{seat}", "turn_seconds": 20, "format": "cash",
        "to_call": 100, "contributed": 50, "pots": [450], "big_blind": 100,
    })  # fmt: skip


def _event(name: str, table_id: str, seat: int, data: dict[str, Any]) -> bytes:
    return json.dumps({
        "specversion": "1.0", "id": f"{name}-{table_id}-{seat}", "source": "/engines/ring-3",
        "type": f"seatwarden.{name}.v1", "time": to_rfc3339(START),
        "subject": f"{table_id}/{seat}", "data": data,
    }).encode()  # fmt: skip


def _resident() -> int:
    """Return the bytes of this process that are in memory."""
    gc.collect()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_fill(sys.argv[1])))
