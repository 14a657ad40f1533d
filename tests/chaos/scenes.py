"""The scenes: each disturbs workers or broker in its own way while turns are open.

Most of a scene is waiting, so some are played at a time, each on a virtual host or node of its own.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import NamedTuple

from tests.broker.cluster import Cluster, clustered
from tests.broker.installation import Installation
from tests.broker.nodes import Node, running
from tests.chaos.stage import SHARDS, Stage, stage, threaded

AT_A_TIME = 3

OnStage = Callable[[Stage], Awaitable[None]]
OnCluster = Callable[[Stage, Cluster], Awaitable[None]]


class Scene(NamedTuple):
    """What is played, and on what."""

    play: OnStage | None = None
    play_on_cluster: OnCluster | None = None
    own_node: bool = False
    """It ends its node, or disturbs all who use that."""
    shards: int = SHARDS
    is_long: bool = False
    """Played by `make chaos` alone: it takes long, or wants a machine to itself."""


SCENES: dict[str, Scene] = {}


def scene(
    name: str, *, own_node: bool = False, shards: int = SHARDS, is_long: bool = False
) -> Callable[[OnStage], OnStage]:
    """Make a function a scene."""

    def make(play: OnStage) -> OnStage:
        SCENES[name] = Scene(play, own_node=own_node, shards=shards, is_long=is_long)
        return play

    return make


def cluster_scene(name: str) -> Callable[[OnCluster], OnCluster]:
    """Make a function a scene that needs three nodes."""

    def make(play: OnCluster) -> OnCluster:
        SCENES[name] = Scene(play_on_cluster=play)
        return play

    return make


async def played(
    installation: Installation, names: Iterable[str], at_a_time: int = AT_A_TIME
) -> Mapping[str, BaseException | None]:
    """Play scenes; returns what has failed in each."""
    names = list(names)
    free = asyncio.Semaphore(at_a_time)
    async with threaded(running(installation)) as node:

        async def play(name: str) -> None:
            async with free:
                await _play(name, installation, node)

        results = await asyncio.gather(*map(play, names), return_exceptions=True)
    return dict(zip(names, results, strict=True))


async def _play(name: str, installation: Installation, shared: Node) -> None:
    one = SCENES[name]
    async with AsyncExitStack() as stack:
        if one.play_on_cluster:
            cluster = await stack.enter_async_context(threaded(clustered(installation)))
            on = await stack.enter_async_context(stage(name, *cluster.nodes))
            await one.play_on_cluster(on, cluster)
        elif one.play:
            node = shared
            if one.own_node:
                node = await stack.enter_async_context(threaded(running(installation)))
            on = await stack.enter_async_context(stage(name, node, shards=one.shards))
            await one.play(on)
