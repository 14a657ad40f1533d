"""An interruption, of ours or of the broker's, gives a player time and takes none."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actors.shards.pictures import dump, load
from actors.shards.shard import Shard
from statecharts.decisions import DecisionMade, Output, SeatChanged
from statecharts.lines import State
from statecharts.policy import WITHOUT_GRACE, Policies, Policy
from statecharts.surroundings import Interruption
from tests.property.model import SECOND, Told
from tests.property.world import FOR_EVER, START, scenario, tell
from tests.property.world import POLICIES as BUNDLED

SETTLE = 3 * SECOND
OTHERS: dict[str, dict[str, object]] = {
    "away-only": {"buffer_for": "away"},
    "always": {"time_bank_while_away": "always", "min_seconds_after_return": 10},
    "after": {"min_seconds_after_return": 60},
    "no-grace": {"away_before_turn": "no_grace"},
    "never": {"time_bank_while_away": "never", "buffer_seconds": 0.5},
    "no-buffer": {"buffer_seconds": 0, "time_bank_while_away": "with_money_in_pot"},
    "fresh": {"min_seconds_after_return": 10, "max_seconds_after_return": 10},
    "capped": {"max_seconds_after_return": 4, "buffer_for": "away"},
    "check-late": {"free_check": "after_grace", "grace_needs": "nothing"},
    "no-check": {"free_check": "never", "buffer_seconds": 0, "grace": [{"turn_time_factor": 2}]},
    "no-ladder": {"grace": [], **WITHOUT_GRACE, "time_bank_while_away": "always"},
}
POLICIES = Policies(
    {
        BUNDLED.default.name: BUNDLED.default,
        **{
            name: Policy.model_validate({**BUNDLED.default.model_dump(), "name": name, **keys})
            for name, keys in OTHERS.items()
        },
    },
    BUNDLED.default.name,
)

Word = tuple[float, float, str, str]
WORDS = st.lists(
    st.tuples(
        st.sampled_from([0, 0.5, 1, 1, 2, 3, 5, 10]),  # seconds later
        st.sampled_from([0, 0, 0, 1, 2, 3.5, 6]),  # of them on the way
        st.sampled_from(["lost", "lost", "up", "up", "up", "sole", "reset", "acted", "card"]),
        st.sampled_from(["s1", "s1", "s2"]),
    ),
    max_size=12,
)
MONEY = st.sampled_from(
    [
        {"to_call": 0, "contributed": 50, "pots": [150], "big_blind": 100},
        {"to_call": 100, "contributed": 0, "pots": [150], "big_blind": 100},
        {"to_call": 100, "contributed": 50, "pots": [150], "big_blind": 100},
        {"to_call": 100, "contributed": 50, "pots": [150], "big_blind": 100},
        {"to_call": 100, "contributed": 50, "pots": [500], "big_blind": 100},
    ]
)
BETTING = st.builds(
    lambda money, bank, connected, policy: {
        **money,
        "time_bank_seconds": bank,
        **({} if connected is None else {"connected": connected}),
        **({} if policy is None else {"policy": policy}),
    },
    MONEY,
    st.sampled_from([0, 0, 1, 5, 15]),
    st.sampled_from([None, None, False]),
    st.sampled_from([None, None, None, *OTHERS]),
)
DISCARD = st.just({"kind": "discard", "cards": ["As", "Kd", "7c"]})
TURN = st.one_of(BETTING, BETTING, BETTING, DISCARD)


def told(
    words: list[Word], turn: dict[str, Any], *, early: float = 0, late: float = 0
) -> list[tuple[Told, int]]:
    """Return a turn of 10 s, and words from `early` seconds before it on, with their arrivals.

    Its start arrives `late` seconds after it.
    """
    ids = {"hand_id": "h", "turn_id": "t"}
    data = {**ids, "player_id": "p", "turn_seconds": 10, "format": "cash", **turn}
    start = (Told("turn.started", START, data, seat=1, id="start"), START + int(late * SECOND))
    at = START - int(early * SECOND)
    events = [start]
    for number, (later, on_the_way, what, session) in enumerate(words):
        at += int(later * SECOND)
        stamp = max(START - int(early * SECOND), at - int(on_the_way * SECOND))
        id_ = f"{number}"
        if what == "acted":
            one = Told("turn.acted", stamp, ids, seat=1, id=id_)
        elif what == "card":
            chosen = {"hand_id": "h", "card": "As" if session == "s1" else None}
            one = Told("card.chosen", stamp, chosen, seat=1, id=id_)
        elif what == "reset":
            one = Told("gateway.reset", stamp, {"gateway": "/gateway"}, id=id_)
        else:
            name = "player.disconnected" if what == "lost" else "player.connected"
            who = {"player_id": "p", "session_id": session}
            sole = {"sole": True} if what == "sole" else {}
            one = Told(name, stamp, {**who, **sole}, seat=1, source="/gateway", id=id_)
        events.append((one, at))
    return sorted(events, key=lambda event: event[1])


def play(events: list[tuple[Told, int]], *interruptions: Interruption) -> list[Output]:
    """Play events in virtual time; those of an interruption are read when it is over.

    The service may have been away: what it knew comes from a snapshot.
    """
    shard, outputs = Shard(POLICIES), list[Output]()
    to_come = sorted(interruptions)

    def interrupt_until(at: int) -> None:
        nonlocal shard
        while to_come and to_come[0].start <= at:
            one = to_come.pop(0)
            outputs.extend(shard.fire(one.start))
            outputs.extend(shard.interrupt(one, one.end - SETTLE))
            picture = json.loads(json.dumps(dump(shard.picture())))
            shard = Shard(POLICIES)
            shard.restore(load(picture, POLICIES.by_digest))

    for one, at in events:
        interrupt_until(at)
        outputs += shard.fire(at)
        outputs += tell(shard, one, at).outputs
        assert not shard.faults
    interrupt_until(FOR_EVER)
    outputs += shard.fire(FOR_EVER)
    assert not shard.faults
    return outputs


def decision(outputs: list[Output]) -> DecisionMade | None:
    found = [one for one in outputs if isinstance(one, DecisionMade)]
    assert len(found) <= 1
    return found[0] if found else None


def breaks(start: float, seconds: float) -> Interruption:
    """Return an interruption of so many seconds, and the time to settle after it."""
    begin = START + int(start * SECOND)
    return Interruption(begin, begin + int(seconds * SECOND) + SETTLE)


BREAKS = st.lists(
    st.builds(
        breaks,
        st.one_of(st.integers(-5, 20), st.integers(-5, 45), st.sampled_from([6.5, 9.5, 12.5])),
        st.one_of(st.integers(4, 15), st.sampled_from([3.5, 40])),
    ),
    min_size=1,
    max_size=2,
)
IN_POT = {"to_call": 100, "contributed": 50, "pots": [150], "big_blind": 100}
FREE = {"to_call": 0, "contributed": 50, "pots": [150], "big_blind": 100}


@given(
    words=WORDS,
    turn=TURN,
    early=st.sampled_from([0, 0, 5]),
    late=st.sampled_from([0, 0, 0, 2, 11]),
    interruptions=BREAKS,
)
# He was away at the turn end; the end to which it moves finds him back.
@example([(5, 0, "lost", "s1"), (7, 0, "up", "s2")], IN_POT, 0, 0, [breaks(7, 4)])
# He was connected when his time bank should have begun; the moved end finds him away.
@example([(12, 0, "lost", "s1")], {**FREE, "time_bank_seconds": 5}, 0, 0, [breaks(7, 4)])
# His bank would have ended while he was away; the bank that begins later ends when he is back.
@example(
    [(14, 0, "lost", "s1"), (2, 0, "up", "s1")],
    {**IN_POT, "time_bank_seconds": 5},
    0, 0, [breaks(5, 4)],
)  # fmt: skip
# He returned before the moved end, for the policy's minimum, and left again.
@example(
    [(5, 0, "lost", "s1"), (6, 0, "up", "s1"), (1, 0, "lost", "s1")],
    {**IN_POT, "policy": "after"},
    0, 0, [breaks(7, 4)],
)  # fmt: skip
# What shows that he was there comes when it would have been settled that he was away.
@example(
    [(8, 0, "lost", "s1"), (6, 5, "up", "s2")],
    IN_POT, 0, 0, [breaks(9, 5)],
)  # fmt: skip
def test_an_interruption_gives_a_player_more_time_and_never_less(
    words: list[Word],
    turn: dict[str, Any],
    early: float,
    late: float,
    interruptions: list[Interruption],
) -> None:
    events = told(words, turn, early=early, late=late)
    without, with_it = decision(play(events)), decision(play(events, *interruptions))
    if with_it is None:
        return
    # He who acted in time without the interruption has acted in time with it.
    assert without is not None, scenario(events, ())
    assert with_it.at >= without.at, scenario(events, ())
    # In none of them is decided, nor while it settles.
    for one in interruptions:
        assert not one.start <= with_it.at < one.end, scenario(events, ())
    # The rule is true of the player when it decides.
    if with_it.rule in ("check-available", "nothing-in-pot", "grace-expired"):
        assert not with_it.connected
    if with_it.rule == "turn-timeout":
        # Where a free check waits for a grace, he may have left in the buffer, too late for one.
        late_check = turn.get("policy") in ("check-late", "no-check")
        assert with_it.connected or turn["to_call"] or late_check, scenario(events, ())


@pytest.mark.parametrize(
    ("words", "turn", "interruption", "states", "rule"),
    [
        pytest.param(
            [(5, 0, "lost", "s1"), (7, 0, "up", "s2")], IN_POT, breaks(7, 4),
            [("returned", 14, 32), ("auto_action", 32, None)], "turn-timeout",
            id="away at his turn end, back at the moved one: as one who has returned",
        ),
        pytest.param(
            [(5, 0, "lost", "s1"), (7, 0, "up", "s2"), (3, 0, "lost", "s2")], IN_POT, breaks(7, 4),
            [("returned", 14, 32), ("disconnection_grace", 15, 32), ("auto_action", 32, None)],
            "grace-expired",
            id="and leaves again",
        ),
        pytest.param(
            [(12, 0, "lost", "s1")], IN_POT, breaks(7, 4),
            [("buffer", 14, 17), ("disconnection_grace", 17, 32), ("auto_action", 32, None)],
            "grace-expired",
            id="there at his turn end, away at the moved one: a grace",
        ),
        pytest.param(
            [(12, 0, "lost", "s1")], {**FREE, "time_bank_seconds": 5}, breaks(7, 4),
            [("time_bank", 14, 19), ("auto_action", 19, None)], "check-available",
            id="there when his bank should have begun: it begins at the moved end",
        ),
        pytest.param(
            [(5, 0, "lost", "s1"), (7, 0, "lost", "s2")], {**FREE, "time_bank_seconds": 5},
            breaks(7, 4), [("auto_action", 14, None)], "check-available",
            id="away at both: no bank where a check is free",
        ),
        pytest.param(
            [(13, 4, "lost", "s1"), (0, 0, "up", "s2")], IN_POT, breaks(7, 4),
            [("returned", 14, 32), ("auto_action", 32, None)], "turn-timeout",
            id="the word that he was away at his turn end comes late, before the moved one",
        ),
        pytest.param(
            [(15, 6, "lost", "s1"), (0, 0, "up", "s1")], IN_POT, breaks(7, 4),
            [("buffer", 14, 17), ("returned", 15, 32), ("auto_action", 32, None)], "turn-timeout",
            id="or in the buffer after it",
        ),
        pytest.param(
            [(5, 0, "lost", "s1"), (7, 3, "up", "s1")], IN_POT, breaks(7, 4),
            [("buffer", 14, 17), ("auto_action", 17, None)], "turn-timeout",
            id="the word that he was there at his turn end comes late",
        ),
        pytest.param(
            [(11, 0, "lost", "s1"), (1, 0, "up", "s1")], IN_POT, breaks(7, 4),
            [("buffer", 14, 17), ("auto_action", 17, None)], "turn-timeout",
            id="there at both, whatever was between",
        ),
    ],
)  # fmt: skip
def test_what_a_moved_turn_end_comes_to(
    words: list[Word],
    turn: dict[str, Any],
    interruption: Interruption,
    states: list[tuple[str, float, float | None]],
    rule: str,
) -> None:
    outputs = play(told(words, turn), interruption)
    changes = [
        (one.to.value, seconds(one.at), one.until and seconds(one.until))
        for one in outputs
        if isinstance(one, SeatChanged) and one.from_ != one.to and one.to is not State.ACTING
    ]
    made = decision(outputs)
    assert changes == states
    assert made is not None
    assert made.rule == rule


def seconds(instant: int) -> float:
    return (instant - START) / SECOND
