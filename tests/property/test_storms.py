"""Many lost at once: nothing is decided earlier for it, and it hangs on nothing but the events."""

import json
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actors.shards.pictures import dump, load
from actors.shards.shard import Shard
from statecharts.decisions import ConnectionStorm, DecisionMade, Output
from statecharts.policy import Policies, Policy
from tests.property.model import Told, seconds
from tests.property.world import FOR_EVER, START, tell

TABLES = 5
GATEWAYS = st.sampled_from(["/a", "/a", "/b"])
FACING = {"to_call": 100, "contributed": 50, "pots": [150], "big_blind": 100}
# Turns at all tables, which may be over when some of them have another, and players of those lost.
OVER = st.builds(
    lambda number, wait, others, gateway: [
        *(("turn", table, 0, gateway, FACING) for table in range(1, TABLES + 1)),
        ("up", 1, wait, gateway, FACING),
        *(("turn", table, 0, gateway, FACING) for table in range(1, 1 + number)),
        *(("lost", table, 0.5, gateway, FACING) for table in range(1, 1 + number)),
        *others,
    ],
    st.integers(1, TABLES),
    st.sampled_from([0, 6, 8]),
    st.lists(st.tuples(st.just("turn"), st.integers(1, TABLES), st.sampled_from([0, 6]), GATEWAYS,
                       st.just(FACING)), max_size=3),
    GATEWAYS,
)  # fmt: skip
MIXED = st.lists(
    st.tuples(
        st.sampled_from(["turn", "turn", "lost", "lost", "lost", "up", "reset", "acted"]),
        st.integers(1, TABLES),
        st.sampled_from([0, 0, 0, 0.5, 1, 1, 3, 5]),  # later
        GATEWAYS,
        st.sampled_from([FACING, FACING | {"to_call": 0}, FACING | {"contributed": 0}]),
    ),
    min_size=5,
    max_size=40,
)
Event = tuple[str, int, float, str, dict[str, Any]]
EVENTS: st.SearchStrategy[list[Event]] = st.one_of(MIXED, OVER)
KEYS = st.fixed_dictionaries(
    {"grace": st.sampled_from([[{"seconds": 5}], []])},
    optional={
        "budget": st.just({"seconds": 8, "per": "table"}),
        "grace_counts_from": st.just("turn_end"),
        "all_in_protection": st.just({"uses": 1}),
        "free_check": st.just("never"),
        "max_seconds_after_return": st.just(4),
        "buffer_for": st.just("away"),
    },
)


def _known(keys: dict[str, Any], hold: float) -> Policies:
    """Two rooms: which of them a shard has heard of first must not matter."""
    storm = {"at_least_players": 2, "within_seconds": 3, "hold_seconds": hold}
    rest = {} if keys["grace"] else {"buffer_seconds": 0}
    left_out = () if keys["grace"] else ("budget", "max_seconds_after_return", "buffer_for")
    given_ = {key: value for key, value in keys.items() if key not in left_out}
    rooms = [
        Policy.model_validate({"name": name, "storm": storm, **rest, **given_, **more})
        for name, more in (("a", {}), ("b", {"away_status": "fold"}))
    ]
    return Policies({room.name: room for room in rooms}, "a")


def _told(events: Iterable[Event]) -> list[tuple[Told, int]]:
    at, turns = START, dict.fromkeys(range(1, TABLES + 1), 0)
    told = []
    for number, (what, table, later, gateway, money) in enumerate(events):
        at += seconds(later)
        turns[table] += what == "turn"
        ids = {"hand_id": f"h{turns[table]}", "turn_id": f"u{turns[table]}"}
        word = {"player_id": "p", "session_id": gateway}
        if what == "turn":
            policy = "b" if table % 2 else "a"
            data = {**ids, "player_id": "p", "turn_seconds": 4, "format": "cash", "policy": policy}
            one = Told("turn.started", at, data | money, f"t{table}", 1)
        elif what == "acted":
            one = Told("turn.acted", at, ids, f"t{table}", 1)
        elif what == "reset":
            one = Told("gateway.reset", at, {"gateway": gateway}, source=gateway)
        else:
            name = "player.disconnected" if what == "lost" else "player.connected"
            one = Told(name, at, word, f"t{table}", 1, gateway)
        told.append((Told(**{**vars(one), "id": f"e{number}"}), at))
    return told


def _play(
    known: Policies, told: list[tuple[Told, int]], *,
    restarts: Iterable[int] = (), again: Iterable[int] = (), is_slow: bool = False,
) -> list[Output]:  # fmt: skip
    """Play events; some come again, the shard is taken over by others, or fires what it must."""
    shard, outputs = Shard(known), list[Output]()
    for number, (one, at) in enumerate(told):
        if not is_slow:
            outputs += shard.fire(at)
        outputs += tell(shard, one, at).outputs
        if number in restarts:
            picture = load(json.loads(json.dumps(dump(shard.picture()))), known.by_digest)
            shard = Shard(known)
            shard.restore(picture)
        if number in again:
            outputs += tell(shard, told[number // 2][0], at).outputs
    outputs += shard.fire(FOR_EVER)
    assert not shard.faults
    return outputs


def _in_order(outputs: list[Output]) -> list[bytes]:
    """By their instants and subjects; how late a decision was made is another matter."""
    in_time = [
        one.model_copy(update={"late_ms": 0}) if isinstance(one, DecisionMade) else one
        for one in outputs
    ]
    return [one.encoded() for one in sorted(in_time, key=lambda one: (one.at, one.subject or ""))]


@given(events=EVENTS, keys=KEYS)
def test_a_storm_makes_nothing_earlier(events: list[Event], keys: dict[str, Any]) -> None:
    told = _told(events)
    without, held = (_play(_known(keys, hold), told) for hold in (0, 20))
    decided = {(one.table_id, one.turn_id): one for one in without if isinstance(one, DecisionMade)}
    storms = [one for one in held if isinstance(one, ConnectionStorm)]
    spared = set[str]()
    for one in held:
        if not isinstance(one, DecisionMade):
            continue
        other = decided.get((one.table_id, one.turn_id))
        if one.table_id in spared:
            continue  # with more of his budget, he may have had a grace since
        assert other is not None
        assert one.at >= other.at
        if one.at > other.at:
            spared.add(one.table_id)
            assert storms


@given(
    events=EVENTS,
    keys=KEYS,
    restarts=st.sets(st.integers(0, 39)),
    again=st.sets(st.integers(0, 39)),
)
def test_a_storm_hangs_on_the_events_alone(
    events: list[Event], keys: dict[str, Any], restarts: set[int], again: set[int]
) -> None:
    told, known = _told(events), _known(keys, 20)
    expected = _play(known, told)
    assert _play(known, told, restarts=restarts) == expected
    assert _play(known, told, again=again) == expected
    assert _in_order(_play(known, told, is_slow=True)) == _in_order(expected)
