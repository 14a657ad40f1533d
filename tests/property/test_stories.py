"""Whatever is told: with stories the same is decided, and a successor tells the same ones."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actors.explaining.words import told
from actors.shards.shard import Shard
from actors.stories.story import MAX_ENTRIES
from actors.stories.timeline import Timeline
from statecharts.chart import OPEN
from statecharts.decisions import SeatChanged, TurnUncovered
from statecharts.instants import SECOND
from statecharts.lines import State
from statecharts.surroundings import Interruption
from tests.property.model import Told as ModelTold
from tests.property.world import FOR_EVER, POLICIES, START
from tests.property.world import tell as tell_shard
from tests.stories import DISCARD, TURN, taken_over

TURNS = st.builds(
    lambda base, turn, **changed: {**base, **changed, "turn_id": turn, "hand_id": turn[:2]},
    st.sampled_from([TURN, {**TURN, "to_call": 0}, {**TURN, "contributed": 0}, DISCARD]),
    st.sampled_from(["h1-1", "h1-2", "h2-1"]),
    format=st.sampled_from(["cash", "cash", "cash", "tournament"]),
    turn_seconds=st.sampled_from([1, 5]),
)
SESSIONS = st.builds(
    lambda player, session: {"player_id": player, "session_id": session},
    st.sampled_from(["p9", "p9", "p1"]),
    st.sampled_from(["s1", "s2"]),
)
CHOICES = st.builds(
    lambda hand, card: {"hand_id": hand, "card": card},
    st.sampled_from(["h1", "h2"]),
    st.sampled_from(["As", "Kd", "Qh", None]),
)
DATA = {
    "turn.started": TURNS,
    "turn.acted": st.builds(
        lambda turn, by: {"hand_id": turn[:2], "turn_id": turn, "by": by},
        st.sampled_from(["h1-1", "h1-2", "h2-1"]),
        st.sampled_from(["player", "decision", "engine"]),
    ),
    "card.chosen": CHOICES,
    "player.connected": SESSIONS,
    "player.disconnected": SESSIONS,
    "seat.vacated": st.just({"player_id": "p9"}),
    "hand.ended": st.sampled_from([{"hand_id": "h1"}, {"hand_id": "h2"}]),
    "table.closed": st.just({}),
    "gateway.reset": st.just({"gateway": "/source"}),
    "interruption": st.just({}),
}
EVENTS = st.sampled_from(
    ["turn.started"] * 4 + ["player.connected", "player.disconnected"] * 3 + sorted(DATA)
).flatmap(
    lambda name: st.tuples(
        st.just(name), DATA[name], st.sampled_from([0, 1, 4, 18]), st.sampled_from([0, 0, 2])
    )
)


@given(st.lists(EVENTS, max_size=40))
def test_the_story_never_changes_what_is_decided(
    events: list[tuple[str, dict[str, Any], int, int]],
) -> None:
    plain = Shard(POLICIES)
    telling, successor = Shard(POLICIES, timelines=True), Shard(POLICIES, timelines=True)
    now = START
    timelines, others = list[Timeline](), list[Timeline]()
    closings, uncovered = 0, 0
    for number, (name, data, pause, late) in enumerate(events):
        now += pause * SECOND
        outputs = plain.fire(now)
        assert telling.fire(now) == successor.fire(now) == outputs
        if name == "interruption":
            span = Interruption(now - SECOND, now + 3 * SECOND)
            came = plain.interrupt(span, now)
            assert telling.interrupt(span, now) == successor.interrupt(span, now) == came
        else:
            stamp = now - late * SECOND
            event = ModelTold(name, stamp, data, seat=1, id=f"e{number}", source="/source")
            applied = tell_shard(plain, event, now)
            assert tell_shard(telling, event, now) == tell_shard(successor, event, now) == applied
            came = applied.outputs
        for one in (*outputs, *came):
            if isinstance(one, SeatChanged):
                closings += one.to is State.AUTO_ACTION or one.to is State.IDLE
            uncovered += isinstance(one, TurnUncovered)
        timelines += telling.take_timelines()
        others += successor.take_timelines()
        successor = taken_over(successor)
        for known in telling.picture().seats.values():
            assert known is not None
            assert (known.story is None) == (known.value.turn is None)
            assert known.story is not None or known.value.state not in OPEN
    ends = plain.fire(FOR_EVER)
    assert telling.fire(FOR_EVER) == successor.fire(FOR_EVER) == ends
    closings += sum(isinstance(one, SeatChanged) and one.to is State.AUTO_ACTION for one in ends)
    timelines += telling.take_timelines()
    others += successor.take_timelines()
    assert not plain.faults + telling.faults + successor.faults
    assert timelines == others
    assert len(timelines) >= closings + uncovered
    assert len({one.id for one in timelines}) == len(timelines)
    for timeline in timelines:
        assert len(timeline.story.entries) <= MAX_ENTRIES
        assert [*told(json.loads(json.dumps(timeline.as_json())))]
