"""Redriven events and the service: taken like any other, and marked if they are refused again."""

from __future__ import annotations

import pytest

from actors.broker.slots import routing_key
from actors.broker.topology import DEAD_LETTERS, EVENTS
from actors.letters.holding import hold
from actors.letters.redriving import planned, redrive
from actors.letters.wanted import Wanted
from actors.memory import MemoryTransport
from actors.shards.shard import Shard
from actors.transport import Delivery
from actors.work.messages import REDRIVEN, moved
from statecharts.refusals import Code
from tests.letters.letters import event, letter, start
from tests.worker.house import House, a_house, settle

BY_CODE = Wanted(codes=tuple(Code))


async def redriven(house: House, *, again: bool = False) -> int:
    connection = await MemoryTransport(house.broker).connect()
    async with hold(connection, BY_CODE) as held:
        plan = planned(held.letters, BY_CODE, house.clock.now(), again=again)
        done = await redrive(connection, held.consumer, plan.to_send)
    await connection.close()
    await settle()
    return done


async def test_what_a_fault_of_ours_has_refused_is_taken_when_that_is_mended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with a_house() as house:
        with monkeypatch.context() as broken:
            broken.setattr(Shard, "apply", lambda *_: 1 / 0)
            await house.turn("u1")
        await settle()
        assert [one.headers["code"] for one in house.dead_letters()] == ["failed"]
        assert await redriven(house) == 1
        assert house.broker.depth(DEAD_LETTERS) == 0
        await house.pass_time(60)
        assert [turn for turn, *_ in house.decisions()] == ["u1"]


async def test_a_redriven_event_that_was_applied_already_changes_nothing() -> None:
    async with a_house() as house:
        start_, lost = start(house.clock.now(), "u1"), event("player.disconnected", session_id="s1")
        for body in (start_, lost):
            await house.publish_raw(body, routing_key("t1"))
        await house.pass_time(60)
        before = list(house.told)
        assert len(house.decisions()) == 1
        connection = await MemoryTransport(house.broker).connect()
        for body in (start_, lost):
            await connection.publish(letter(body))
        assert await redriven(house) == 2
        await house.pass_time(60)
        assert house.told == before
        assert house.dead_letters() == []


async def test_what_was_refused_again_is_not_redriven_for_ever() -> None:
    async with a_house() as house:
        await house.publish_raw(b"no event", "55.t1")
        assert await redriven(house) == 1
        assert await redriven(house) == 0
        assert await redriven(house, again=True) == 1
        [letter] = house.dead_letters()
        assert letter.headers[REDRIVEN] == 2


def test_an_event_that_is_moved_to_its_slot_keeps_its_mark() -> None:
    delivery = Delivery(1, EVENTS, "4.t1", b"", headers={REDRIVEN: 3})
    assert moved(delivery, "t1").headers[REDRIVEN] == 3
    assert REDRIVEN not in moved(Delivery(1, EVENTS, "4.t1", b""), "t1").headers
