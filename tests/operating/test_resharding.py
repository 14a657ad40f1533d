"""Another number of shards: nothing is lost, nothing decided twice, and not while others work."""

from __future__ import annotations

import asyncio

import pytest

from actors import policies
from actors.broker import layout
from actors.broker.topology import Layout
from actors.memory import MemoryTransport
from actors.operating import resharding
from actors.operating.owners import holders
from actors.operating.resharding import NotNow, Resharding
from tests.worker.house import House, a_house, settle


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resharding, "WATCH_SECONDS", 0.1)


def change(house: House) -> Resharding:
    return Resharding(
        MemoryTransport(house.broker), policies.bundled(), house.clock, house.options, house.log
    )


async def test_open_turns_and_what_was_not_read_yet_go_to_the_new_shards() -> None:
    async with a_house() as house:
        await house.turn("u1")
        await house.publish("player.disconnected", {"player_id": "p1", "session_id": "s1"})
        await house.pass_time(1)
        await house.stop()
        await house.turn("u2", player_id="p2", subject="t2/5")
        new = await change(house).run(5)
        assert new == Layout(2, 5)
        house.restart()
        await house.worker.ready.wait()
        await house.pass_time(60)
        assert sorted(turn for turn, *_ in house.decisions()) == ["u1", "u2"]
        assert house.of_type("event.refused") == []


async def test_it_can_be_done_again_and_back() -> None:
    async with a_house() as house:
        await house.turn("u1")
        await house.stop()
        for shards in (7, 2, 2, 1):
            await change(house).run(shards)
        house.restart()
        await house.worker.ready.wait()
        await house.pass_time(60)
        assert [turn for turn, *_ in house.decisions()] == ["u1"]


async def test_not_while_a_worker_works() -> None:
    async with a_house() as house:
        await house.pass_time(1)
        with pytest.raises(NotNow, match="1 workers are at work"):
            await change(house).run(3)
        connection = await MemoryTransport(house.broker).connect()
        assert await layout.find(connection) == Layout(1, 1)
        await connection.close()


async def test_not_while_somebody_publishes() -> None:
    async with a_house() as house:
        await house.stop()

        async def meanwhile() -> None:
            for number in range(50):
                await house.turn(f"u{number}")
                await asyncio.sleep(0.01)

        publishing = asyncio.create_task(meanwhile())
        with pytest.raises(NotNow, match="messages came"):
            await change(house).run(3)
        await publishing


async def test_who_owns_what_is_told() -> None:
    async with a_house() as house:
        await house.turn()
        await house.pass_time(2)
        connection = await MemoryTransport(house.broker).connect()
        found = await holders(connection, Layout(1, 1))
        await settle()
        assert found.workers == 1
        [held] = found.shards
        assert held.owner is not None
        assert held.owner.worker == "worker"
        assert (held.slots, held.backlog) == ("0-255", 0)
        lag = held.lag(house.clock.now())
        assert lag is not None
        assert lag <= 1.1
        await connection.close()
