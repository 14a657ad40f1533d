"""The product with one of its safeguards taken out: each of these the simulation must catch.

`python -m tests.simulation.mutations` tells within how many seeds it does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

from actors.journal import Journal
from actors.journal.records import RECORD
from actors.memory import MemoryConsumer
from actors.memory.streams import Reader
from actors.transport import Delivery, Message
from actors.work.intake import Intake
from actors.work.lease import Lease
from tests.simulation import runs

ENOUGH = 300
"""Seeds within which each must be caught."""


@contextmanager
def _sent_before_written() -> Iterator[None]:
    """What is decided goes out before the journal has it."""
    commit = Lease._commit

    async def commits(lease: Lease, messages: list[Message]) -> None:
        for message in messages:
            await lease._work.connection.publish(message)
        await commit(lease, messages)

    with mock.patch.object(Lease, "_commit", commits):
        yield


@contextmanager
def _acknowledged_before_written() -> Iterator[None]:
    """Deliveries are acknowledged before the journal has what follows from them."""
    next_group = Lease._next_group

    def takes(lease: Lease) -> tuple[list[Delivery], list[Delivery]]:
        group, suspects = next_group(lease)
        consumer: Any = lease._consumer
        if (last := group[-1].tag) > 1:
            consumer._connection.send(
                partial(consumer._broker.acknowledge, multiple=True),
                consumer._connection,
                consumer._registered,
                last - 1,
            )
        return group, suspects

    acknowledge = MemoryConsumer.acknowledge

    async def acknowledges(consumer: MemoryConsumer, tag: int, *, multiple: bool = False) -> None:
        if isinstance(consumer._registered, Reader):  # of a shard's queue it has been done
            await acknowledge(consumer, tag, multiple=multiple)

    with (
        mock.patch.object(Lease, "_next_group", takes),
        mock.patch.object(MemoryConsumer, "acknowledge", acknowledges),
    ):
        yield


@contextmanager
def _confirmed_is_committed() -> Iterator[None]:
    """A record that the broker confirms is taken to count."""

    async def confirmed(journal: Journal, message: Message) -> None:
        await journal._publish(message)
        awaited = journal._awaited
        is_first = journal._checkpoint.wants_all_keys and not journal._keys
        if message.kind == RECORD and awaited and not awaited.read_back.done() and not is_first:
            awaited.read_back.set_result(0)

    def send(journal: Journal, message: Message) -> asyncio.Task[None]:
        task = asyncio.ensure_future(confirmed(journal, message))
        journal._publishing.add(task)
        task.add_done_callback(journal._published)
        return task

    with mock.patch.object(Journal, "_send", send):
        yield


@contextmanager
def _covered_is_forgotten() -> Iterator[None]:
    """What comes again is taken again, whatever the journal says of it."""
    take = Intake.take

    def takes(intake: Intake, delivery: Delivery, *arguments: Any) -> list[Message]:
        return take(intake, replace(delivery, redelivered=False), *arguments)

    with mock.patch.object(Intake, "take", takes):
        yield


@contextmanager
def _fired_by_the_clock() -> Iterator[None]:
    """Deadlines fire when the clock says so, whatever waits in the queue."""
    notice = Intake.notice_interruption

    def notices(intake: Intake, arrival: int, now: int) -> list[Message]:
        told = notice(intake, arrival, now)
        return [*told, *intake._told(intake.shard.fire(now, now))]

    with mock.patch.object(Intake, "notice_interruption", notices):
        yield


@contextmanager
def _interruptions_unnoticed() -> Iterator[None]:
    """A silence of ours counts against the players."""

    def notices(intake: Intake, arrival: int, _: int) -> list[Message]:
        intake.sign_of_life = intake.sign_of_life or arrival
        return []

    with mock.patch.object(Intake, "notice_interruption", notices):
        yield


class Mutation(NamedTuple):
    """What is taken out, and the faults that lead there soonest."""

    made: Callable[[], Any]
    kinds: tuple[str, ...]


MUTATIONS = {
    "sent before written": Mutation(_sent_before_written, ("crash at a step", "cut")),
    "acknowledged before written": Mutation(_acknowledged_before_written, ("crash at a step",)),
    "confirmed is committed": Mutation(_confirmed_is_committed, ("overtake",)),
    "covered is forgotten": Mutation(_covered_is_forgotten, ("return unnoticed", "usurp")),
    "fired by the clock": Mutation(_fired_by_the_clock, ("crash", "freeze")),
    "interruptions unnoticed": Mutation(_interruptions_unnoticed, ("crash", "stop the broker")),
}


def caught(name: str, seeds: int = ENOUGH) -> tuple[int, str] | None:
    """Return after how many seeds a mutation is caught, and by what; None if it is not."""
    made, kinds = MUTATIONS[name]
    with made():
        for seed in range(seeds):
            if failures := runs.run(seed, kinds).failures:
                return seed + 1, failures[0]
    return None


if __name__ == "__main__":
    for mutation in MUTATIONS:
        found = caught(mutation)
        told = f"after {found[0]} seeds: {found[1][:300]}" if found else "NOT CAUGHT"
        print(f"{mutation}: {told}", flush=True)  # noqa: T201
