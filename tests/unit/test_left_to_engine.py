"""A turn that the policy leaves to the engine: told at once, and closed for us."""

from __future__ import annotations

import json
from typing import Any

from actors import policies
from actors.shards.shard import Applied, Shard, Verdict
from actors.work.messages import is_told
from statecharts.decisions import DecisionMade, SeatChanged
from statecharts.events import decode
from statecharts.instants import SECOND, from_rfc3339, to_rfc3339
from statecharts.lines import State, Trigger
from statecharts.policy import Policy

START = from_rfc3339("2026-01-01T00:00:00Z")
POLICY = Policy.model_validate(
    {"name": "house", "grace": [{"seconds": 15}], "connected_but_silent": "engine"}
)
FREE = {
    "player_id": "p", "turn_seconds": 20, "format": "cash", "to_call": 0, "contributed": 0,
    "pots": [150], "big_blind": 100,
}  # fmt: skip


def tell(shard: Shard, seconds: int, name: str, turn: str, **data: Any) -> Applied:
    event = {
        "specversion": "1.0", "id": f"{seconds}", "source": "/engine",
        "type": f"seatwarden.{name}.v1", "time": to_rfc3339(START + seconds * SECOND),
        "subject": "t1/1", "data": {"hand_id": "h", "turn_id": turn, **data},
    }  # fmt: skip
    return shard.apply(decode(json.dumps(event).encode()), START + seconds * SECOND)


def test_the_engine_is_told_at_the_turn_end_also_where_most_changes_are_left_out() -> None:
    shard = Shard(policies.with_default(POLICY))
    [began] = tell(shard, 0, "turn.started", "a", **FREE).outputs
    assert not is_told(began, all_changes=False)
    [left] = shard.fire(START + 21 * SECOND)
    assert isinstance(left, SeatChanged)
    assert (left.at, left.to, left.trigger) == (START + 20 * SECOND, State.IDLE, Trigger.DEADLINE)
    assert is_told(left, all_changes=False)


def test_what_the_engine_does_then_is_known_and_the_next_turn_opens() -> None:
    shard = Shard(policies.with_default(POLICY))
    tell(shard, 0, "turn.started", "a", **FREE)
    shard.fire(START + 21 * SECOND)
    assert tell(shard, 22, "turn.acted", "a", by="engine").verdict is Verdict.IGNORED
    assert tell(shard, 23, "turn.started", "b", **FREE).verdict is Verdict.APPLIED
    assert not any(isinstance(one, DecisionMade) for one in shard.fire(START + 99 * SECOND))


def test_an_action_in_time_is_not_told_where_most_changes_are_left_out() -> None:
    shard = Shard(policies.with_default(POLICY))
    tell(shard, 0, "turn.started", "a", **FREE)
    [closed] = tell(shard, 5, "turn.acted", "a").outputs
    assert not is_told(closed, all_changes=False)
