"""Scenes of workers that die by `kill -9`, or freeze."""

import asyncio
import random
from itertools import product

from tests.chaos.failing import KINDS, Point
from tests.chaos.plans import mixed
from tests.chaos.report import tell
from tests.chaos.scenes import scene
from tests.chaos.stage import Stage, Worker

DEATHS = [
    *[Point("before", "write")] * 12,
    *[Point("before", "acknowledge")] * 6,
    *[Point("before", "record")] * 3,
    *[None] * 6,
]
"""None: `kill -9` some time after the start."""
HEARTBEATS_MISSED = 16.0
"""Seconds after which the broker has dropped a silent connection: two heartbeats and some."""


@scene("no disturbance")
async def _(stage: Stage) -> None:
    await stage.worker()
    stage.crowd.play(mixed(60, 3))
    verdict = await stage.judge()
    assert not verdict.again


@scene("owner killed, another stands by")
async def _(stage: Stage) -> None:
    first = await stage.worker()
    await stage.owned()
    await stage.worker()
    stage.crowd.play(mixed(60, 3))
    await asyncio.sleep(3)
    stage.hit()
    first.kill()
    await stage.judge()
    await stage.owned()


@scene("owner killed, started again at once")
async def _(stage: Stage) -> None:
    worker = await stage.worker()
    stage.crowd.play(mixed(60, 3))
    await asyncio.sleep(3)
    stage.hit()
    worker.kill()
    worker.start()
    await stage.judge()
    await stage.owned()


@scene("killed before and after each call to the broker")
async def _(stage: Stage) -> None:
    points = [Point(when, kind, 2) for kind, when in product(KINDS, ("before", "after"))]
    worker = await stage.worker()
    async with stage.crowd.playing(16, 2):
        await asyncio.sleep(2)
        stage.hit()
        worker.kill()
        for point in points:
            await _die(worker, point)
        await _go_on(worker)
    await stage.judge()
    assert await stage.dead_letters() == 0


@scene("killed at calls to the broker, another stands by", is_long=True)
async def _(stage: Stage) -> None:
    await stage.worker()
    dying = await stage.worker()
    async with stage.crowd.playing(16, 2):
        await asyncio.sleep(2)
        stage.hit()
        dying.kill()
        for when, kind in product(("before", "after"), ("record", "output", "acknowledge")):
            await _die(dying, Point(when, kind))
    await stage.judge()
    assert await stage.dead_letters() == 0


@scene(f"{len(DEATHS)} deaths over the same events")
async def _(stage: Stage) -> None:
    worker = await stage.worker()
    await worker.stop()
    stage.crowd.play(mixed(60, 2))
    await asyncio.sleep(3)
    stage.hit()
    deaths = list(DEATHS)
    chance = random.Random(1)
    chance.shuffle(deaths)
    for death in deaths:
        if death:
            await _die(worker, death)
            continue
        worker.dies(None)
        worker.start()
        await worker.wait_for("connected", after=len(worker.log_lines()))
        await asyncio.sleep(chance.uniform(0, 0.5))
        worker.kill()
    await _go_on(worker)
    await stage.judge()
    await stage.owned()
    assert await stage.dead_letters() == 0


@scene("frozen past the heartbeat, another stands by")
async def _(stage: Stage) -> None:
    await freeze(stage, HEARTBEATS_MISSED)


async def freeze(stage: Stage, seconds: float) -> None:
    """Freeze an owner for so long while another stands by; the sleeper must do nothing then."""
    sleeper = await stage.worker()
    await stage.owned()
    other = await stage.worker()
    stage.crowd.play(mixed(60, 3))
    await asyncio.sleep(3)
    seen = len(sleeper.log_lines())
    stage.hit()
    sleeper.freeze()
    await asyncio.sleep(seconds)
    owned = other.owned()
    sleeper.thaw()
    await sleeper.wait_for("connection lost", after=seen)
    lines = [str(line.get("event", line.get("text"))) for line in sleeper.log_lines()[seen:]]
    tell(f"{stage.node.version}: after {seconds:g} s of SIGSTOP the sleeper: {', '.join(lines)}")
    assert lines[: lines.index("connection lost")].count("decision") == 0
    assert owned == set(range(stage.shards))
    verdict = await stage.judge()
    assert not verdict.again
    await stage.owned()


async def _die(worker: Worker, point: Point) -> None:
    """Start a worker that dies at a point, and wait until it has."""
    worker.dies(point)
    worker.start()
    assert await worker.ended(60) == -9


async def _go_on(worker: Worker) -> None:
    worker.dies(None)
    seen = len(worker.log_lines())
    worker.start()
    await worker.wait_for("ready", 60, after=seen)
