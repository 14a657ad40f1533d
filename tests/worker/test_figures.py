"""What a worker counts of itself, in virtual time."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from actors import policies
from actors.health.backlogs import Backlogs
from actors.health.exposition import Exposition
from actors.journal import LeaseLost, Loss
from actors.observing.figures import Total
from actors.shards.shard import FORGET_AFTER, SWEEP_EVERY, Shard
from actors.work.options import Options
from statecharts.events import decode
from statecharts.lines import State
from tests.bench import simulation
from tests.health.asking import samples
from tests.worker.house import JOURNAL, QUEUE, House, a_house, settle


def nonzero(counter: Counter[str]) -> dict[str, int]:
    return {key: count for key, count in counter.items() if count}


async def test_events_are_counted_by_type_and_verdict_and_refusals_by_code() -> None:
    async with a_house() as house:
        await house.turn()
        await house.turn()
        await house.lose()
        await house.turn("u9", subject="t2/1", policy="nobody")
        await house.publish_raw(b"\xff{", "55.t1")
        figures = house.worker.figures
        assert figures.events == {
            ("turn.started", "applied"): 1,
            ("turn.started", "ignored"): 1,
            ("turn.started", "refused"): 1,
            ("player.disconnected", "applied"): 1,
            ("unread", "refused"): 1,
        }
        assert nonzero(figures.refusals) == {"invalid": 1, "malformed": 1}


async def test_a_type_that_nobody_knows_makes_no_label() -> None:
    async with a_house() as house:
        await house.publish("made.up", {})
        assert house.worker.figures.events == {("unread", "refused"): 1}
        assert nonzero(house.worker.figures.refusals) == {"unknown-type": 1}


async def test_decisions_are_counted_and_how_late_they_were() -> None:
    async with a_house() as house:
        await house.turn()
        await house.lose()
        await house.pass_time(37.9)
        figures = house.worker.figures
        assert not figures.decisions
        await house.pass_time(0.3)
        assert figures.decisions == {("grace-expired", "fold", "adda52"): 1}
        assert figures.made.count == figures.confirmed.count == 1
        late = house.of_type("decision.made")[0]["late_ms"] / 1000
        assert figures.made.sum == pytest.approx(late)


async def test_a_decision_that_is_confirmed_late_counts_from_when_it_was_due() -> None:
    async with a_house() as house:
        await house.turn(to_call=0)
        await house.pass_time(19.9)
        house.broker.hold_confirms()
        await house.pass_time(2)
        figures = house.worker.figures
        confirms = figures.confirms.count
        assert figures.confirmed.count == 0
        house.broker.release_confirms()
        await settle()
        assert figures.confirmed.count == 1
        assert 1.5 < figures.confirmed.sum < 2
        assert figures.confirms.count > confirms


async def test_a_decision_that_a_successor_gets_confirmed_counts_from_when_it_was_due() -> None:
    async with a_house() as house:
        await house.turn(to_call=0)
        await house.pass_time(19.9)
        house.broker.lose_confirms()
        await house.pass_time(0.3)
        assert house.worker.figures.decisions.total() == 1
        assert house.worker.figures.confirmed.count == 0
        house.broker.release_confirms()
        await house.kill()
        await house.pass_time(2)
        house.begin()
        await house.worker.ready.wait()
        await settle()
        figures = house.worker.figures
        assert figures.decisions.total() == 0, "it was made by another"
        assert figures.confirmed.count == 1
        assert figures.confirmed.sum > 2


async def test_decisions_that_nobody_hears_are_counted() -> None:
    async with a_house() as house:
        await house.turn(to_call=0)
        house.broker.delete("backend")
        await house.pass_time(21)
        assert house.worker.figures.totals[Total.UNROUTED] == 1
        assert house.worker.figures.confirmed.count == 0


async def test_seats_are_counted_by_state_wherever_they_come_from() -> None:
    async with a_house() as house:
        await house.turn()
        await house.lose()
        await house.turn("u2", subject="t2/2", player_id="p2")
        assert seats(house) == {State.ACTING: 2}
        await house.pass_time(21)
        assert seats(house) == {State.BUFFER: 2}
        house.cut_worker("the cable is pulled")
        await settle()
        await house.worker.ready.wait()
        assert seats(house) == {State.BUFFER: 2}
        await house.pass_time(2.2)
        assert seats(house) == {State.DISCONNECTION_GRACE: 1, State.AUTO_ACTION: 1}
        await house.publish("turn.acted", {"hand_id": "h1", "turn_id": "u1"})
        assert seats(house) == {State.IDLE: 1, State.AUTO_ACTION: 1}


def seats(house: House) -> dict[State, int]:
    [station] = house.worker.stations
    return {state: count for state, count in station.seats.items() if count}


def test_seats_are_counted_as_they_are_whatever_happens_to_them() -> None:
    shard = Shard(policies.bundled())
    chance = random.Random(7)
    seen = Counter[State]()
    events = [decode(line) for line, _ in zip(simulation.lines(8), range(2_000), strict=False)]
    for event in events:
        shard.apply(event, event.stamp)
        if chance.random() < 0.02:
            shard.fire(event.stamp + 30_000_000)
        if chance.random() < 0.01:
            picture, shard = shard.picture(), Shard(policies.bundled())
            shard.restore(picture)
        assert +shard.states == counted(shard)
        seen.update(+shard.states)
    assert len(seen) >= 5, "else little has happened"
    shard.fire(events[-1].stamp + FORGET_AFTER)
    shard.apply(events[0], events[-1].stamp + 2 * FORGET_AFTER + SWEEP_EVERY)
    assert +shard.states == counted(shard)
    assert shard.states[State.IDLE] < seen[State.IDLE]


def counted(shard: Shard) -> Counter[State]:
    known = shard.picture().seats.values()
    return Counter(one.value.state for one in known if one is not None)


async def test_leases_are_counted_when_they_are_lost_and_not_when_they_are_handed_over() -> None:
    async with a_house() as house:
        await house.pass_time(1)
        house.cut_worker("the cable is pulled")
        await settle()
        await house.worker.ready.wait()
        losses = house.worker.figures.losses
        assert nonzero(losses) == {"connection": 1}
        assert house.worker.figures.restores.count == 2
        [station] = house.worker.stations
        station.release()
        await house.pass_time(1)
        assert nonzero(losses) == {"connection": 1}


async def test_a_shard_that_another_worker_takes_is_counted_as_that() -> None:
    async with a_house() as house:
        end = house.join()
        await house.pass_time(1)
        house.broker.usurp(QUEUE)
        await house.pass_time(3)
        assert nonzero(house.worker.figures.losses) == {"taken-over": 1}
        await end()


async def test_an_interruption_and_what_is_delivered_again_are_counted() -> None:
    async with a_house(Options(group=1)) as house:
        await house.pass_time(1)
        await house.turn()
        await house.kill()
        await house.pass_time(10)
        house.begin()
        await house.worker.ready.wait()
        await house.pass_time(1)
        totals = house.worker.figures.totals
        assert totals[Total.INTERRUPTIONS] == 1
        assert totals[Total.REDELIVERIES] >= 1
        assert house.worker.figures.events["unread", "known"] == totals[Total.REDELIVERIES]


async def test_what_is_not_committed_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unanswered(*_: object) -> int:
        monkeypatch.undo()
        raise LeaseLost(Loss.NO_ANSWER, "no answer")

    async with a_house() as house:
        await house.pass_time(1)
        monkeypatch.setattr("actors.work.lease.Journal.commit", unanswered)
        await house.turn()
        figures = house.worker.figures
        assert nonzero(figures.losses) == {"no-answer": 1}
        assert figures.events == {}
        await house.worker.ready.wait()
        assert figures.events == {("turn.started", "applied"): 1}
        assert figures.totals[Total.REDELIVERIES] == 1


async def test_a_fault_of_ours_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_house() as house:
        await house.turn()

        def broken(*_: object) -> None:
            raise RuntimeError("a bug")

        monkeypatch.setattr("actors.shards.seat_actor.kernel.step", broken)
        await house.lose()
        monkeypatch.undo()
        figures = house.worker.figures
        assert figures.totals[Total.FAULTS] == 1
        assert nonzero(figures.uncovered) == {"failed": 1}
        assert figures.events["player.disconnected", "refused"] == 1


async def test_groups_and_bytes_of_the_journal_are_counted() -> None:
    async with a_house() as house:
        figures = house.worker.figures
        groups, size = figures.groups, figures.totals[Total.JOURNAL_BYTES]
        records, covered = groups.count, groups.sum
        await house.turn()
        assert (groups.count, groups.sum) == (records + 1, covered + 1)
        written = sum(
            len(one.body)
            for one in house.broker.messages(JOURNAL)
            if one.headers.get("epoch") is not None
        )
        assert size < figures.totals[Total.JOURNAL_BYTES] <= written


async def test_what_waits_is_known_when_it_was_asked_for_and_unknown_while_nobody_can_say() -> None:
    async with a_house() as house:
        backlogs = Backlogs(house.worker)
        assert backlogs.known == {}
        await backlogs.ask()
        assert backlogs.known == {0: 0}
        house.broker.stop()
        await settle()
        await backlogs.ask()
        assert backlogs.known == {}
        house.broker.start()
        await house.worker.ready.wait()


async def test_no_label_names_a_table_a_player_a_session_a_hand_or_a_turn() -> None:
    async with a_house() as house:
        ids = {"hand_id": "hand-x", "turn_id": "turn-x", "player_id": "player-x"}
        gone = {"player_id": "player-x", "session_id": "session-x"}
        await house.turn(subject="table-x/1", **ids)
        await house.publish("player.disconnected", gone, subject="table-x/1")
        await house.turn(subject="table-x/2", **{**ids, "policy": "policy-x"})
        await house.pass_time(40)
        assert len(house.decisions()) == 1
        page = await Exposition(house.worker, Backlogs(house.worker)).page()
        values = {value for _, labels in samples(page) for _, value in labels}
        assert "grace-expired" in values
        assert not [value for value in values if value.endswith("-x")]
