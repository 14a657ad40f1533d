"""Many seeds, on all cores."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from tests.simulation import plan, world
from tests.simulation.oracle import Oracle


@dataclass(slots=True)
class Result:
    """What one seed has come to."""

    seed: int
    failures: list[str]
    faults: Counter[str] = field(default_factory=Counter)
    digest: str = ""
    steps: int = 0
    decisions: int = 0


def run(seed: int, kinds: tuple[str, ...] = plan.KINDS, *, verbose: bool = False) -> Result:
    """Run one seed, with faults of some kinds, and judge it."""
    ran = world.run(plan.make(seed, kinds), verbose=verbose)
    oracle = Oracle(ran)
    failures = oracle.judge()
    decided = sum(
        taken.message.routing_key.startswith("decision.made.")
        for taken in ran.broker.history[world.BACKEND]
    )
    return Result(
        seed, failures, ran.faults, ran.digest, ran.steps, decided
    )  # fmt: skip


def many(seeds: Iterable[int]) -> Iterator[Result]:
    """Run seeds, in any order."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(mp_context=context) as pool:
        yield from pool.map(run, seeds, chunksize=10)
