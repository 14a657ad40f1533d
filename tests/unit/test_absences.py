"""The connections that are made up around recorded turns."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from actors import policies, simulate
from actors.replays import hands
from actors.replays.absences import BEFORE, Course, Habits, draw, longest
from actors.replays.endings import Kind
from actors.replays.recorded import read
from actors.replays.replay import replay
from actors.shards.shard import Shard
from statecharts.decisions import DecisionMade
from statecharts.instants import SECOND
from statecharts.policy import Policies

KNOWN = policies.bundled().by_name


def courses(habits: Habits, number: int = 2000) -> Iterator[Course]:
    chance = random.Random(1)
    return (draw(habits, chance) for _ in range(number))


def test_so_many_are_away_and_so_many_of_them_for_good() -> None:
    drawn = list(courses(Habits(away=0.4, stay_away=0.25)))
    away = [course for course in drawn if course.losses]
    assert len(away) / len(drawn) == pytest.approx(0.4, abs=0.04)
    gone = [course for course in away if course.back is None]
    assert len(gone) / len(away) == pytest.approx(0.25, abs=0.05)


def test_nobody_is_away_and_everybody_is_away_for_good() -> None:
    assert not any(course.losses for course in courses(Habits(away=0)))
    for course in courses(Habits(away=1, stay_away=1)):
        assert (len(course.losses), course.back, course.acts) == (1, None, None)


def test_absences_show_every_line_of_a_policy() -> None:
    away = [course for course in courses(Habits(away=1, stay_away=0)) if course.back is not None]
    lost = [course.losses[0] for course in away]
    back = [course.back / SECOND for course in away if course.back is not None]
    assert any(one.at < 0 for one in lost), "away before the turn"
    assert any(one.at < 20 * SECOND < one.heard for one in lost), "told only in the buffer"
    for start, end in ((0, 20), (20, 23), (23, 38), (38, 48), (48, 80), (80, 140)):
        assert sum(start < one <= end for one in back) > 20, f"back from {start} to {end} s"
    assert any(len(course.losses) > 1 for course in away), "away again"
    assert any(course.acts is None and len(course.losses) == 1 for course in away), "silent"


def test_all_happens_within_bounds_and_in_order() -> None:
    habits = Habits(away=0.8, longest=60)
    for course in courses(habits):
        for loss in course.losses:
            assert -BEFORE * SECOND <= loss.at <= loss.heard <= longest(habits) * SECOND
        if course.back is not None:
            assert max(0, course.losses[0].at) <= course.back <= 80 * SECOND
        if course.acts is not None:
            assert (course.back or 0) < course.acts <= longest(habits) * SECOND


def test_the_replay_decides_what_simulate_decides() -> None:
    lines = list(hands.lines(hands.load([]), Habits(away=0.5), seed=5, times=1, as_format="cash"))
    for name in ("adda52", "ninestacks"):
        endings = replay(read(lines, "made up"), KNOWN[name], None).endings
        replayed = {
            key: (ending.answer.action, ending.answer.rule, ending.at)
            for key, ending in endings.items()
            if ending.answer.kind is Kind.DECIDED
        }
        outputs = simulate.outputs(lines, Shard(Policies({name: KNOWN[name]}, name)))
        simulated = {
            (one.table_id, one.turn_id): (one.action.value, one.rule.value, one.at)
            for one in outputs
            if isinstance(one, DecisionMade)
        }
        assert replayed == simulated
        assert len(replayed) > 100


def test_forced_bets_are_told_from_those_of_a_players_own_will() -> None:
    (hand,) = (one for one in hands.load([]) if one.name == "real-1")  # blinds of 5 and 10
    lines = hands.lines([hand], Habits(away=0), seed=1, times=1, as_format="cash")
    told = [
        (data.contributed, data.contributed_voluntarily)
        for data in (one.event.data for one in read(lines, "made up"))
        if hasattr(data, "contributed")
    ]
    # p3 raises to 20, p4 folds, p5 calls, p6 folds, the small blind folds, the big blind calls;
    # on the flop p2 and p3 check, p5 bets.
    assert told[:9] == [
        ("0", "0"), ("0", "0"), ("0", "0"), ("0", "0"), ("5", "0"), ("10", "0"),
        ("20", "10"), ("20", "20"), ("20", "20"),
    ]  # fmt: skip
