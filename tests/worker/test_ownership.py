"""Who owns which shard, and what happens to it when he cannot go on."""

from __future__ import annotations

import asyncio

import pytest
import structlog

from actors import policies
from actors.broker.topology import EVENTS, Layout
from actors.journal.records import RECORD, Record
from actors.memory import MemoryTransport
from actors.observing.figures import Figures
from actors.shards.pictures import Picture
from actors.shards.shard import Shard
from actors.transport import Delivery, Message
from actors.work import intake
from actors.work.census import ROUNDS
from actors.work.intake import Intake
from actors.work.lease import MAX_TRIES
from actors.work.options import Options
from actors.work.readiness import Standing
from actors.work.worker import GivenUp, Worker
from statecharts.events import decode
from tests.worker.house import JOURNAL, House, a_house, settle


class Team:
    """Workers of one house, in real time for what they sleep."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.workers: dict[str, Worker] = {}
        self._stops: dict[str, asyncio.Event] = {}
        self._running: dict[str, asyncio.Task[None]] = {}

    def start(self, name: str) -> None:
        worker = self.workers[name] = self.house.another(name)
        stop = self._stops[name] = asyncio.Event()
        self._running[name] = asyncio.create_task(worker.run(stop))

    async def stop(self, name: str) -> None:
        self._stops[name].set()
        await self._running.pop(name)
        del self.workers[name]

    def owned(self) -> list[int]:
        return sorted(
            sum(station.standing is Standing.LIVE for station in worker.stations)
            for worker in self.workers.values()
        )

    async def come_to(self, expected: list[int]) -> None:
        async with asyncio.timeout(20):
            while self.owned() != expected:
                await self.house.pass_time(0.1)
                await asyncio.sleep(0.01)


async def test_two_then_three_then_one_share_the_shards_evenly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("actors.work.census.EVERY", 0.05)
    house = House(Options(), shards=8)
    await house.listen()
    team = Team(house)
    team.start("a")
    await team.come_to([8])
    team.start("b")
    await team.come_to([4, 4])
    team.start("c")
    await team.come_to([2, 3, 3])
    await team.stop("b")
    await team.come_to([4, 4])
    await team.stop("a")
    await team.come_to([8])
    await asyncio.sleep(0.05 * (ROUNDS + 1))
    await team.stop("c")


async def test_a_shard_whose_journal_cannot_be_read_is_served_by_nobody_and_that_is_said() -> None:
    async with a_house(Options(give_up_seconds=2)) as house:
        await house.pass_time(1)
        await house.stop()
        connection = await MemoryTransport(house.broker).connect()
        # As a newer version would write it.
        await connection.publish(Message("", JOURNAL, b"", kind="seatwarden.marker"))
        epoch = len(house.broker.messages(JOURNAL)) - 1
        headers = {"epoch": epoch, "number": 1, "part": 0, "more": 0}
        await connection.publish(
            Message("", JOURNAL, b'{"version": 99}', kind=RECORD, headers=headers)
        )
        await connection.close()
        house.restart()
        assert house.running is not None
        with pytest.raises(GivenUp, match="a record of version 99"):
            await house.running
        assert not house.worker.ready.is_set()
        await house.turn()
        assert house.told == []
        house.forget()


async def test_a_worker_is_not_ready_while_the_broker_is_away_and_gives_up_in_the_end() -> None:
    async with a_house(Options(give_up_seconds=1.5)) as house:
        await house.pass_time(1)
        assert house.worker.ready.is_set()
        house.broker.stop()
        await settle()
        assert not house.worker.ready.is_set()
        assert house.running is not None
        with pytest.raises(GivenUp, match="stopped"):
            await house.running
        house.forget()


class DeathError(BaseException):
    """What no worker survives."""


async def test_a_message_that_ends_every_worker_is_parked_and_the_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def deadly(body: bytes) -> object:
        if b"deadly" in body:
            raise DeathError
        return decode(body)

    monkeypatch.setattr(intake, "decode", deadly)
    async with a_house() as house:
        await house.pass_time(1)
        await house.turn("u1", subject="t1/1")
        deaths = 0
        for body in (b"1 deadly", b"2 deadly"):
            await house.publish_raw(body, "55.t1")
        await house.turn("u2", subject="t2/2")
        while house.running is not None and house.running.done():
            assert isinstance(house.running.exception(), BaseExceptionGroup)
            deaths += 1
            house.restart()
            await house.pass_time(4)  # it may wait before it tries again
        letters = [(one.body, one.headers["code"]) for one in house.dead_letters()]
        assert list(dict.fromkeys(letters)) == [(b"1 deadly", "failed"), (b"2 deadly", "failed")]
        assert intake.SUSPICIOUS + MAX_TRIES < deaths < 2 * (intake.SUSPICIOUS + MAX_TRIES + 2)
        await house.pass_time(60)
        assert sorted(turn for turn, *_ in house.decisions()) == ["u1", "u2"]


async def test_many_deaths_over_the_same_messages_cost_none_of_them() -> None:
    async with a_house() as house:
        await house.pass_time(1)
        await house.stop()
        for number in range(20):
            await house.turn(f"u{number}", subject=f"t{number}/1")
        for _ in range(30):
            house.restart()
            for _ in range(100):
                await asyncio.sleep(0)
            await house.kill()
            await house.pass_time(0.05)
        house.restart()
        await house.pass_time(60)
        assert len(house.decisions()) == 20
        assert house.dead_letters() == []


def test_a_message_that_stands_in_the_queue_twice_is_tried_once_by_an_owner() -> None:
    log = structlog.wrap_logger(structlog.ReturnLogger())
    empty = Record(Picture({}, {}))
    taken = Intake(Shard(policies.bundled()), Options(), log, Figures(), empty, 0)
    twice = [Delivery(tag, EVENTS, "55.t1", b"the same") for tag in (1, 2)]
    taken.try_(twice)
    assert taken.tries(twice[0]) == taken.tries(twice[1]) == 1


def test_the_layout_knows_the_shard_of_a_table() -> None:
    assert [Layout(1, 4).shard_of(table) for table in ("table-7", "t1")] == [0, 0]
    assert Layout(1, 256).shard_of("t1") == 55


async def test_a_worker_that_the_broker_blocks_is_not_ready_and_its_stop_has_an_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("actors.work.worker.STOP_SECONDS", 0.2)
    async with a_house() as house:
        await house.pass_time(1)
        house.broker.block()
        await asyncio.sleep(1.5)
        assert not house.worker.ready.is_set()
        stopping = asyncio.create_task(house.stop())
        with pytest.raises(GivenUp, match="short of memory or disk"):
            await stopping
        house.broker.unblock()
        house.forget()


async def test_a_worker_told_to_stop_before_it_has_begun_ends_in_good_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("actors.work.worker.STOP_SECONDS", 0.2)
    house = House()
    house.broker.hold_confirms()  # the layout is not confirmed, so it cannot begin
    stop = asyncio.Event()
    running = asyncio.create_task(house.worker.run(stop))
    await asyncio.sleep(0.1)
    assert house.worker.is_connected
    assert not house.worker.stations
    stop.set()
    await running


async def test_a_busy_shard_shows_no_silence_and_its_own_slowness_is_no_interruption() -> None:
    async with a_house(stamps=True) as house:
        await house.pass_time(1)
        await house.turn(turn_seconds=20)
        house.broker.hold_confirms()  # what it has to tell is not confirmed for ten seconds
        await house.pass_time(10)
        house.broker.release_confirms()
        await house.pass_time(14)
        assert house.decisions() == [("u1", "fold", "turn-timeout", 24.0)]
        told = [one for one in house.of_type("seat.changed") if one["trigger"] == "interruption"]
        assert told == []


async def test_what_no_owner_has_written_counts_for_nothing() -> None:
    async with a_house() as house:
        await house.pass_time(1)
        await house.turn("u1")
        connection = await MemoryTransport(house.broker).connect()
        headers = {"epoch": 10**12, "number": 1, "part": 0, "more": 1}
        await connection.publish(Message("", JOURNAL, b"{}", kind=RECORD, headers=headers))
        await connection.close()
        await house.turn("u2", subject="t2/2")
        await house.kill()
        house.begin()
        await house.pass_time(60)
        assert sorted({turn for turn, *_ in house.decisions()}) == ["u1", "u2"]
