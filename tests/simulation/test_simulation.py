"""Thousands of runs in which everything goes wrong, and what must hold after each of them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.simulation import mutations, runs

SEEDS = int(os.environ.get("SIMULATION_SEEDS", "1500"))
IN_ANOTHER_PROCESS = """
from tests.simulation import runs
print([runs.run(seed).digest for seed in range(40, 46)])
"""


def test_no_seed_fails() -> None:
    failures = [
        f"seed {result.seed}: {result.failures[:3]}"
        for result in runs.many(range(SEEDS))
        if result.failures
    ]
    assert not failures, "\n".join(failures)


def test_a_seed_replays_exactly_in_another_process_too() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", IN_ANOTHER_PROCESS],
            env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert told == {f"{[runs.run(seed).digest for seed in range(40, 46)]}\n"}


@pytest.mark.parametrize("name", mutations.MUTATIONS)
def test_it_can_fail(name: str) -> None:
    assert mutations.caught(name) is not None
