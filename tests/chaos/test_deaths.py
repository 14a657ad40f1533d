"""Workers that die by `kill -9`."""

import asyncio

from tests.chaos.plans import mixed
from tests.chaos.stage import Stage


async def test_nothing_happens(rough: Stage) -> None:
    await rough.worker()
    rough.crowd.play(mixed(60, 4))
    assert not (await rough.judge("none")).faults


async def test_an_owner_is_killed_and_another_stands_by(rough: Stage) -> None:
    first = await rough.worker()
    await rough.owned()
    await rough.worker()
    rough.crowd.play(mixed(60, 4))
    await asyncio.sleep(3)
    rough.hit()
    first.kill()
    assert not (await rough.judge("an owner killed, another stands by")).faults
