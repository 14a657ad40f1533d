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
from actors.broker.slots import routing_key
from actors.broker.topology import EVENTS
from actors.shards.shard import Shard
from actors.transport import Delivery
from actors.work.intake import key_of
from statecharts.decisions import DecisionMade
from statecharts.events import Event, decode
from statecharts.instants import SECOND, from_rfc3339
from statecharts.surroundings import Interruption
from tests.chaos.crowd import Crowd, Heard, Turn
from tests.chaos.journals import Journals, Noticed
from tests.chaos.plans import POLICY

MAX_CLOCK_LAG = 2 * SECOND
CLOSE = SECOND // 10
"""Arrivals of different queues, and so deadlines that hang on them, may be so far apart."""
SLOW = SECOND // 2
"""So much later than the crowd a worker on a busy machine may read an event."""
TICK = SECOND
"""So far behind the last event the last tick may have arrived."""
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
    histories = _histories(crowd, journals, stamps=stamps)
    for name, turn in crowd.turns.items():
        verdict.decisions += bool(turn.decisions)
        verdict.again += max(0, len(turn.decisions) - 1)
        told = f"{name} ({turn.plan.kind})"
        if len({(copy.id, copy.body) for copy in turn.decisions}) > 1:
            verdict.doubled.append(f"{told}: {turn.decisions}")
        fault = _fault(turn, histories.get(turn.plan.table, _NOTHING), stamps=stamps)
        if fault:
            wrong = verdict.different if turn.decisions else verdict.missing
            wrong.append(f"{told}: {fault}")
    verdict.doubled += _said_differently(crowd)
    return verdict


def _fault(turn: Turn, history: "_History", *, stamps: bool) -> str | None:
    """Return what is wrong with what was decided, if anything.

    Without stamps, or when an event was published again, more than one answer may be right; and so
    where an interruption was noticed.  What is the usual answer is tried first.
    """
    arrivals, cuts = [history.arrivals], [*_cuts(history)] if history.interruptions else [[]]
    fault = _compared(turn, history, arrivals, cuts)
    if fault and (not stamps or turn.repeated):
        arrivals += _possible(history.told)
        fault = _compared(turn, history, arrivals, cuts)
    if fault and history.interruptions:
        fault = _compared(turn, history, [history.arrivals], [*cuts, *_later_cuts(history)])
    return fault


def _compared(
    turn: Turn,
    history: "_History",
    arrivals: Sequence[Sequence[int]],
    cuts: Sequence["_Cut"],
) -> str | None:
    name = turn.plan.turn
    allowed = {_played(history.events, each, cut).get(name) for each in arrivals for cut in cuts}
    if not turn.decisions:
        return None if None in allowed else f"{allowed}"
    came = _decision(turn.decisions[0].body)
    alike = [one.deadline for one in allowed if one and one[:2] == came[:2]]
    if not alike or not min(alike) - CLOSE <= came.deadline <= max(alike) + CLOSE:
        return f"{came} instead of {allowed}"
    undisturbed = [_played(history.events, each, []).get(name) for each in arrivals]
    earliest = min((one.deadline if one else 0 for one in undisturbed), default=0)
    if came.deadline < earliest - CLOSE:
        return f"{came} earlier than undisturbed, {undisturbed}"
    return None


_Cut = Sequence[tuple[int, Interruption]]
"""When each interruption was noticed: until then deadlines fire."""


def _cuts(history: "_History") -> "Iterator[_Cut]":
    """Yield it at the start of each, and at the tick that was late."""
    noticed = history.interruptions
    yield [(one.interruption.start, one.interruption) for one in noticed]
    yield [(one.fired, one.interruption) for one in noticed]
    yield [(one.fired + TICK, one.interruption) for one in noticed]


def _later_cuts(history: "_History") -> "Iterator[_Cut]":
    """Yield it after any event that arrived in the silence."""
    for arrival in history.arrivals:
        yield [
            (min(max(one.start, arrival + 1), one.end), one)
            for one in (each.interruption for each in history.interruptions)
        ]


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


class _History(NamedTuple):
    """What happened at one table."""

    told: Sequence[tuple[Heard, Event]]
    arrivals: Sequence[int]
    """By the broker's stamps, or by the journal."""
    interruptions: Sequence[Noticed]
    """Those that were noticed before the decision: others had no part in it."""

    @property
    def events(self) -> Sequence[Event]:
        return [event for _, event in self.told]


_NOTHING = _History([], [], [])


def _histories(crowd: Crowd, journals: Journals, *, stamps: bool) -> Mapping[str, _History]:
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
    histories = {}
    for table, told in tables.items():
        shard = journals.layout.shard_of(table)
        until = places[shard].get(decided.get(table, ""), FOR_EVER)
        came = (
            [(one.stamp_in_ms or 0) * 1000 for one, _ in told]
            if stamps
            else _journaled(table, told, arrivals[shard])
        )
        kept = [*_first_and_last(told)]
        histories[table] = _History(
            [told[place] for place in kept],
            [came[place] for place in kept],
            [one for one in interruptions[shard] if one.place <= until],
        )
    return histories


def _first_and_last(told: Sequence[tuple[Heard, Event]]) -> Iterator[int]:
    """Yield the places of all but the copies between the first and the last of the same bytes.

    While a queue has no leader an event is published again and again; once it is taken, the rest
    is nothing new.
    """
    bodies = [heard.body for heard, _ in told]
    first = {body: place for place, body in reversed([*enumerate(bodies)])}
    last = {body: place for place, body in enumerate(bodies)}
    for place, body in enumerate(bodies):
        if place in (first[body], last[body]):
            yield place


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
    events: Sequence[Event],
    arrivals: Sequence[int],
    interruptions: _Cut,
) -> Mapping[str, Decision]:
    shard = Shard(_POLICIES, max_clock_lag=MAX_CLOCK_LAG)
    outputs, now, left = [], 0, sorted(interruptions)

    def interrupt(before: int) -> None:
        # What the service reads after an interruption finds the deadlines moved already, even if
        # it has arrived before the end of it.
        while left and left[0][0] < before:
            at, one = left.pop(0)
            outputs.extend(shard.fire(at))
            outputs.extend(shard.interrupt(one, at))

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
