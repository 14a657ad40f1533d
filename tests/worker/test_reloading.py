"""Policies that change under open turns: those keep theirs, whoever decides them in the end."""

from __future__ import annotations

from typing import Any

import pytest

from actors import policies
from actors.broker.topology import Layout
from actors.memory import MemoryTransport
from actors.operating import resharding
from actors.operating.resharding import Resharding
from statecharts.policy import Policies, Policy
from tests.worker.house import House, a_house, settle


def house_policy(seconds: float, name: str = "house") -> Policy:
    return Policy.model_validate({"name": name, "grace": [{"seconds": seconds}]})


def known(*own: Policy, default: str = "adda52") -> Policies:
    return Policies({**policies.bundled().by_name, **{one.name: one for one in own}}, default)


SHORT, LONG = house_policy(2), house_policy(5)
BEFORE, AFTER = known(SHORT, default="house"), known(LONG, default="house")
WITHOUT = known()
"""There is no `house` any more, and `adda52` is the default."""
BY_SHORT, BY_LONG = (8.0, SHORT.digest), (11.0, LONG.digest)
"""When a lost turn that began with the house is decided, and by what."""
BY_NAME = {"policy": "house"}


async def lost_turn(house: House, turn: str, seat: str, **changes: Any) -> None:
    """Begin a turn for one who is away: it ends after 3 s of its own, 3 s of buffer and a grace."""
    await house.turn(turn, seat, turn_seconds=3, **changes)
    await house.publish("player.disconnected", LOST, subject=seat)


LOST = {"player_id": "p1", "session_id": "s1"}


def decided(house: House) -> dict[str, tuple[float, str]]:
    """Return for each turn when it was decided, in seconds, and the digest of its policy."""
    digests = {one["turn_id"]: one["policy"]["digest"] for one in house.of_type("decision.made")}
    return {turn: (due, digests[turn]) for turn, _, _, due in house.decisions()}


@pytest.mark.parametrize("after", [AFTER, WITHOUT], ids=["changed", "removed"])
@pytest.mark.parametrize("seconds", [1.0, 4.0, 7.0], ids=["acting", "buffer", "grace"])
async def test_open_turns_keep_their_policy_over_a_reload(after: Policies, seconds: float) -> None:
    async with a_house(known=BEFORE) as house:
        await lost_turn(house, "u1", "t1/1")
        await lost_turn(house, "u2", "t1/2", **BY_NAME)
        await house.pass_time(seconds)
        house.worker.use(after)
        await house.pass_time(8.1 - seconds)
        assert decided(house) == {"u1": BY_SHORT, "u2": BY_SHORT}


async def test_a_turn_that_begins_after_the_reload_is_under_the_new_policy() -> None:
    async with a_house(known=BEFORE) as house:
        await lost_turn(house, "u1", "t1/1", **BY_NAME)
        house.worker.use(AFTER)
        await lost_turn(house, "u2", "t1/2", **BY_NAME)
        await lost_turn(house, "u3", "t2/1")
        await house.pass_time(11.1)
        assert decided(house) == {"u1": BY_SHORT, "u2": BY_LONG, "u3": BY_LONG}


@pytest.mark.parametrize(
    ("after", "seconds"), [(AFTER, 0.0), (WITHOUT, 0.0), (WITHOUT, 4.0), (WITHOUT, 7.0)]
)
async def test_who_takes_over_without_the_old_file_decides_by_it_all_the_same(
    after: Policies, seconds: float
) -> None:
    async with a_house(known=BEFORE) as house:
        await lost_turn(house, "u1", "t1/1", **BY_NAME)
        await house.pass_time(seconds)
        house.policies = after
        await house.kill()
        house.begin()
        await settle()
        await house.pass_time(8.1 - seconds)
        assert decided(house) == {"u1": BY_SHORT}


async def test_a_turn_survives_reload_and_take_overs_one_after_the_other() -> None:
    async with a_house(known=BEFORE) as house:
        await lost_turn(house, "u1", "t1/1")
        await house.pass_time(1)
        house.worker.use(AFTER)
        await lost_turn(house, "u2", "t1/2")
        house.policies = WITHOUT
        for _ in range(2):  # the second one has it from a worker that never had the file
            await house.kill()
            house.begin()
            await house.pass_time(2)
        await lost_turn(house, "u3", "t2/1")
        await house.pass_time(21.1)
        assert decided(house) == {
            "u1": BY_SHORT,
            "u2": (1 + BY_LONG[0], LONG.digest),
            "u3": (5 + 21.0, WITHOUT.default.digest),
        }


async def test_a_shard_that_is_opened_after_the_reload_uses_the_new_ones() -> None:
    async with a_house(known=BEFORE) as house:
        house.worker.use(AFTER)
        house.cut_worker("a new lease begins")
        await settle()
        await lost_turn(house, "u1", "t1/1", **BY_NAME)
        await house.pass_time(11.1)
        assert decided(house) == {"u1": BY_LONG}


async def test_all_shards_change_together() -> None:
    house = House(shards=4, known=BEFORE)
    await house.listen()
    house.begin()
    await house.worker.ready.wait()
    house.worker.use(AFTER)
    tables = {Layout(1, 4).shard_of(f"t{number}"): f"t{number}" for number in range(99)}
    assert tables.keys() == {0, 1, 2, 3}
    for table in tables.values():
        await lost_turn(house, f"u-{table}", f"{table}/1")
    await house.pass_time(11.1)
    assert decided(house) == {f"u-{table}": BY_LONG for table in tables.values()}
    await house.stop()


async def test_an_unknown_name_is_refused_with_the_names_that_there_are_now() -> None:
    async with a_house(known=known(SHORT)) as house:
        await house.turn("u1", policy="nobody")
        house.worker.use(known(house_policy(5, "club")))
        await house.turn("u2", policy="house")
        await house.turn("u3", policy="club", to_call=0, turn_seconds=1)
        first, second = house.of_type("event.refused")
        assert (first["code"], second["code"]) == ("invalid", "invalid")
        assert ", house, " in first["detail"]
        assert ", club, " in second["detail"]
        assert "house," not in second["detail"].partition("there are")[2]
        await house.pass_time(1.1)
        assert [turn for turn, *_ in house.decisions()] == ["u3"]


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
async def test_a_repeated_start_is_no_fault_because_its_policy_has_gone(is_open: bool) -> None:
    async with a_house(known=known(SHORT)) as house:
        await house.turn("u1", policy="house")
        if not is_open:
            await house.publish("turn.acted", {"hand_id": "h1", "turn_id": "u1"})
        house.worker.use(WITHOUT)
        await house.turn("u1", policy="house")
        assert house.of_type("event.refused") == []
        assert house.worker.counts["ignored"] == 1
        await house.turn("u2", subject="t1/2", policy="house")
        assert [one["turn_id"] for one in house.of_type("event.refused")] == ["u2"]


async def test_a_reshard_without_the_old_file_takes_open_turns_along(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resharding, "WATCH_SECONDS", 0.1)
    async with a_house(known=BEFORE) as house:
        await lost_turn(house, "u1", "t1/1", **BY_NAME)
        await house.stop()
        house.policies = WITHOUT
        transport = MemoryTransport(house.broker)
        await Resharding(transport, WITHOUT, house.clock, house.options, house.log).run(2)
        house.restart()
        await house.worker.ready.wait()
        await house.pass_time(8.1)
        assert decided(house) == {"u1": BY_SHORT}
