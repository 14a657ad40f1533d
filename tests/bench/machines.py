"""The candidates for one step of a seat: the one shared machine, and what libraries offer.

All are built from the same table with the same guards and effects, so what differs is who finds the
line that applies, and whether each seat has a machine, or a decorated model, of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

from statemachine import State as LibraryState
from statemachine import StateMachine
from transitions import Machine
from transitions.extensions import HierarchicalMachine
from transitions.extensions.nesting import NestedState

from actors.shards.deadlines import SeatKey
from statecharts import kernel
from statecharts.chart import OPEN, PRESENCE, TABLE
from statecharts.events import Event
from statecharts.guards import holds
from statecharts.kernel import Outcome

# What the kernel does around its machine, and when a line applies, is the same for all of them.
from statecharts.kernel import _apply as applying
from statecharts.kernel import _write_down as write_down
from statecharts.lines import Line, Row, State, Trigger
from statecharts.policy import Policy
from statecharts.seat import Seat, dump
from statecharts.step import Interrupted, Step, WakeUp
from statecharts.surroundings import Surroundings

METHODS = {trigger: trigger.value.replace(".", "_") for trigger in Trigger}
LINES = sorted(TABLE, key=lambda line: not isinstance(line, Row))
"""In the order in which the kernel asks for them."""


class Recorded(NamedTuple):
    """The arguments of one step."""

    seat: SeatKey
    event: Event | WakeUp | Interrupted
    at: int
    reference: int
    policy: Policy
    around: Surroundings


def guard_of(line: Line) -> Callable[[Step], bool]:
    """Return the line's guard in the form that the libraries call."""
    when = line.when

    def guard(draft: Step) -> bool:
        return holds(draft, when)

    return guard


def target_of(line: Line) -> State | None:
    """Return the state that a line leads to, None where it stays."""
    return line.target if isinstance(line, Row) else None


class Candidate(ABC):
    """Seats, and a way to take a step with one of them."""

    def __init__(self, keys: Iterable[SeatKey]) -> None:
        self.keys = tuple(keys)
        self.reset()

    def reset(self) -> None:
        """Begin with empty seats again."""
        self.seats = {key: Seat(*key) for key in self.keys}

    @abstractmethod
    def step(self, one: Recorded) -> None:
        """Take one step."""

    def run(self, steps: Iterable[Recorded]) -> None:
        step = self.step
        for one in steps:
            step(one)

    def dumps(self) -> dict[SeatKey, Any]:
        return {key: dump(seat) for key, seat in self.seats.items()}


class Dispatch(Candidate):
    """A floor: a function, looked up by the trigger, that does nothing."""

    def reset(self) -> None:
        super().reset()
        self.handlers: dict[Trigger, Callable[[Seat], None]] = dict.fromkeys(Trigger, _nothing)

    def step(self, one: Recorded) -> None:
        self.handlers[one.event.name](self.seats[one.seat])


def _nothing(_: Seat) -> None:
    pass


class Copying(Candidate):
    """The floor of what is all or nothing: the seat is copied, and the copy put in its place."""

    def step(self, one: Recorded) -> None:
        self.seats[one.seat] = self.seats[one.seat].copy()


class Ours(Candidate):
    """The product's own step."""

    def step(self, one: Recorded) -> None:
        key, event, at, reference, policy, around = one
        self.seats[key] = kernel.step(self.seats[key], event, at, reference, policy, around).seat


class Other(Candidate):
    """The kernel's step, with another machine in it."""

    @abstractmethod
    def trigger(self, key: SeatKey, draft: Step) -> object:
        """Have the line that applies applied."""

    def step(self, one: Recorded) -> None:
        key, event, at, reference, policy, around = one
        seat = self.seats[key]
        draft = Step(seat.copy(), event, at, reference, policy, around, around.table)
        if event.name in PRESENCE:
            write_down(draft)
        lines: list[Line] = []
        while True:
            self.trigger(key, draft)
            line = draft.line
            assert line is not None
            lines.append(line)
            if not isinstance(line, Row):
                self.seats[key] = Outcome(seat, tuple(lines)).seat
                return
            if not line.again:
                self.seats[key] = Outcome(draft.seat, tuple(lines), tuple(draft.outputs)).seat
                return


class Loop(Other):
    """No library: the lines of a cell, asked one after the other."""

    def __init__(self, keys: Iterable[SeatKey]) -> None:
        super().__init__(keys)
        self.cells: dict[tuple[State, Trigger], list[Any]] = {}
        for line in LINES:
            entry = (guard_of(line), target_of(line), applying(line))
            self.cells.setdefault((line.source, line.trigger), []).append(entry)

    def trigger(self, key: SeatKey, draft: Step) -> None:  # noqa: ARG002 - no seat has its own
        for guard, target, apply in self.cells[draft.seat.state, draft.event.name]:
            if guard(draft):
                if target is not None:
                    draft.seat.state = target
                apply(draft)
                return


class Model:
    """What a library decorates, or is bound to: one for each seat, as long as that lives.

    No dataclass: `transitions` silently leaves out models that compare equal.
    """

    def __init__(self, seat: Seat) -> None:
        self.seat = seat

    @property
    def state(self) -> State:
        return self.seat.state

    @state.setter
    def state(self, value: State) -> None:
        self.seat.state = value


class Decorated(Other):
    """`transitions.Machine` as it is mostly used: each seat's model is added and gets methods."""

    def __init__(self, keys: Iterable[SeatKey]) -> None:
        super().__init__(keys)
        self.machine = self.made()
        self.models = {key: Model(seat) for key, seat in self.seats.items()}
        self.machine.add_model(list(self.models.values()))

    @staticmethod
    def made() -> Machine:
        machine = Machine(model=None, states=State, initial=State.IDLE, auto_transitions=False)
        for line in LINES:
            machine.add_transition(
                METHODS[line.trigger], line.source, target_of(line),
                conditions=[guard_of(line)], after=[applying(line)],
            )  # fmt: skip
        return machine

    def trigger(self, key: SeatKey, draft: Step) -> None:
        model = self.models[key]
        model.seat = draft.seat
        getattr(model, METHODS[draft.event.name])(draft)


class _PathState(NestedState):
    separator = "/"  # the library's own, _, stands in the names of our states


class _PathMachine(HierarchicalMachine):
    state_cls = _PathState


PATHS = {state: f"open/{state.value}" if state in OPEN else state.value for state in State}
STATES = {path: state for state, path in PATHS.items()}


class Nested(Other):
    """`HierarchicalMachine`, shared by all seats: the states with an open turn are nested in one.

    What holds for all of these alike is written once, at their parent.
    """

    def __init__(self, keys: Iterable[SeatKey]) -> None:
        super().__init__(keys)
        self.draft: Step | None = None
        self.source = State.IDLE
        self.machine = _PathMachine(
            model=None,
            states=[
                {"name": "open", "children": [state.value for state in OPEN]},
                *(state.value for state in State if state not in OPEN),
            ],
            initial=State.IDLE.value,
            auto_transitions=False,
        )
        for source, lines in _inherited():
            target = target_of(lines[0])
            self.machine.add_transition(
                METHODS[lines[0].trigger], source, None if target is None else PATHS[target],
                conditions=[guard_of(lines[0])], after=[self._applying(lines)],
            )  # fmt: skip

    @property
    def state(self) -> str:
        """The library's view of the state: `Nested` itself is its only model."""
        assert self.draft is not None
        return PATHS[self.draft.seat.state]

    @state.setter
    def state(self, path: str) -> None:
        assert self.draft is not None
        self.draft.seat.state = STATES[path]

    def trigger(self, key: SeatKey, draft: Step) -> None:  # noqa: ARG002 - no seat has its own
        self.draft, self.source = draft, draft.seat.state
        self.machine.trigger_event(self, METHODS[draft.event.name], draft)

    def _applying(self, lines: list[Line]) -> Callable[[Step], None]:
        by_source = {line.source: applying(line) for line in lines}

        def apply(draft: Step) -> None:
            by_source[self.source](draft)

        return apply


def _inherited() -> Iterable[tuple[str, list[Line]]]:
    """Yield each source with its line, and `open` with the lines that all states in it share."""
    alike: dict[tuple[str, Trigger], list[Line]] = {}
    for line in LINES:
        alike.setdefault((line.id.partition(":")[0], line.trigger), []).append(line)
    for lines in alike.values():
        shared = [line for line in lines if line.source in OPEN]
        if len(shared) == len(OPEN):
            yield "open", shared
        for line in lines:
            if line not in shared or len(shared) < len(OPEN):
                yield PATHS[line.source], [line]


class Own(Other):
    """`python-statemachine`: each seat has a machine of its own."""

    def __init__(self, keys: Iterable[SeatKey]) -> None:
        super().__init__(keys)
        made = self.made()
        self.machines = {key: made(Model(seat)) for key, seat in self.seats.items()}

    @staticmethod
    def made() -> type[StateMachine]:
        states = {
            state: LibraryState(initial=state is State.IDLE, value=state, name=state.value)
            for state in State
        }
        members: dict[str, Any] = {state.value: states[state] for state in State}
        for line in LINES:
            target = target_of(line)
            transition = states[line.source].to(
                states[line.source if target is None else target],
                internal=target is None,
                cond=guard_of(line),
                after=applying(line),
            )
            event = METHODS[line.trigger]
            members[event] = members[event] | transition if event in members else transition
        metaclass = cast("Callable[..., type[StateMachine]]", type(StateMachine))
        return metaclass("SeatMachine", (StateMachine,), members)

    def trigger(self, key: SeatKey, draft: Step) -> None:
        machine = self.machines[key]
        machine.model.seat = draft.seat
        getattr(machine, METHODS[draft.event.name])(draft)
