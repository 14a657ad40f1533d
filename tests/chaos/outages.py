"""Scenes in which broker, network or all workers are away, and what players do meanwhile."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import aio_pika

from statecharts.instants import SECOND, from_rfc3339
from tests.broker.cluster import Cluster
from tests.broker.proxy import Proxy
from tests.chaos.crowd import now
from tests.chaos.deaths import HEARTBEATS_MISSED
from tests.chaos.plans import graces, mixed
from tests.chaos.scenes import cluster_scene, scene
from tests.chaos.stage import Stage, threaded

IN_GRACE = 4.2
"""Seconds after the beginning of `graces` when all players are in their grace."""
AWAY_SECONDS = 8.0
SETTLE = 3 * SECOND


@scene("broker restarted", own_node=True)
async def _(stage: Stage) -> None:
    await stage.worker()
    await stage.worker()
    stage.crowd.play(mixed(60, 4))
    await asyncio.sleep(3)
    stage.hit()
    await asyncio.to_thread(stage.node.restart)
    await stage.judge()
    await stage.owned()


@scene("broker killed and started", own_node=True)
async def _(stage: Stage) -> None:
    await stage.worker()
    await stage.worker()
    stage.crowd.play(mixed(60, 4))
    await asyncio.sleep(3)
    stage.hit()
    await asyncio.to_thread(stage.node.kill)
    await asyncio.to_thread(stage.node.start)
    await stage.judge()
    await stage.owned()


@scene("players return while the broker is away", own_node=True)
async def _(stage: Stage) -> None:
    await broker_away(stage, AWAY_SECONDS)


@scene("players return while all workers are away", is_long=True)
async def _(stage: Stage) -> None:
    await workers_away(stage, AWAY_SECONDS)


@scene("players return while an alarm blocks publishers", own_node=True, is_long=True)
async def _(stage: Stage) -> None:
    await publishers_blocked(stage, AWAY_SECONDS)


async def broker_away(stage: Stage, seconds: float) -> None:
    """End the broker for so long (and its start) over open graces."""
    await stage.worker()
    await stage.worker()
    async with _settling(stage, seconds):
        await asyncio.to_thread(stage.node.kill)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(stage.node.start)


async def workers_away(stage: Stage, seconds: float) -> None:
    """End all workers for so long over open graces."""
    workers = [await stage.worker(), await stage.worker()]
    async with _settling(stage, seconds):
        for worker in workers:
            worker.kill()
        await asyncio.sleep(seconds)
        for worker in workers:
            worker.start()


async def publishers_blocked(stage: Stage, seconds: float) -> None:
    """Block all publishers, the workers too, for so long over open graces."""
    await stage.worker()
    await stage.worker()
    async with _settling(stage, seconds) as ends, threaded(stage.node.alarm()):
        await asyncio.sleep(seconds)
        ends.append(now())


@asynccontextmanager
async def _settling(stage: Stage, seconds: float) -> AsyncIterator[list[int]]:
    """An interruption over open graces: half of the players return in it, and are heard after it.

    Nobody may be decided before its end and `settle_seconds`, and nobody who is back by then.
    """
    stage.crowd.play(graces(60, (IN_GRACE + 0.5, IN_GRACE + seconds)))
    await asyncio.sleep(IN_GRACE)
    began = now()
    stage.hit()
    ends: list[int] = []
    yield ends
    back = min([*ends, now()])
    verdict = await stage.judge()
    assert verdict.moved
    for turn in stage.crowd.turns.values():
        for copy in turn.decisions:
            deadline = from_rfc3339(json.loads(copy.body)["data"]["deadline"])
            if deadline > began:  # a slow machine may have decided some before
                assert deadline >= back + SETTLE, turn
                assert turn.plan.kind == "away", turn


# -- Alarms


@scene("a short memory alarm", own_node=True)
async def _(stage: Stage) -> None:
    await stage.worker()
    stage.crowd.play(mixed(60, 4))
    await asyncio.sleep(3)
    stage.hit()
    async with threaded(stage.node.alarm()):
        await asyncio.sleep(2)
    await stage.judge()


@scene("a disk alarm of ten seconds", own_node=True, is_long=True)
async def _(stage: Stage) -> None:
    await stage.worker()
    await stage.worker()
    stage.crowd.play(mixed(60, 4))
    await asyncio.sleep(3)
    stage.hit()
    async with threaded(stage.node.alarm("disk")):
        await asyncio.sleep(10)
    await stage.judge()


# -- The network


@asynccontextmanager
async def _proxied(stage: Stage) -> AsyncIterator[tuple[Proxy, str]]:
    """Give a proxy before the broker, and the address by which it is reached."""
    port = urlsplit(stage.urls[0]).port
    assert port
    async with Proxy(port) as proxy:
        yield proxy, stage.urls[0].replace(f":{port}/", f":{proxy.port}/")


@scene("connection cut again and again")
async def _(stage: Stage) -> None:
    async with _proxied(stage) as (proxy, url):
        await stage.worker(url=url)
        stage.crowd.play(mixed(60, 5))
        stage.hit()
        for _ in range(4):
            await asyncio.sleep(1.5)
            proxy.cut()
        await stage.judge()


@scene("connection silent past the heartbeat, another stands by", is_long=True)
async def _(stage: Stage) -> None:
    async with _proxied(stage) as (proxy, url):
        silenced = await stage.worker(url=url)
        await stage.owned()
        await stage.worker()
        stage.crowd.play(mixed(60, 3))
        await asyncio.sleep(3)
        stage.hit()
        proxy.swallow()
        await asyncio.sleep(HEARTBEATS_MISSED)
        await silenced.wait_for("connection lost")
        await proxy.restore()
        await stage.judge()


# -- The queues


@scene("queue deleted under its consumer")
async def _(stage: Stage) -> None:
    await stage.worker()
    await stage.worker()
    await stage.crowd.stop_overhearing()
    # All have been heard, and nobody says anything: what a deleted queue holds is lost for good.
    stage.crowd.play(graces(60, (IN_GRACE + 0.5, IN_GRACE + 0.9)))
    await asyncio.sleep(IN_GRACE)
    stage.hit()
    async with await aio_pika.connect(stage.urls[0]) as connection:
        channel = await connection.channel()
        await channel.queue_delete("seatwarden.shard.1.0")
    await stage.judge()
    await stage.owned()


@scene("consumer_timeout hit again and again", own_node=True, is_long=True)
async def _(stage: Stage) -> None:
    # So short that a worker in good health hits it, by what it reads of its own journal.
    async with threaded(stage.node.consumer_timeout(2)):
        workers = [await stage.worker(), await stage.worker()]
        stage.crowd.play(mixed(60, 3))
        stage.hit()
        await stage.judge()
    lost = [line for worker in workers for line in worker.said("connection lost")]
    assert any("timed out" in line["reason"] for line in lost)


# -- Clusters


@cluster_scene("three nodes, the leader killed")
async def _(stage: Stage, cluster: Cluster) -> None:
    for url in stage.urls:
        await stage.worker(url=url)
    await stage.owned()
    queue = "seatwarden.shard.1.0"
    leader = await asyncio.to_thread(cluster.leader, queue, stage.urls[0])
    stage.crowd.play(mixed(60, 4))
    await asyncio.sleep(3)
    stage.hit()
    await asyncio.to_thread(leader.kill)
    try:
        others = [url for url in stage.urls if leader.url not in url]
        await stage.judge(others[0])
    finally:
        await asyncio.to_thread(leader.start)
        await asyncio.to_thread(cluster.wait)


@cluster_scene("three nodes, one cut off")
async def _(stage: Stage, cluster: Cluster) -> None:
    for url in stage.urls:
        await stage.worker(url=url)
    await stage.owned()
    parted = cluster.nodes[0]  # the crowd's
    stage.crowd.play(graces(60, (IN_GRACE + 0.5, IN_GRACE + 1.0)))
    await asyncio.sleep(IN_GRACE)
    stage.hit()
    await asyncio.to_thread(cluster.cut_off, parted)
    try:
        await stage.judge(stage.urls[-1])
    finally:
        await asyncio.to_thread(cluster.heal)
