"""Scenes of workers that come and go, and of one killed with many turns open."""

import asyncio
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from tests.chaos.crowd import now
from tests.chaos.plans import mixed
from tests.chaos.report import tell
from tests.chaos.scenes import scene
from tests.chaos.stage import Stage

ROOT = Path(__file__).parents[2]
BALANCED_SECONDS = 120
TURNS = 2000
OPENING_SECONDS = 6.0
MARGIN = 3.0
"""Seconds from the last beginning to the first end."""


@scene("two workers, then three, then one", shards=6)
async def _(stage: Stage) -> None:
    told = []
    workers = [await stage.worker()]
    async with stage.crowd.playing(10, 2):
        workers.append(await stage.worker())
        told.append(await _shares(stage, [3, 3]))
        workers.append(await stage.worker())
        told.append(await _shares(stage, [2, 2, 2]))
        stage.hit()
        for worker in workers[1:]:
            assert await worker.stop() == 0
        told.append(await _shares(stage, [6]))
    tell(f"{stage.node.version}: shards by worker with two, three, one: {told}")
    await stage.judge()
    await stage.owned()


@scene(f"{TURNS} turns on two workers, one killed", is_long=True)
async def _(stage: Stage) -> None:
    await take_over(stage, TURNS, OPENING_SECONDS)


class Takeover(NamedTuple):
    """How long it took."""

    live: float
    """Seconds until the other worker was live on the last shard, by its log."""
    stood_still: float
    """Seconds for which the deadlines of some shard stood still at the most, by the journals."""
    open_turns: int


async def take_over(stage: Stage, turns: int, seconds: float) -> Takeover:
    """Kill one of two workers with so many turns open, which begin within so many seconds."""
    workers = [await stage.worker(), await stage.worker()]
    await _shares(stage, [stage.shards // 2] * 2)
    stage.crowd.play(mixed(turns, seconds, turn_seconds=seconds + MARGIN))
    await asyncio.sleep(seconds + 1)
    killed, other = workers
    had = killed.owned()
    open_ = stage.crowd.open_turns()
    seen = len(other.log_lines())
    instant = now()
    stage.hit()
    killed.kill()
    while not had <= {line["shard"] for line in other.said("owns the shard", seen)}:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    live = other.live_since(instant)
    await stage.judge()
    assert stage.journals
    silence = stage.journals.silence(instant)
    tell(
        f"{stage.node.version}: {open_} of {turns} turns open when a worker was killed: its"
        f" {len(had)} shards live after {live:.2f} s, no deadline stood still longer than"
        f" {silence:.2f} s"
    )
    return Takeover(live, silence, open_)


async def _shares(stage: Stage, wanted: list[int]) -> list[int]:
    """Wait until the command tells of these shares, and of as many workers; returns them."""
    async with asyncio.timeout(BALANCED_SECONDS):
        while True:
            told = await _told(stage)
            owners = Counter(one["owner"] for one in told["shards"])
            if sorted(owners.values()) == wanted and told["workers"] == len(wanted):
                return sorted(owners.values())
            await asyncio.sleep(0.5)


async def _told(stage: Stage) -> dict[str, Any]:
    """Return what `seatwarden shards --json` prints."""
    main = "from actors.cli import main; main()"
    argv = ("-c", main, "shards", "--json", "--amqp", stage.urls[0])
    process = await asyncio.create_subprocess_exec(
        sys.executable, *argv, stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    out, _ = await process.communicate()
    assert process.returncode == 0
    found: dict[str, Any] = json.loads(out)
    return found
