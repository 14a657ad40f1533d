"""`python -m tests.simulation`: as many seeds as you like, or one again."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.simulation import runs


def main() -> int:
    """Run what the command line says; 1 if anything fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10_000, help="how many to run")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first of them")
    parser.add_argument("--seed", type=int, help="run this one alone")
    parser.add_argument("--verbose", action="store_true", help="with --seed: tell all that happens")
    told = parser.parse_args()
    if told.seed is not None:
        return _one(told.seed, verbose=told.verbose)
    return _many(range(told.first, told.first + told.seeds))


def _one(seed: int, *, verbose: bool) -> int:
    result = runs.run(seed, verbose=verbose)
    _fail(result)
    _say(f"seed {seed}: {result.steps} steps, digest {result.digest}, faults {result.faults}")
    return bool(result.failures)


def _many(seeds: range) -> int:
    begun = time.monotonic()
    faults: Counter[str] = Counter()
    failed: list[int] = []
    steps = decisions = 0
    for done, result in enumerate(runs.many(seeds), 1):
        if done % 500 == 0:
            _say(f"{done} seeds after {time.monotonic() - begun:.0f} s, failed: {len(failed)}")
        faults += result.faults
        steps += result.steps
        decisions += result.decisions
        if result.failures:
            failed.append(result.seed)
            _fail(result)
    told = f"{len(seeds)} seeds, {steps} steps, {decisions} decisions published"
    _say(f"{told}, {time.monotonic() - begun:.0f} s")
    _say("faults: " + ", ".join(f"{kind} {count}" for kind, count in faults.most_common()))
    _say(f"failed: {failed or 'none'}")
    return bool(failed)


def _fail(result: runs.Result) -> None:
    for failure in result.failures[:5]:
        _say(f"seed {result.seed} FAILED: {failure}")
    if result.failures:
        _say(f"  again: python -m tests.simulation --verbose --seed {result.seed}")


def _say(what: str) -> None:
    print(what, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
