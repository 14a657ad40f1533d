"""The table covers each state and trigger exactly once, and each of its lines does what it says."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from statecharts.chart import OPEN, ROWS, STATES, TABLE
from statecharts.decisions import DecisionMade, SeatChanged
from statecharts.effects import EFFECTS
from statecharts.guards import QUESTIONS
from statecharts.lines import Ignored, Line, Refused, Row, State, Trigger
from statecharts.refusals import Code, Refusal
from statecharts.rules import Action, Rule
from statecharts.seat import dump
from tests.chart.walks import met

MOVERS = (
    "move_turn_end",
    "move_deadlines",
    "extend_turn",
    "stop_clock",
    "start_clock",
    "forget_and_go_on",
    "answer_at_once",
    "hold",
)
CELLS = list(itertools.product(State, Trigger))


@pytest.mark.parametrize(("state", "trigger"), CELLS)
def test_exactly_one_line_applies_in_each_cell_whatever_the_answers(
    state: State, trigger: Trigger
) -> None:
    lines = [line for line in TABLE if (line.source, line.trigger) == (state, trigger)]
    asked = sorted({question for line in lines for question in line.when})
    possible = [QUESTIONS[question].possible(state, trigger) for question in asked]
    for answers in itertools.product(*possible):
        given = dict(zip(asked, answers, strict=True))
        applying = [line.id for line in lines if _is_for(line, given)]
        assert len(applying) == 1, f"{state} x {trigger} with {given}: {applying}"


@pytest.mark.parametrize("line", TABLE, ids=lambda line: line.id)
def test_no_line_waits_for_an_answer_that_cannot_come(line: Line) -> None:
    for question, wanted in line.when.items():
        possible = QUESTIONS[question].possible(line.source, line.trigger)
        assert set([wanted] if isinstance(wanted, str) else wanted) <= set(possible)


def test_ids_are_unique() -> None:
    assert [id_ for id_, times in Counter(line.id for line in TABLE).items() if times > 1] == []


def test_every_effect_and_every_state_is_used() -> None:
    assert {row.effect for row in ROWS} == set(EFFECTS)
    assert set(STATES) == set(State)


def test_every_rule_is_decided_by_some_row() -> None:
    assert {row.decision[1] for row in ROWS if row.decision} == set(Rule)


def test_a_decision_leads_to_auto_action_and_only_a_deadline_makes_one() -> None:
    for row in ROWS:
        decides = row.decision is not None
        assert decides == (row.target is State.AUTO_ACTION)
        assert decides == (row.effect == "decide")
        assert not decides or row.trigger in (Trigger.DEADLINE, Trigger.ANSWER)


@pytest.mark.parametrize("line", TABLE, ids=lambda line: line.id)
def test_every_line_is_met_and_does_what_it_says(line: Line) -> None:
    step = met()[line.id]
    before = dump(step.seat)
    if isinstance(line, Refused):
        with pytest.raises(Refusal) as refusal:
            step.again()
        assert refusal.value.code == Code(line.code)
        assert refusal.value.detail == line.why
    else:
        outcome = step.again()
        assert line in outcome.lines
        if isinstance(line, Ignored):
            assert outcome.seat is step.seat
            assert outcome.outputs == ()
        else:
            _check_row(line, outcome.seat.state, list(outcome.outputs))
            turn = outcome.seat.turn
            runs = outcome.seat.state in OPEN and turn is not None and turn.paused_at is None
            assert (outcome.seat.deadline is not None) == runs
    assert dump(step.seat) == before, "a step changed the seat that it was given"


def _check_row(row: Row, state: State, outputs: list[object]) -> None:
    changes = [output for output in outputs if isinstance(output, SeatChanged)]
    decisions = [output for output in outputs if isinstance(output, DecisionMade)]
    if row.again:
        assert (changes[0].from_, changes[0].to) == (row.source, row.target)
        return
    assert state is (row.target or row.source)
    told = [(row.source, state, row.trigger)] if row.target is not None else []
    if row.effect in MOVERS:
        told.append((state, state, row.trigger))
    assert [(change.from_, change.to, change.trigger) for change in changes] == told
    assert [(one.action, one.rule) for one in decisions] == ([row.decision] if row.decision else [])
    for one in decisions:
        assert (one.card is not None) == (one.action is Action.DISCARD)


def _is_for(line: Line, given: dict[str, str]) -> bool:
    return all(
        given[question] == wanted or (not isinstance(wanted, str) and given[question] in wanted)
        for question, wanted in line.when.items()
    )
