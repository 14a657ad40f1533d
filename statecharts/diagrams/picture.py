"""The one intermediate form that every picture is drawn from: the table's changes of state.

Three things are done so that it can be read, and each follows from the table alone.  What happens
in every open state alike, and the answer for one who has said that he is away, leaves from the box
around them.  What is asked at the turn end, in the
same words after the turn time and after the time bank, is drawn once, behind a diamond.  And all
that leads from one place to another is one edge with several cases.  Lines that keep the state are
no edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from statecharts.chart import CONNECTION, CONNECTION_STATES, OPEN, STATES, TABLE
from statecharts.diagrams.words import happening, told
from statecharts.lines import Line, Row, State, Trigger, When

OPEN_TURN = "open_turn"
"""The box around the states in which nothing is decided yet."""
TURN_END = "turn_end"
"""The diamond."""


class Kind(StrEnum):
    """What an edge is to the player."""

    TURN = "turn"
    BACK = "back"
    DECISION = "decision"
    OFF = "off"


KINDS: Mapping[Kind, str] = {
    Kind.TURN: "the way of the turn",
    Kind.BACK: "a way back to the player",
    Kind.DECISION: "a decision for the player: action · rule",
    Kind.OFF: "the turn is off, or the engine's",
}
"""The legend."""


@dataclass(frozen=True, slots=True)
class Case:
    """One way along an edge: what happens, under which conditions, what is decided."""

    happens: str
    conditions: tuple[str, ...]
    decides: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """From one node to another; a node is a state, the box `open_turn`, or a diamond."""

    source: str
    target: str
    kind: Kind
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Region:
    """A title, the states with their captions, and the edges between them."""

    title: str
    states: Mapping[str, str]
    edges: tuple[Edge, ...]
    diamonds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    """The two regions of a seat; `open_states` are those of the turn that the box is around."""

    connection: Region
    turn: Region
    open_states: tuple[str, ...]


def picture(table: Iterable[Line] = TABLE) -> Picture:
    """Return what there is to draw."""
    rows = tuple(line for line in table if isinstance(line, Row))
    junctions = _junctions(rows)
    edges = (*_direct(rows, junctions), *_turn_ends(junctions))
    links = (
        Edge(link.source, link.target, Kind.TURN, (Case(link.when, ()),)) for link in CONNECTION
    )
    return Picture(
        connection=Region("The player's connection", CONNECTION_STATES, tuple(links)),
        turn=Region(
            "The player's turn",
            {state.value: caption for state, caption in STATES.items()},
            _merged(_boxed(edges)),
            tuple(junctions.values()),
        ),
        open_states=tuple(state.value for state in OPEN),
    )


# -- The turn end


Answers = tuple[tuple[str, str | tuple[str, ...]], ...]
Asked = tuple[tuple[Answers, State | None, str], ...]
"""What is asked at a turn end, apart from what all its lines have in common."""


def _junctions(rows: tuple[Row, ...]) -> Mapping[Asked, str]:
    """Return a diamond for each different set of lines that ask at a deadline for the grace."""
    found: dict[Asked, str] = {}
    for state in State:
        asked = _asked(_at_turn_end(rows, state))
        if asked and asked not in found:
            found[asked] = f"{TURN_END}_{len(found) + 1}" if found else TURN_END
    return found


def _at_turn_end(rows: Iterable[Row], state: State) -> tuple[Row, ...]:
    return tuple(row for row in rows if row.source is state and _is_turn_end(row))


def _is_turn_end(row: Row) -> bool:
    asks = row.when.keys() & {"grace", "own_end", "kind"}
    return row.trigger is Trigger.DEADLINE and bool(asks) and row.target is not None


def _common(rows: tuple[Row, ...]) -> When:
    first = rows[0].when
    return {
        asked: wanted
        for asked, wanted in first.items()
        if all(row.when.get(asked) == wanted for row in rows)
    }


def _own(row: Row, common: When) -> When:
    return {asked: wanted for asked, wanted in row.when.items() if asked not in common}


def _asked(rows: tuple[Row, ...]) -> Asked:
    if not rows:
        return ()
    common = _common(rows)
    return tuple((tuple(_own(row, common).items()), row.target, _decides(row)) for row in rows)


def _turn_ends(junctions: Mapping[Asked, str]) -> Iterator[Edge]:
    """Yield the edges that leave the diamonds."""
    for asked, diamond in junctions.items():
        for own, target, decides in asked:
            if target is not None:
                kind = Kind.DECISION if decides else Kind.TURN
                kind = Kind.OFF if target is State.IDLE else kind
                yield Edge(
                    diamond, target, kind, (Case("", told(State.ACTING, dict(own)), decides),)
                )


# -- All other edges


def _direct(rows: tuple[Row, ...], junctions: Mapping[Asked, str]) -> Iterator[Edge]:
    """Yield an edge for each row that changes the state; at a turn end it leads to the diamond."""
    for row in rows:
        happens = happening(row.source, row.trigger)
        if _is_turn_end(row):
            here = _at_turn_end(rows, row.source)
            case = Case(happens, told(row.source, _common(here)))
            yield Edge(row.source, junctions[_asked(here)], Kind.TURN, (case,))
        elif row.trigger is Trigger.ANSWER and row.target is not None:
            # Due in every open state alike; what is answered hangs on the turn.
            case = Case(happens, told(row.source, row.when), _decides(row))
            yield Edge(OPEN_TURN, row.target, _kind(row), (case,))
        elif row.target is not None:
            case = Case(happens, told(row.source, row.when), _decides(row))
            yield Edge(row.source, row.target, _kind(row), (case,))


def _decides(row: Row) -> str:
    return " · ".join(row.decision) if row.decision else ""


def _kind(row: Row) -> Kind:
    if row.decision:
        return Kind.DECISION
    if row.target is State.RETURNED or (row.trigger is Trigger.TURN_ACTED and row.source in OPEN):
        return Kind.BACK
    if row.target is State.IDLE and row.trigger is not Trigger.TURN_ACTED:
        return Kind.OFF
    return Kind.TURN


def _merged(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Make one edge of all that lead from one node to another and are of one kind."""
    merged: dict[tuple[str, str, Kind], dict[Case, None]] = {}
    for edge in edges:
        cases = merged.setdefault((edge.source, edge.target, edge.kind), {})
        cases.update(dict.fromkeys(edge.cases))
    every = [Edge(*ends, tuple(cases)) for ends, cases in merged.items()]
    return tuple(sorted(every, key=lambda edge: (edge.kind is Kind.OFF, _place(edge.source))))


def _place(source: str) -> int:
    """Order sources along the turn, so that what draws by itself begins at its beginning."""
    along = [*State]
    return along.index(State(source)) if source in along else len(along)


def _boxed(edges: tuple[Edge, ...]) -> Iterator[Edge]:
    """Let what leads out of every open state alike leave from the box around them."""
    sources: dict[Edge, set[str]] = {}
    for edge in edges:
        sources.setdefault(replace(edge, source=OPEN_TURN), set()).add(edge.source)
    for edge in edges:
        boxed = replace(edge, source=OPEN_TURN)
        leaves_box = edge.source in OPEN and edge.target not in OPEN
        yield boxed if leaves_box and sources[boxed].issuperset(OPEN) else edge
