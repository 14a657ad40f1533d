"""The demo in virtual time: the same events for a seed, all rules, and no step near a deadline."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import pytest

from actors import policies
from actors.demo import deals, pace, records, script
from actors.demo.engine import Engine
from actors.demo.pace import Pace
from actors.demo.rehearsal import rehearse
from actors.demo.script import PLANS, Plan
from actors.demo.sent import Sent
from actors.demo.show import LAST_START, START, TABLES
from actors.demo.tally import Tally
from actors.policy_commands.comparing import given
from actors.shards.shard import Shard, Verdict
from statecharts.decisions import DecisionMade, Output, SeatChanged
from statecharts.events import decode
from statecharts.instants import MILLISECOND, SECOND
from statecharts.lines import Trigger
from statecharts.rules import Rule

KNOWN = policies.bundled()
RECORDS = records.bundled()
OF_READING = given(KNOWN.default)

AWAY = {Rule.CHECK_AVAILABLE, Rule.NOTHING_IN_POT, Rule.GRACE_EXPIRED}
DECIDED: dict[str, set[Rule]] = {
    "leaves and stays away": AWAY,
    "leaves, is back in time, is silent": {Rule.TURN_TIMEOUT},
    "is silent": {Rule.TURN_TIMEOUT},
    "leaves, is back in the grace, is silent": {Rule.TURN_TIMEOUT},
    "leaves, is back in the grace, leaves again": {Rule.GRACE_EXPIRED},
    "leaves; the word of it comes in the buffer": {Rule.GRACE_EXPIRED},
    "has two tabs, closes one, is silent": {Rule.TURN_TIMEOUT},
    "is cut off by a restart of his gateway": AWAY,
    "is still away": AWAY,
    "is back in the grace, is silent": {Rule.TURN_TIMEOUT},
    "has chosen a card, then leaves": {Rule.CHOSEN_CARD},
    "chooses a card, then leaves": {Rule.CHOSEN_CARD},
    "has chosen a card, is silent": {Rule.CHOSEN_CARD},
    "changes his mind, is silent": {Rule.CHOSEN_CARD},
    "withdraws his choice, then leaves": {Rule.RIGHTMOST_CARD},
    "leaves, no card chosen": {Rule.RIGHTMOST_CARD},
    "is silent, no card chosen": {Rule.RIGHTMOST_CARD},
    "is still away, no card chosen": {Rule.RIGHTMOST_CARD},
}
"""What is decided at a turn with a plan; nothing where the plan is not named."""


def engine(seed: int, dealt: deals.Deals | None = None, pace_: Pace = pace.ACCELERATED) -> Engine:
    few = deals.shuffled(RECORDS, TABLES, random.Random(seed))
    return Engine(
        few if dealt is None else dealt,
        run="test",
        seed=seed,
        pace=pace_,
        policy=KNOWN.default,
        start=START,
        last_start=LAST_START if dealt is None else None,
    )


def played(one: Engine) -> tuple[Tally, list[Output]]:
    tally, outputs = Tally(), []
    shard = Shard(KNOWN)
    for each in rehearse(one, shard):
        if isinstance(each, Sent):
            tally.sent(each)
        else:
            tally.received(each.cloudevent())
            outputs.append(each)
    assert not shard.faults
    return tally, outputs


def test_a_seed_always_gives_the_same_events() -> None:
    once, again = played(engine(7))[0], played(engine(7))[0]
    assert once.lines == again.lines


def test_another_seed_gives_other_events() -> None:
    assert played(engine(7))[0].lines != played(engine(8))[0].lines


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_every_rule_of_the_reading_is_seen_and_simulate_decides_the_same(seed: int) -> None:
    tally, outputs = played(engine(seed))
    assert set(tally.by_rule) == OF_READING
    assert not tally.refused
    assert tally.compared(KNOWN).differences == []
    decided = [output for output in outputs if isinstance(output, DecisionMade)]
    assert len(decided) == len(tally.decisions)


def test_no_event_is_refused_or_ignored_but_old_words_of_a_replaced_connection() -> None:
    shard = Shard(KNOWN)
    for sent in sorted(played(engine(7, deals.all_of(RECORDS, 20)))[0].events,
                       key=lambda sent: sent.arrival):  # fmt: skip
        applied = shard.apply(decode(sent.message.body), sent.arrival)
        assert applied.verdict is not Verdict.REFUSED
        if applied.verdict is Verdict.IGNORED:
            assert sent.name in (Trigger.PLAYER_DISCONNECTED, Trigger.CARD_CHOSEN)


def test_each_plan_ends_as_its_name_says(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[Plan] = []
    choose = script.choose

    def noting(facts: frozenset[str], chance: random.Random, *, is_eventful: bool) -> Plan:
        chosen.append(choose(facts, chance, is_eventful=is_eventful))
        return chosen[-1]

    monkeypatch.setattr(script, "choose", noting)
    seen = Counter[str]()
    pineapple = [record for record in RECORDS if record.variant == records.CRAZY_PINEAPPLE]
    for seed in range(13):  # one table a run, so that plans are chosen in the order of the turns
        chosen.clear()
        hands = RECORDS[5 * seed : 5 * seed + 5]
        tally, _ = played(engine(seed, deals.all_of([*hands, *pineapple], 1)))
        started = [sent for sent in tally.events if sent.name is Trigger.TURN_STARTED]
        for sent, plan in zip(started, chosen, strict=True):
            seen[plan.name] += 1
            decision = tally.decisions.get(sent.event["data"]["turn_id"])
            rules = DECIDED.get(plan.name, set())
            assert Rule(decision["rule"]) in rules if decision else not rules, plan.name
    assert {plan.name for plan in PLANS} == set(seen)


@pytest.mark.parametrize("seed", [7, 8])
def test_in_real_time_every_step_keeps_away_from_the_deadlines(seed: int) -> None:
    near = 400 * MILLISECOND
    deadlines: dict[str, list[int]] = defaultdict(list)
    tally, outputs = played(engine(seed, deals.every_turn(RECORDS[::3]), pace.REAL))
    for output in outputs:
        if isinstance(output, SeatChanged) and output.until is not None:
            deadlines[f"{output.table_id}/{output.seat}"].append(output.until)
    for sent in tally.events:
        for deadline in deadlines[sent.event.get("subject", "")]:
            assert abs(sent.arrival - deadline) >= near, sent


def test_all_instants_are_whole_milliseconds_which_is_what_brokers_stamp() -> None:
    for sent in played(engine(7))[0].events:
        assert sent.stamp % MILLISECOND == sent.arrival % MILLISECOND == 0


def test_events_of_a_table_are_sent_in_order_and_none_before_it_happened() -> None:
    last: dict[str, int] = defaultdict(int)
    for sent in played(engine(7))[0].events:
        assert sent.stamp <= sent.arrival
        assert last[sent.table_id] <= sent.arrival
        last[sent.table_id] = sent.arrival


def test_every_turn_of_the_records_can_be_met_as_recorded() -> None:
    with_blinds = [record for record in RECORDS if record.variant != records.CRAZY_PINEAPPLE]
    tally, _ = played(engine(7, deals.every_turn(with_blinds), pace.REAL))
    assert tally.turns == 622
    assert tally.compared(KNOWN).differences == []


def test_a_real_run_does_not_take_long() -> None:
    tally, _ = played(engine(7, deals.all_of(RECORDS, len(RECORDS)), pace.REAL))
    assert (max(sent.arrival for sent in tally.events) - START) / SECOND < 180


def test_each_hand_is_dealt_once() -> None:
    for dealt in (
        deals.all_of(RECORDS, 7),
        deals.shuffled(RECORDS, 7, random.Random(1)),
        deals.shuffled(RECORDS, 500, random.Random(1)),
    ):
        names = [deal.record.name for table in dealt for deal in table]
        assert sorted(names) == sorted(record.name for record in RECORDS)
        assert all(dealt)


def test_without_a_decision_the_engine_acts_itself() -> None:
    alone, sent = engine(7), []
    while alone.next() is not None:
        sent.append(alone.move())
    by = Counter(
        each.event["data"]["by"] for each in sent if each and each.name is Trigger.TURN_ACTED
    )
    assert by["engine"] > 0
    assert by["decision"] == 0


def test_a_decision_that_comes_early_is_kept_until_it_is_waited_for() -> None:
    tally, _ = played(engine(7))
    early, sent = engine(7), []
    for decision in tally.decisions.values():
        early.decide(decision)
    while early.next() is not None:
        sent.append(early.move())
    lines = [each.line for each in sent if each]
    assert sorted(lines) == sorted(tally.lines)


def test_a_decision_that_differs_is_told_by_turn_and_field() -> None:
    tally, _ = played(engine(7))
    turn, decision = next(iter(tally.decisions.items()))
    tally.decisions[turn] = {**decision, "action": "raise", "late_ms": 99, "seq": 99}
    (difference,) = tally.compared(KNOWN).differences
    assert difference == f"{turn}: action is 'raise', with simulate {decision['action']!r}"
