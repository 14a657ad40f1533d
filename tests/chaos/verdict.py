"""What should have been decided, and what was: missing, doubled, different.

The same events, with their arrivals, go through a shard in virtual time, with the interruptions
that the journals tell of, and without.  With the broker's stamps there is one answer; without them
an arrival lies between the event's own time and when it was received, and either answer is right.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from actors import policies
from actors.intake import key_of
from actors.shard import Shard
from actors.slots import routing_key
from actors.topology import EVENTS
from actors.transport import Delivery
from statecharts.decisions import DecisionMade
from statecharts.events import Event, decode
from statecharts.instants import SECOND, from_rfc3339
from statecharts.surroundings import Interruption
from tests.chaos.crowd import Crowd, Heard, Turn
from tests.chaos.journals import Journals
from tests.chaos.plans import POLICY

MAX_CLOCK_LAG = 2 * SECOND
CLOSE = SECOND // 10
"""Arrivals of different queues, and so deadlines that hang on them, may be so far apart."""
SLOW = SECOND // 2
"""So much later than the crowd a worker on a busy machine may read an event."""
FOR_EVER = 1 << 62


class Decision(NamedTuple):
    """What a decision says, as far as it must be the same."""

    action: str
    rule: str
    deadline: int


@dataclass
class Verdict:
    """Turns, and what is wrong with them, one line for each."""

    turns: int
    decisions: int = 0
    again: int = 0
    """Copies of decisions beyond the first, with the same bytes."""
    moved: int = 0
    """Turns whose deadline an interruption has moved."""
    missing: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Missing, doubled, different."""
        return len(self.missing), len(self.doubled), len(self.different)

    @property
    def faults(self) -> list[str]:
        """All that is wrong."""
        return [
            *(f"missing: {one}" for one in self.missing),
            *(f"doubled: {one}" for one in self.doubled),
            *(f"different: {one}" for one in self.different),
        ]


def judge(crowd: Crowd, journals: Journals, *, stamps: bool) -> Verdict:
    """Compare what a crowd was told with what it should have been told."""
    moved = _moved(crowd)
    verdict = Verdict(len(crowd.turns), moved=len(moved))
    replays = _replays(crowd, journals, stamps=stamps)
    for name, turn in crowd.turns.items():
        verdict.decisions += bool(turn.decisions)
        verdict.again += max(0, len(turn.decisions) - 1)
        if len({(copy.id, copy.body) for copy in turn.decisions}) > 1:
            verdict.doubled.append(f"{name} ({turn.plan.kind}): {turn.decisions}")
        replayed = replays.get(turn.plan.table, _Replays([{}], [{}], [{}]))
        chosen = replayed.exact or replayed.possible
        if turn.repeated:  # which of several copies was taken when, is not known
            chosen = [*replayed.exact, *replayed.possible]
        allowed = list({replay.get(name) for replay in chosen})
        undisturbed = [replay.get(name) for replay in replayed.undisturbed]
        _compare(verdict, turn, allowed, undisturbed)
    verdict.doubled += _said_differently(crowd)
    return verdict


def _compare(
    verdict: Verdict,
    turn: Turn,
    allowed: Sequence[Decision | None],
    undisturbed: Sequence[Decision | None],
) -> None:
    told = f"{turn.plan.turn} ({turn.plan.kind})"
    came = _decision(turn.decisions[0].body) if turn.decisions else None
    if came is None:
        if None not in allowed:
            verdict.missing.append(f"{told}: {allowed}")
        return
    alike = [one.deadline for one in allowed if one and one[:2] == came[:2]]
    if not alike or not min(alike) - CLOSE <= came.deadline <= max(alike) + CLOSE:
        verdict.different.append(f"{told}: {came} instead of {allowed}")
    if None not in undisturbed:
        earliest = min(one.deadline for one in undisturbed if one is not None)
        if came.deadline < earliest - CLOSE:
            verdict.different.append(f"{told}: {came} earlier than undisturbed, {undisturbed}")


def _decision(body: bytes) -> Decision:
    data = json.loads(body)["data"]
    return Decision(data["action"], data["rule"], from_rfc3339(data["deadline"]))


def _moved(crowd: Crowd) -> set[str]:
    changes = [json.loads(copy.body)["data"] for copy in crowd.outputs["seat.changed"]]
    return {data["turn_id"] for data in changes if data["trigger"] == "interruption"}


def _said_differently(crowd: Crowd) -> Iterator[str]:
    """Find what two minds have said: one number of one seat, and not the same bytes."""
    said: dict[tuple[str, int, int], set[bytes]] = defaultdict(set)
    for copies in crowd.outputs.values():
        for copy in copies:
            data = json.loads(copy.body)["data"]
            if "seq" in data:
                said[data["table_id"], data["seat"], data["seq"]].add(copy.body)
    for key, bodies in said.items():
        if len(bodies) > 1:
            yield f"{key}: {bodies}"


# -- Virtual time


class _Replays(NamedTuple):
    """What one table might have been told, by turn; None: nothing."""

    exact: Sequence[Mapping[str, Decision]]
    """With the very arrivals that the service has used."""
    possible: Sequence[Mapping[str, Decision]]
    undisturbed: Sequence[Mapping[str, Decision]]


def _replays(crowd: Crowd, journals: Journals, *, stamps: bool) -> Mapping[str, _Replays]:
    tables: dict[str, list[tuple[Heard, Event]]] = defaultdict(list)
    for heard in crowd.heard:
        event = decode(heard.body)
        tables[event.table_id].append((heard, event))
    shards = range(journals.layout.shards)
    interruptions = [journals.interruptions(shard) for shard in shards]
    places = [journals.places(shard) for shard in shards]
    arrivals = [journals.arrivals(shard) for shard in shards]
    decided = {
        turn.plan.table: turn.decisions[0].id for turn in crowd.turns.values() if turn.decisions
    }
    replays = {}
    for table, told in tables.items():
        events = [event for _, event in told]
        shard = journals.layout.shard_of(table)
        # What was noticed after the decision had no part in it.
        until = places[shard].get(decided.get(table, ""), FOR_EVER)
        before = [one for place, one in interruptions[shard] if place <= until]
        exact = [[(one.stamp_in_ms or 0) * 1000 for one, _ in told]] if stamps else []
        possible = [_journaled(table, told, arrivals[shard]), *_possible(told)]
        replays[table] = _Replays(
            [_played(events, each, before) for each in exact],
            [_played(events, each, before) for each in possible],
            [_played(events, each, []) for each in exact or possible],
        )
    return replays


def _journaled(
    table: str, told: Sequence[tuple[Heard, Event]], arrivals: Mapping[str, list[dict[str, int]]]
) -> Sequence[int]:
    """Return the arrivals by the journal, as far as they lie where they may."""
    found, copies = [], Counter[bytes]()
    for heard, event in told:
        key = key_of(Delivery(1, EVENTS, routing_key(table), heard.body))
        covered = arrivals.get(key) or [{}]
        touched = covered[min(copies[heard.body], len(covered) - 1)]
        copies[heard.body] += 1
        found.append(max(touched.get(table, heard.received), event.stamp))
    return found


def _possible(told: Sequence[tuple[Heard, Event]]) -> Iterator[Sequence[int]]:
    """Yield arrivals: some at the events' own time, the rest when they were received."""
    own = [min(event.stamp, heard.received) for heard, event in told]
    received = [heard.received for heard, _ in told]
    yield from (own, received, [each + SLOW for each in received])
    if all(b - a < CLOSE for a, b in zip(own, received, strict=True)):
        return
    for many in range(len(told) + 1):
        yield [*own[:many], *received[many:]]
        yield [*received[:many], *own[many:]]
    for tenth in range(1, 10):
        yield [a + (b - a) * tenth // 10 for a, b in zip(own, received, strict=True)]


def _played(
    events: Sequence[Event], arrivals: Sequence[int], interruptions: Sequence[Interruption]
) -> Mapping[str, Decision]:
    shard = Shard(_POLICIES, max_clock_lag=MAX_CLOCK_LAG)
    outputs, now, left = [], 0, sorted(interruptions, key=lambda one: one.start)

    def interrupt(before: int) -> None:
        # What the service reads after an interruption finds the deadlines moved already, even if
        # it has arrived before the end of it.
        while left and left[0].start < before:
            one = left.pop(0)
            outputs.extend(shard.fire(one.start))
            outputs.extend(shard.interrupt(one, one.start))

    for event, arrival in zip(events, arrivals, strict=True):
        now = max(now, arrival)
        interrupt(now)
        outputs.extend(shard.fire(now))
        outputs.extend(shard.apply(event, now).outputs)
    interrupt(FOR_EVER)
    outputs.extend(shard.fire(FOR_EVER))
    assert not shard.faults, shard.faults
    return {
        output.turn_id: Decision(output.action.value, output.rule.value, output.at)
        for output in outputs
        if isinstance(output, DecisionMade)
    }


_POLICIES = policies.find(str(POLICY))


def kinds(crowd: Crowd) -> Counter[str]:
    """Count the turns by their kind and what came of them, to look at."""
    return Counter(
        f"{turn.plan.kind}: {_decision(turn.decisions[0].body)[:2] if turn.decisions else None}"
        for turn in crowd.turns.values()
    )
