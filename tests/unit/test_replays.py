"""Recorded events replayed under two policies: what is compared, turn by turn."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from actors import policies
from actors.demo import deals, pace, records
from actors.demo.engine import Engine
from actors.demo.rehearsal import rehearse
from actors.demo.sent import Sent
from actors.replays.changes import Comparison, compare
from actors.replays.endings import Kind
from actors.replays.reasons import reasons
from actors.replays.recorded import RecordingError, Stimulus, read
from actors.replays.replay import replay
from actors.shards.shard import Shard
from statecharts.decisions import DecisionMade
from statecharts.instants import SECOND, from_rfc3339, from_seconds, to_rfc3339
from statecharts.policy import Policy

KNOWN = policies.bundled().by_name
START = from_rfc3339("2026-03-01T20:00:00Z")
LONGER = Policy.model_validate({"name": "longer", "grace": [{"seconds": 60}]})

Given = tuple[float, str, dict[str, Any]]


def lines(*events: Given) -> Iterator[bytes]:
    """Write events as a backend keeps them; what is left out is of turn h1-1, seat 1."""
    hand = {"hand_id": "h1"}
    turn = {**hand, "turn_id": "h1-1"}
    session = {"player_id": "p1", "session_id": "s1"}
    usual: dict[str, dict[str, Any]] = {
        "turn.started": {
            **turn, "player_id": "p1", "turn_seconds": 20, "format": "cash", "policy": "yesterday",
            "to_call": 100, "contributed": 50, "pots": [450], "big_blind": 100,
        },
        "turn.acted": turn,
        "hand.ended": hand,
        "player.connected": session,
        "player.disconnected": session,
        "seat.vacated": {"player_id": "p1"},
        "gateway.reset": {},
    }  # fmt: skip
    for number, (at, name, given) in enumerate(events):
        data = dict(given)
        seat, source = data.pop("seat", 1), data.pop("source", "/engine")
        event = {
            "specversion": "1.0",
            "id": str(number),
            "source": "/gateway" if name.startswith("player") else source,
            "type": f"seatwarden.{name}.v1",
            "time": to_rfc3339(START + from_seconds(at)),
            "subject": "t1" if name == "hand.ended" else f"t1/{seat}",
            "data": {**usual[name], **data},
        }
        yield json.dumps(event).encode()


def stimuli(*events: Given) -> list[Stimulus]:
    return read(lines(*events), "events")


def compared(
    events: Sequence[Given], one: str | Policy, other: str | Policy, acts_after: float = 3
) -> Comparison:
    recorded, after = stimuli(*events), from_seconds(acts_after)
    found = [KNOWN[each] if isinstance(each, str) else each for each in (one, other)]
    return compare(*(replay(recorded, policy, after) for policy in found))


def told(comparison: Comparison, turn: str = "h1-1") -> list[tuple[str, float]]:
    """Both endings of a turn: what, and how many seconds after the record's start."""
    pair = comparison.turns["t1", turn]
    return [(str(one.answer), (one.at - START) / SECOND) for one in (pair.one, pair.other)]


# Away from 5 s on; 4.5 big blinds: adda52 folds at 20 + 3 + 15 = 38 s, which the engine played.
FOLDED: list[Given] = [
    (0, "player.connected", {}),
    (0, "turn.started", {}),
    (5, "player.disconnected", {}),
    (38.5, "turn.acted", {"by": "decision", "action": "fold"}),
]


def test_the_policy_that_was_in_force_decides_as_it_did() -> None:
    one, other = told(compared(FOLDED, "adda52", "adda52"))
    assert one == other == ("fold, grace-expired", 38)


def test_the_playing_of_the_old_decision_ends_no_turn_of_a_policy_that_waits_longer() -> None:
    comparison = compared(FOLDED, "adda52", "sportsbook")  # 30 s from the turn end on
    assert told(comparison) == [("fold, grace-expired", 38), ("fold, grace-expired", 50)]
    assert comparison.changes == []
    assert comparison.moved == [12 * SECOND]
    assert comparison.waiting.one == {("t1", "h1"): 18 * SECOND}
    assert comparison.waiting.other == {("t1", "h1"): 30 * SECOND}
    assert comparison.waiting.added == {("t1", "h1"): 12 * SECOND}


@pytest.mark.parametrize(
    "going_on",
    [
        (40, "hand.ended", {}),
        (40, "turn.started", {"hand_id": "h2", "turn_id": "h2-1"}),
        (38.5, "turn.acted", {"by": "engine"}),
    ],
)
def test_what_followed_from_the_old_decision_ends_no_turn(going_on: Given) -> None:
    comparison = compared([*FOLDED[:3], going_on], "adda52", "sportsbook")
    assert told(comparison) == [("fold, grace-expired", 38), ("fold, grace-expired", 50)]


def test_who_is_back_within_the_longer_grace_acts_after_some_seconds() -> None:
    events = [*FOLDED, (40, "hand.ended", {}), (45, "player.connected", {"session_id": "s2"})]
    comparison = compared(events, "adda52", "sportsbook")
    assert told(comparison) == [("fold, grace-expired", 38), ("he acts himself", 48)]
    (change,) = comparison.changes
    assert change.later is not None
    assert change.later.median == 10 * SECOND
    assert comparison.decided_alone == (1, 0)
    assert comparison.waiting.added == {("t1", "h1"): 10 * SECOND}


def test_a_tie_is_the_players_and_a_moment_later_is_too_late() -> None:
    events = [*FOLDED, (45, "player.connected", {"session_id": "s2"})]
    assert told(compared(events, "adda52", "sportsbook", 5))[1] == ("he acts himself", 50)
    assert told(compared(events, "adda52", "sportsbook", 5.001))[1] == ("fold, turn-timeout", 50)


def test_who_leaves_again_before_he_has_acted_does_not() -> None:
    back = (45, "player.connected", {"session_id": "s2"})
    gone = (47, "player.disconnected", {"session_id": "s2"})
    assert told(compared([*FOLDED, back, gone], "adda52", "sportsbook"))[1] == (
        "fold, grace-expired", 50,
    )  # fmt: skip


def test_who_was_silent_for_long_after_his_return_on_record_stays_silent() -> None:
    events = [*FOLDED[:3], (30, "player.connected", {"session_id": "s2"}), FOLDED[3]]
    assert told(compared(events, "adda52", "sportsbook")) == [
        ("fold, turn-timeout", 38),
        ("fold, turn-timeout", 50),
    ]


def test_who_was_back_just_before_the_old_decision_acts_after_it() -> None:
    events = [*FOLDED[:3], (37, "player.connected", {"session_id": "s2"}), FOLDED[3]]
    assert told(compared(events, "adda52", "sportsbook"))[1] == ("he acts himself", 40)


def test_a_turn_that_is_apart_hears_of_its_gateways_restart() -> None:
    events: list[Given] = [
        *FOLDED,
        (45, "player.connected", {"session_id": "s2"}),
        (46, "gateway.reset", {"gateway": "/gateway"}),
    ]
    assert told(compared(events, "adda52", "sportsbook"))[1] == ("fold, grace-expired", 50)


def test_a_recorded_action_ends_the_turn_only_before_the_decision() -> None:
    events: list[Given] = [
        *FOLDED[:3],
        (40, "player.connected", {"session_id": "s2"}),
        (44, "turn.acted", {"by": "player", "action": "call"}),
    ]
    assert told(compared(events, "adda52", "sportsbook")) == [
        ("fold, grace-expired", 38),
        ("he acts himself", 44),
    ]
    assert told(compared(events, "sportsbook", "adda52")) == [
        ("he acts himself", 44),
        ("fold, grace-expired", 38),
    ]


def test_a_turn_at_the_records_end_is_carried_to_its_own_end() -> None:
    assert told(compared(FOLDED[:3], "adda52", LONGER)) == [
        ("fold, grace-expired", 38),
        ("fold, grace-expired", 83),
    ]


def test_the_leaving_of_a_player_is_his_own_and_calls_the_turn_off_under_both() -> None:
    events: list[Given] = [*FOLDED[:3], (10, "seat.vacated", {})]
    assert told(compared(events, "adda52", "sportsbook")) == [("off (seat.vacated)", 10)] * 2


def test_a_policy_that_leaves_the_silent_to_the_engine_is_told_so() -> None:
    lenient = Policy.model_validate(
        {"name": "lenient", "grace": [{"seconds": 15}], "connected_but_silent": "engine"}
    )
    events: list[Given] = [*FOLDED[:2], (60, "turn.acted", {"by": "engine"})]
    comparison = compared(events, "adda52", lenient)
    assert told(comparison) == [("fold, turn-timeout", 23), ("left to the engine", 23)]
    assert comparison.turns["t1", "h1-1"].other.answer.kind is Kind.LEFT


def test_waiting_is_counted_only_where_both_policies_cover_the_turn() -> None:
    tournament: list[Given] = [
        *FOLDED,
        (60, "turn.started", {"turn_id": "h1-2", "format": "tournament"}),
    ]
    for names in (("adda52", "relax"), ("relax", "adda52")):  # relax covers both
        comparison = compared(tournament, *names)
        assert ("not covered (format)", 60) in told(comparison, "h1-2")
        waited = comparison.waiting.one, comparison.waiting.other
        wanted = {"adda52": {("t1", "h1"): 18 * SECOND}, "relax": {("t1", "h1"): 20 * SECOND}}
        assert waited == tuple(wanted[name] for name in names)


def test_a_message_that_comes_twice_or_is_refused_is_no_turn() -> None:
    no_chips: Given = (6, "turn.started", {"turn_id": "h1-2", "seat": 2, "stack": 0})
    comparison = compared([*FOLDED[:2], *FOLDED[1:3], no_chips, FOLDED[3]], "adda52", "relax")
    assert list(comparison.turns) == [("t1", "h1-1")]
    assert [line for line, _ in comparison.refused] == [5]


def test_the_format_can_be_said_anew() -> None:
    recorded = read(lines(*FOLDED), "events", "tournament")
    assert {one.event.data.format for one in recorded if one.event.name == "turn.started"} == {
        "tournament"
    }


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"nonsense", "events:2: malformed: not JSON"),
        (b'{"specversion": "1.0", "id": "1", "source": "/e", "type": "x"}', "2: unknown-type"),
        (b"", "events: no turn.started in it"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(line: bytes, reason: str) -> None:
    with pytest.raises(RecordingError, match=reason):
        read([b"", line], "events")


# -- Why


def test_a_change_is_explained_by_the_difference_that_alone_makes_it() -> None:
    events = [*FOLDED, (45, "player.connected", {"session_id": "s2"})]
    recorded, after = stimuli(*events), 3 * SECOND
    one, other = KNOWN["adda52"], KNOWN["sportsbook"]  # 38 s, 50 s; in all they differ in four
    found = compare(replay(recorded, one, after), replay(recorded, other, after))
    why = reasons(found, one, other, recorded, after)
    assert why == {("t1", "h1-1"): ("Extra time",)}


def test_a_change_that_takes_two_differences_is_explained_by_both() -> None:
    # Alone neither a 10 s longer grace nor a 10 s longer buffer lasts until he is back at 50 s.
    keys = {
        "name": "longer", "grace": [{"seconds": 25}], "buffer_seconds": 13, "free_check": "never",
    }  # fmt: skip
    one = Policy.model_validate({"name": "shorter", "grace": [{"seconds": 15}]})
    other = Policy.model_validate(keys)
    recorded = stimuli(*FOLDED, (50, "player.connected", {"session_id": "s2"}))
    found = compare(replay(recorded, one, 0), replay(recorded, other, 0))
    assert told(found) == [("fold, grace-expired", 38), ("he acts himself", 50)]
    why = reasons(found, one, other, recorded, 0)
    assert why == {("t1", "h1-1"): ("Extra time", "Buffer")}


def test_nothing_changes_and_nothing_is_to_be_explained_under_the_same_policy() -> None:
    recorded = stimuli(*FOLDED)
    same = KNOWN["relax"]
    found = compare(replay(recorded, same, 0), replay(recorded, same, 0))
    assert found.changes == []
    assert reasons(found, same, same, recorded, 0) == {}


# -- A whole evening


def test_a_recorded_evening_is_decided_as_it_was_and_every_turn_ends_under_any_policy() -> None:
    engine = Engine(
        deals.all_of(records.bundled(), 8), run="x", seed=3, pace=pace.ACCELERATED,
        policy=KNOWN["adda52"], start=START,
    )  # fmt: skip
    sent, made = [], {}
    for one in rehearse(engine, Shard(policies.bundled())):
        if isinstance(one, Sent):
            sent.append(one)
        elif isinstance(one, DecisionMade):
            made[one.table_id, one.turn_id] = (one.action.value, one.rule.value, one.at)
    sent.sort(key=lambda one: one.arrival)
    recorded = read([one.line for one in sent], "evening")
    for name in ("adda52", "ninestacks", "pokermagnet", "gridpoker"):
        replayed = replay(recorded, KNOWN[name], 5 * SECOND)
        assert replayed.endings.keys() == replayed.turns.keys()
        assert not [turn for turn in replayed.endings.values() if turn.answer.kind is Kind.OFF]
        if name == "adda52":
            decided = {
                key: (ending.answer.action, ending.answer.rule, ending.at)
                for key, ending in replayed.endings.items()
                if ending.answer.kind is Kind.DECIDED
            }
            assert decided == made
