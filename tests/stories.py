"""Turns played in virtual time for the tests of their timelines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from actors import policies
from actors.shards.pictures import dump, load
from actors.shards.shard import Shard
from statecharts.decisions import Output
from statecharts.events import decode
from statecharts.instants import SECOND, from_rfc3339, from_seconds, to_rfc3339

POLICIES = policies.bundled()
START = from_rfc3339("2026-03-01T20:15:00Z")
FOR_EVER = START + 3600 * SECOND

TURN = {
    "hand_id": "h77", "turn_id": "h77-12", "player_id": "p9", "turn_seconds": 20, "format": "cash",
    "to_call": 100, "contributed": 50, "pots": [450, 120], "big_blind": 100,
}  # fmt: skip
FREE = {**TURN, "to_call": 0}
DISCARD = {
    "hand_id": "h77", "turn_id": "h77-12", "player_id": "p9", "turn_seconds": 10, "format": "cash",
    "kind": "discard", "cards": ["As", "Kd", "7c"],
}  # fmt: skip
SESSION = {"player_id": "p9", "session_id": "s-31"}
RETURN = {"player_id": "p9", "session_id": "s-32"}
PLAYED = {"hand_id": "h77", "turn_id": "h77-12", "action": "fold", "by": "decision"}


@dataclass
class Told:
    """An event: seconds of its stamp and of its arrival, after the start."""

    name: str
    seconds: float
    data: dict[str, Any]
    arrives: float | None = None
    id: str = ""
    source: str = "/engine"
    subject: str = "t1/4"

    @property
    def arrival(self) -> float:
        """When it reaches the broker."""
        return self.seconds if self.arrives is None else self.arrives


@dataclass
class Played:
    """A shard that tells timelines, and one that does not, fed alike."""

    shard: Shard = field(default_factory=lambda: Shard(POLICIES, timelines=True))
    silent: Shard = field(default_factory=lambda: Shard(POLICIES))
    outputs: list[Output] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    faults: list[Exception] = field(default_factory=list)
    count: int = 0

    def tell(self, *told: Told) -> Played:
        """Let events arrive, in this order."""
        for one in told:
            self.count += 1
            self.pass_time(one.arrival)
            message = {
                "specversion": "1.0",
                "id": one.id or f"e{self.count}",
                "source": one.source,
                "type": f"seatwarden.{one.name}.v1",
                "time": to_rfc3339(START + from_seconds(one.seconds)),
                "subject": one.subject,
                "data": one.data,
            }
            event = decode(json.dumps(message).encode())
            arrival = START + from_seconds(one.arrival)
            came = self.shard.apply(event, arrival, arrival + 2000).outputs
            assert came == self.silent.apply(event, arrival, arrival + 2000).outputs
            self.outputs += came
        return self._taken()

    def pass_time(self, seconds: float) -> Played:
        """Let the deadlines before an instant pass; each is noticed 3 ms after it."""
        until = START + from_seconds(seconds)
        while (soonest := self.shard.deadlines.next()) is not None and soonest[0] < until:
            due = soonest[0] + 1
            came = self.shard.fire(due, due + 2999)
            assert came == self.silent.fire(due, due + 2999)
            self.outputs += came
        return self._taken()

    def end(self, faults: int = 0) -> Played:
        """Let all deadlines pass; there have been so many faults of ours."""
        self.pass_time(3600)
        assert len(self.faults) == faults
        return self

    def taken_over(self) -> Played:
        """Go on with a successor of the shard."""
        self.shard = taken_over(self.shard)
        return self

    def _taken(self) -> Played:
        for one in self.shard.take_timelines():
            self.records.append(json.loads(json.dumps(one.as_json())))
        assert not self.silent.take_timelines()
        self.faults += self.shard.faults
        self.shard.faults.clear()
        return self

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The entries of the latest record."""
        entries: list[dict[str, Any]] = self.records[-1]["data"]["entries"]
        return entries


def taken_over(shard: Shard) -> Shard:
    """Return a shard that has a picture of this one, as JSON, for all that it knows."""
    picture = shard.picture()
    again = load(json.loads(json.dumps(dump(picture))), POLICIES.by_digest)
    assert again == picture
    successor = Shard(POLICIES, timelines=True)
    successor.restore(again)
    return successor


def play(*told: Told) -> Played:
    """Play events and all the deadlines after them."""
    return Played().tell(*told).end()


def of(entries: Iterable[dict[str, Any]], what: str) -> list[dict[str, Any]]:
    """Return the entries of one kind."""
    return [one for one in entries if one["what"] == what]


FOLDED = (
    Told("player.connected", -10, SESSION, source="/gateways/eu-1"),
    Told("turn.started", 0.25, TURN, 0.262, id="9f2c-1", source="/engines/ring-3"),
    Told(
        "player.disconnected", 7, {**SESSION, "reason": "ping-timeout"}, 7.04,
        id="g1-884", source="/gateways/eu-1",
    ),
    Told("player.connected", 48.1, RETURN, 49.1, id="g2-107", source="/gateways/eu-2"),
    Told("turn.acted", 49, PLAYED, 49.3, id="9f2c-2", source="/engines/ring-3"),
)  # fmt: skip
"""Away with money in a pot of 5.7 big blinds: the grace ends at 48.25; his return comes later."""
