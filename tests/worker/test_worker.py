"""The worker on the embedded broker, in virtual time."""

from __future__ import annotations

import pytest

from actors.broker.slots import routing_key
from actors.broker.topology import DECISIONS
from actors.transport import Binding, Queue, Topology
from actors.work.options import Options
from tests.worker.house import QUEUE, a_house, settle


async def test_a_player_who_stays_away_is_folded_when_his_grace_is_over() -> None:
    async with a_house() as house:
        await house.turn()
        await house.lose()
        await house.pass_time(37.9)
        assert house.decisions() == []
        await house.pass_time(0.3)
        assert house.decisions() == [("u1", "fold", "grace-expired", 38.0)]
        states = [(one["from"], one["to"]) for one in house.of_type("seat.changed")]
        assert states == [
            ("acting", "buffer"),
            ("buffer", "disconnection_grace"),
            ("disconnection_grace", "auto_action"),
        ]


async def test_everything_is_acknowledged_when_it_is_done() -> None:
    async with a_house() as house:
        await house.turn()
        await house.publish("turn.acted", {"hand_id": "h1", "turn_id": "u1"})
        await house.pass_time(5)
        await house.stop()
        assert house.broker.depth(QUEUE) <= 1, "at most the tick is left"


async def test_changes_between_idle_and_acting_are_told_only_if_asked_for() -> None:
    async with a_house(Options(all_changes=True)) as house:
        await house.turn()
        assert [one["to"] for one in house.of_type("seat.changed")] == ["acting"]


async def test_a_refused_message_is_a_dead_letter_with_its_bytes_and_its_sender_is_told() -> None:
    async with a_house() as house:
        await house.publish_raw(b"\xff{", "55.t1")
        await house.turn()
        letters = house.dead_letters()
        assert [(one.body, one.headers["code"]) for one in letters] == [(b"\xff{", "malformed")]
        assert set(letters[0].headers) == {"code", "detail", "received"}
        assert [one["code"] for one in house.of_type("event.refused")] == ["malformed"]
        await house.pass_time(24)
        assert [turn for turn, *_ in house.decisions()] == ["u1"], "the next one is unaffected"


async def test_an_unknown_policy_is_refused_with_the_names_there_are() -> None:
    async with a_house() as house:
        await house.turn(policy="nobody")
        [refused] = house.of_type("event.refused")
        assert refused["code"] == "invalid"
        assert "adda52" in refused["detail"]


async def test_a_message_in_the_wrong_slot_is_moved_once_and_counts() -> None:
    async with a_house() as house:
        await house.publish(
            "turn.started",
            {
                "hand_id": "h1",
                "turn_id": "u1",
                "player_id": "p1",
                "turn_seconds": 5,
                "format": "cash",
                "to_call": 0,
                "contributed": 0,
                "pots": [0],
                "big_blind": 2,
            },
            key=routing_key("another"),
        )
        await house.pass_time(6)
        assert house.worker.counts["moved"] == 1
        assert house.decisions() == [("u1", "check", "turn-timeout", 5.0)]


async def test_a_gateway_reset_reaches_its_sessions() -> None:
    async with a_house() as house:
        await house.publish("player.connected", {"player_id": "p1", "session_id": "s1"})
        await house.turn(to_call=0)
        await house.pass_time(1)
        await house.publish("gateway.reset", {"gateway": "/engine"}, subject="-", key="all")
        await house.pass_time(20)
        assert [rule for _, _, rule, _ in house.decisions()] == ["check-available"]


async def test_state_and_deadlines_survive_a_lost_connection() -> None:
    async with a_house() as house:
        await house.turn()
        await house.lose()
        await house.pass_time(10)
        house.cut_worker("the cable is pulled")
        await settle()
        await house.pass_time(28.5)
        assert house.decisions() == [("u1", "fold", "grace-expired", 38.0)]


async def test_what_was_decided_while_nobody_confirmed_is_sent_again_with_the_same_bytes() -> None:
    async with a_house() as house:
        await house.turn(to_call=0)
        house.broker.hold_confirms()
        await house.pass_time(20.2)
        told = len(house.told)
        house.cut_worker("gone before it confirmed")
        house.broker.release_confirms()
        await house.pass_time(1)
        made = [one for one in house.told if one["type"] == "seatwarden.decision.made.v1"]
        assert made
        assert all(one == made[0] for one in made)
        assert told <= len(house.told)


@pytest.mark.parametrize("seconds", [0.0, 5.0, 19.98, 20.0, 21.0, 24.0, 37.97, 38.0])
async def test_a_worker_killed_at_any_time_goes_on_from_its_journal(seconds: float) -> None:
    async with a_house() as house:
        await house.turn()
        await house.lose()
        await house.pass_time(seconds)
        await house.kill()
        house.begin()
        await house.pass_time(39 - seconds)
        assert set(house.decisions()) == {("u1", "fold", "grace-expired", 38.0)}
        ids = [one["id"] for one in house.told if one["type"] == "seatwarden.decision.made.v1"]
        assert len(set(ids)) == 1


async def test_deadlines_in_an_interruption_move_to_its_end() -> None:
    async with a_house() as house:
        await house.turn()
        await house.lose()
        await house.pass_time(15)
        await house.kill()
        await house.pass_time(10)
        house.begin()
        await house.pass_time(0.2)
        moved = [one for one in house.of_type("seat.changed") if one["trigger"] == "interruption"]
        assert [(one["from"], one["to"]) for one in moved] == [("acting", "acting")]
        await house.pass_time(30)
        [(_, action, rule, instant)] = house.decisions()
        assert (action, rule) == ("fold", "grace-expired")
        assert instant >= 28 + 18, "the turn end moved to the interruption's end and 3 s after it"


async def test_a_full_queue_of_somebody_holds_up_nobody() -> None:
    async with a_house() as house:
        narrow = Queue("narrow", max_length=1)
        binding = Binding(narrow.name, DECISIONS, "event.refused.#")
        await house.declare(Topology(queues=(narrow,), bindings=(binding,)))
        for number in range(3):
            await house.publish_raw(f"{number}".encode(), "55.t1")
        await house.turn(to_call=0)
        await house.pass_time(21)
        assert [turn for turn, *_ in house.decisions()] == ["u1"]


async def test_an_error_of_ours_parks_the_message_and_tells_the_seat_is_uncovered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with a_house() as house:
        await house.turn()

        def broken(*_: object) -> None:
            raise RuntimeError("a bug")

        monkeypatch.setattr("actors.shards.seat_actor.kernel.step", broken)
        await house.lose()
        monkeypatch.undo()
        assert [one["code"] for one in house.of_type("event.refused")] == ["failed"]
        assert [one["reason"] for one in house.of_type("turn.uncovered")] == ["failed"]
        assert [one.headers["code"] for one in house.dead_letters()] == ["failed"]
        await house.turn("u2", to_call=0)
        await house.pass_time(21)
        assert [turn for turn, *_ in house.decisions()] == ["u2"]


async def test_a_standby_takes_over_at_once_and_notices_no_interruption() -> None:
    async with a_house() as house:
        standby = house.join()
        await house.pass_time(40)
        await house.stop()
        await house.pass_time(1)
        await house.turn(to_call=0)
        await house.pass_time(20.2)
        assert house.decisions() == [("u1", "check", "turn-timeout", 61.0)]
        assert house.of_type("decision.made")[0]["late_ms"] < 100
        assert [
            one for one in house.of_type("seat.changed") if one["trigger"] == "interruption"
        ] == []
        await standby()


async def test_a_turn_that_begins_within_an_interruption_is_told_its_longer_end() -> None:
    async with a_house() as house:
        await house.turn("u0")
        await house.pass_time(1)
        await house.kill()
        await house.pass_time(10)
        house.begin()
        await settle()
        await house.turn(to_call=0, turn_seconds=1)
        told = [one for one in house.of_type("seat.changed") if one["trigger"] == "interruption"]
        assert [(one["turn_id"], one["from"], one["to"]) for one in told] == [
            ("u1", "acting", "acting")
        ]
        await house.pass_time(4)
        assert house.decisions()[0][0] == "u1"
        assert house.of_type("decision.made")[0]["deadline"] == told[0]["until"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"null",
        b'{"nonce": "x", "sent": Infinity}',
        b'{"nonce": "x", "sent": -5}',
        b'{"nonce": "x", "sent": 9000000000000000000}',
        b"[" * 100_000,
        b"\xff",
    ],
    ids=range(8),
)
async def test_a_forged_tick_harms_nobody(body: bytes) -> None:
    async with a_house() as house:
        await house.turn()
        await house.forge_tick(body)
        await house.pass_time(22.9)
        assert house.decisions() == []
        await house.pass_time(0.2)
        assert house.decisions() == [("u1", "fold", "turn-timeout", 23.0)]


async def test_a_message_that_makes_us_stumble_is_parked_and_the_next_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with a_house() as house:

        def broken(_: bytes) -> None:
            raise RuntimeError("a bug")

        monkeypatch.setattr("actors.work.intake.decode", broken)
        await house.turn("u1")
        monkeypatch.undo()
        assert [one.headers["code"] for one in house.dead_letters()] == ["failed"]
        assert [one["code"] for one in house.of_type("event.refused")] == ["failed"]
        await house.turn("u2", to_call=0)
        await house.pass_time(21)
        assert [turn for turn, *_ in house.decisions()] == ["u2"]
