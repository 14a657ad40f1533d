"""An interruption, of ours or of the broker's, gives a player time and takes none."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actors.shard import Shard
from statecharts.decisions import DecisionMade, Output
from statecharts.surroundings import Interruption
from tests.property.model import SECOND, Told
from tests.property.world import FOR_EVER, POLICIES, START, scenario, tell

SETTLE = 3 * SECOND
WORDS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 1, 2, 3, 5, 10]),  # seconds later
        st.sampled_from([0, 0, 0, 1, 2]),  # of them on the way
        st.sampled_from(["lost", "lost", "up", "up", "acted"]),
        st.sampled_from(["s1", "s1", "s2"]),
    ),
    max_size=10,
)
MONEY = st.sampled_from(
    [
        {"to_call": 0, "contributed": 50, "pots": [150], "big_blind": 100},
        {"to_call": 100, "contributed": 0, "pots": [150], "big_blind": 100},
        {"to_call": 100, "contributed": 50, "pots": [150], "big_blind": 100},
    ]
)


def told(words: list[tuple[int, int, str, str]], turn: dict[str, Any]) -> list[tuple[Told, int]]:
    """Return a turn of 10 s and the words during and after it, with their arrivals."""
    data = {"hand_id": "h", "turn_id": "t", "player_id": "p", "turn_seconds": 10, "format": "cash"}
    at = START
    events = [(Told("turn.started", at, {**data, **turn}, seat=1, id="0"), at)]
    for number, (later, late, what, session) in enumerate(words):
        at += later * SECOND
        stamp = max(START, at - late * SECOND)
        if what == "acted":
            one = Told(
                "turn.acted", stamp, {"hand_id": "h", "turn_id": "t"}, seat=1, id=f"{number}"
            )
        else:
            name = "player.disconnected" if what == "lost" else "player.connected"
            one = Told(name, stamp, {"player_id": "p", "session_id": session}, seat=1,
                       source="/gateway", id=f"{number}")  # fmt: skip
        events.append((one, at))
    return events


def play(events: list[tuple[Told, int]], interruption: Interruption | None) -> list[Output]:
    """Play events in virtual time; those of an interruption are read when it is over."""
    shard, outputs = Shard(POLICIES), list[Output]()
    for one, at in events:
        if interruption and at >= interruption.start:
            outputs += shard.fire(interruption.start)
            outputs += shard.interrupt(interruption, interruption.end - SETTLE)
            interruption = None
        outputs += shard.fire(at)
        outputs += tell(shard, one, at).outputs
    if interruption:
        outputs += shard.fire(interruption.start)
        outputs += shard.interrupt(interruption, interruption.end - SETTLE)
    outputs += shard.fire(FOR_EVER)
    assert not shard.faults
    return outputs


def decision(outputs: list[Output]) -> DecisionMade | None:
    found = [one for one in outputs if isinstance(one, DecisionMade)]
    assert len(found) <= 1
    return found[0] if found else None


BREAKS = st.tuples(st.integers(0, 40), st.integers(4, 15)).map(
    lambda one: Interruption(START + one[0] * SECOND, START + sum(one) * SECOND + SETTLE)
)


@given(words=WORDS, money=MONEY, bank=st.sampled_from([0, 0, 5]), interruption=BREAKS)
def test_nothing_is_decided_in_an_interruption_or_while_it_settles(
    words: list[tuple[int, int, str, str]],
    money: dict[str, Any],
    bank: int,
    interruption: Interruption,
) -> None:
    made = decision(play(told(words, {**money, "time_bank_seconds": bank}), interruption))
    assert made is None or not interruption.start <= made.at < interruption.end


@pytest.mark.xfail(strict=True, reason="a moved turn end asks anew who is there")
@given(words=WORDS, money=MONEY, bank=st.sampled_from([0, 0, 5]), interruption=BREAKS)
# He was away at the turn end; the end to which it moves finds him back, and without a grace.
@example(
    words=[(5, 0, "lost", "s1"), (7, 0, "up", "s2")],
    money={"to_call": 100, "contributed": 50, "pots": [150], "big_blind": 100},
    bank=0,
    interruption=Interruption(START + 7 * SECOND, START + 14 * SECOND),
)
# He was connected when his time bank should have begun; the moved end finds him away, without one.
@example(
    words=[(12, 0, "lost", "s1")],
    money={"to_call": 0, "contributed": 50, "pots": [150], "big_blind": 100},
    bank=5,
    interruption=Interruption(START + 7 * SECOND, START + 14 * SECOND),
)
def test_an_interruption_gives_a_player_more_time_and_never_less(
    words: list[tuple[int, int, str, str]],
    money: dict[str, Any],
    bank: int,
    interruption: Interruption,
) -> None:
    events = told(words, {**money, "time_bank_seconds": bank})
    without, with_it = decision(play(events, None)), decision(play(events, interruption))
    if with_it is None:
        return
    # He who acted in time without the interruption has acted in time with it.
    assert without is not None, scenario(events, ())
    assert with_it.at >= without.at, scenario(events, ())
