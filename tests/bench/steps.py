"""What a step of a seat costs with each of `machines`, and what each seat of its own costs there.

The steps are those that a shard takes of the events of `simulation`, recorded once; whoever does
the work must leave the same seats behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from time import process_time
from unittest.mock import patch

from actors import policies, simulate
from actors.shards.shard import Shard
from statecharts import kernel
from statecharts.chart import TABLE
from statecharts.events import Event
from statecharts.kernel import Outcome
from statecharts.policy import Policy
from statecharts.seat import Seat
from statecharts.step import Interrupted, WakeUp
from statecharts.surroundings import Surroundings
from tests.bench import simulation
from tests.bench.machines import (
    Candidate,
    Copying,
    Decorated,
    Dispatch,
    Loop,
    Model,
    Nested,
    Other,
    Ours,
    Own,
    Recorded,
)
from tests.bench.rounds import Rounds, Run, no_collector, table, traced_bytes

EVENTS = 2_000
TABLES = 8
ROUNDS = 9
MODELS = 1_000
MACHINES = 20
REGISTERED = (1_000, 5_000, 10_000)
"""Beside how many decorated models the registration of more is timed."""
MORE = 200

FLOOR, OURS = "floor: copy the seat", "one shared flat Machine: ours"
CANDIDATES: dict[str, type[Candidate]] = {
    "floor: look up a function that does nothing": Dispatch,
    FLOOR: Copying,
    "the table in a plain loop, no library": Loop,
    OURS: Ours,
    "Machine, a decorated model per seat": Decorated,
    "HierarchicalMachine, one shared": Nested,
    "python-statemachine, a machine per seat": Own,
}


def measure() -> str:
    """Time the steps, weigh what is each seat's own, and time its making."""
    return f"{_steps()}\n{_seats()}"


def record(lines: Iterable[bytes]) -> list[Recorded]:
    """Play events in a shard and return the steps that it takes."""
    steps: list[Recorded] = []
    take = kernel.step

    def recording(
        seat: Seat,
        event: Event | WakeUp | Interrupted,
        at: int,
        reference: int,
        policy: Policy,
        around: Surroundings,
    ) -> Outcome:
        key = (seat.table_id, seat.number)
        steps.append(Recorded(key, event, at, reference, policy, around))
        return take(seat, event, at, reference, policy, around)

    with patch.object(kernel, "step", recording):
        for _ in simulate.outputs(lines, Shard(policies.bundled())):
            pass
    return steps


def _steps() -> str:
    steps = record(islice(simulation.lines(TABLES), EVENTS))
    keys = list(dict.fromkeys(one.seat for one in steps))
    candidates = {name: kind(keys) for name, kind in CANDIDATES.items()}
    _check(candidates.values(), steps)

    def ready(candidate: Candidate) -> Run:
        candidate.reset()
        return partial(candidate.run, steps)

    rounds = Rounds({name: partial(ready, one) for name, one in candidates.items()}, ROUNDS)
    return table(
        f"Steps: {len(steps):,} recorded ones of {len(keys)} seats, median of {ROUNDS} rounds",
        ("", "us/step", "x floor", "x ours"),
        (
            (
                name,
                f"{rounds.seconds(name) / len(steps) * 1e6:.2f}",
                f"{rounds.ratio(name, FLOOR):.1f}",
                f"{rounds.ratio(name, OURS):.2f}",
            )
            for name in candidates
        ),
    )


def _check(candidates: Iterable[Candidate], steps: list[Recorded]) -> None:
    """Make sure that all who do the work come to the same end."""
    workers = [one for one in candidates if isinstance(one, Ours | Other)]
    for worker in workers:
        worker.run(steps)
        if worker.dumps() != workers[0].dumps():
            who = type(worker).__name__
            raise AssertionError(f"{who}: not the seats that others have after the same steps")


def _seats() -> str:
    bare = traced_bytes(lambda: _models(MODELS)) / MODELS
    decorated = (traced_bytes(_registered) - traced_bytes(Decorated.made)) / MODELS
    made = Own.made()

    def machines() -> list[object]:
        return [made(model) for model in _models(MACHINES)]

    own, taken = traced_bytes(machines) / MACHINES, _taken(machines) / MACHINES
    told = table(
        "A seat of one's own: bytes by tracemalloc, and the time to make one more beside others",
        ("", "beside", "bytes", "us"),
        (
            ("floor: an object with an empty seat", "", f"{bare:,.0f}", ""),
            *(
                ("Machine, a decorated model", f"{beside:,}", f"{decorated:,.0f}", f"{us:,.0f}")
                for beside, us in _registrations()
            ),
            ("python-statemachine, a machine", "", f"{own:,.0f}", f"{taken * 1e6:,.0f}"),
        ),
    )
    seats = TABLES * len(simulation.SEATS)
    return (
        f"{told}  The table has {len(TABLE)} lines. Adding a model looks through all others;"
        f" ours adds nothing to a seat.\n"
        f"  What these cost is why only {seats} seats take the steps above.\n"
    )


def _models(number: int) -> list[Model]:
    return [Model(Seat("t", 1)) for _ in range(number)]


def _registered() -> object:
    machine = Decorated.made()
    machine.add_model(_models(MODELS))
    return machine


def _registrations() -> Iterator[tuple[int, float]]:
    """Yield how many models a machine has, and the microseconds that one more then takes."""
    machine = Decorated.made()
    for beside in REGISTERED:
        machine.add_model(_models(beside - len(machine.models)))
        taken = _taken(partial(machine.add_model, _models(MORE)))
        yield beside, taken / MORE * 1e6


def _taken(run: Callable[[], object]) -> float:
    with no_collector():
        began = process_time()
        run()
        return process_time() - began
