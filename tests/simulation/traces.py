"""What the shards did, step by step, and which record of the journal says so.

The oracle believes what a record that counts stands for: the steps taken since the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from actors.shards.shard import Applied, Shard
from actors.transport import Message
from actors.work.lease import Lease
from statecharts.decisions import Output
from statecharts.events import Event
from statecharts.surroundings import Interruption
from tests.simulation.loop import PROCESS


@dataclass(frozen=True, slots=True)
class Took:
    """An event was applied."""

    event: str
    arrival: int


@dataclass(frozen=True, slots=True)
class Fired:
    """Every deadline before an instant was fired."""

    before: int


@dataclass(frozen=True, slots=True)
class Noticed:
    """An interruption was noticed."""

    interruption: Interruption
    at: int


Act = Took | Fired | Noticed
RecordKey = tuple[str, int, int]
"""A journal, an epoch, a number."""


@dataclass(slots=True)
class Traces:
    """All that was noted in one run."""

    acts: dict[RecordKey, list[Act]] = field(default_factory=dict)
    covers: dict[RecordKey, int] = field(default_factory=dict)
    """How many keys a record covers that no record before it did."""
    leases: dict[str, list[tuple[Lease, str]]] = field(default_factory=dict)
    """By journal, in order: the leases, each with its process."""
    on_write: dict[str, Callable[[], None]] = field(default_factory=dict)
    """For a process: what to do, once, when it begins to write what events have led to."""
    on_decide: dict[str, Callable[[], None]] = field(default_factory=dict)
    """The same, when it begins to write a decision."""


class TracedShard(Shard):
    """A shard that notes what it does."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.acts: list[Act] = []

    def apply(self, event: Event, arrival: int, made: int | None = None) -> Applied:
        self.acts.append(Took(event.id, arrival))
        return super().apply(event, arrival, made)

    def fire(self, before: int, made: int | None = None) -> list[Output]:
        self.acts.append(Fired(before))
        return super().fire(before, made)

    def interrupt(self, interruption: Interruption, at: int) -> list[Output]:
        self.acts.append(Noticed(interruption, at))
        return super().interrupt(interruption, at)


@contextmanager
def traced() -> Iterator[Traces]:
    """Note what all leases do from now on."""
    traces = Traces()
    begin, commit = Lease._begin, Lease._commit

    def begins(lease: Lease, *arguments: Any) -> None:
        begin(lease, *arguments)
        traces.leases.setdefault(lease._journal._stream, []).append((lease, PROCESS.get()))

    async def commits(lease: Lease, messages: list[Message]) -> None:
        shard, journal = lease._intake.shard, lease._journal
        assert isinstance(shard, TracedShard)
        assert journal.epoch is not None
        key = journal._stream, journal.epoch, journal._number + 1
        traces.acts[key], traces.covers[key] = shard.acts, len(lease._intake._group)
        if any(isinstance(act, Took) for act in shard.acts):
            traces.on_write.pop(PROCESS.get(), _nothing)()
        if any(message.routing_key.startswith("decision.made") for message in messages):
            traces.on_decide.pop(PROCESS.get(), _nothing)()
        shard.acts = []
        await commit(lease, messages)

    with (
        mock.patch("actors.work.lease.Shard", TracedShard),
        mock.patch.object(Lease, "_begin", begins),
        mock.patch.object(Lease, "_commit", commits),
    ):
        yield traces


def _nothing() -> None:
    """Nothing is to be done."""
