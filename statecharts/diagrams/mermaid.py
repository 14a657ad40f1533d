"""The picture as a Mermaid flowchart, for pages that draw it themselves.

A flowchart, because in Mermaid's state diagram all edges look alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from statecharts.diagrams.picture import KINDS, OPEN_TURN, Edge, Kind, Picture, Region
from statecharts.lines import State

LINES: Mapping[Kind, tuple[str, str]] = {
    Kind.TURN: ("-->", "stroke:#1f2933"),
    Kind.BACK: ("-.->", "stroke:#0b6e4f,stroke-width:2px,stroke-dasharray:8 5"),
    Kind.DECISION: ("==>", "stroke:#b3261e,stroke-width:4px"),
    Kind.OFF: ("-.->", "stroke:#5c6770,stroke-dasharray:2 5"),
}


def render(picture: Picture, highlight: State | None = None) -> str:
    """Return the Mermaid text; the state to highlight is filled."""
    return "\n".join(_lines(picture, highlight)) + "\n"


def _lines(picture: Picture, highlight: State | None) -> Iterator[str]:
    yield "%% Made from statecharts/chart.py by `seatwarden diagram --write`: do not edit."
    yield "flowchart TB"
    yield from _region("connection", picture.connection, ())
    yield from _region("turn", picture.turn, picture.open_states)
    edges = (*picture.connection.edges, *picture.turn.edges)
    for edge in edges:
        yield f"  {_edge(edge)}"
    yield from _legend()
    numbers = [edge.kind for edge in edges] + list(KINDS)
    for kind in KINDS:
        of_kind = ",".join(str(number) for number, each in enumerate(numbers) if each is kind)
        yield f"  linkStyle {of_kind} {LINES[kind][1]}"
    yield f"  style {OPEN_TURN} fill:#f4f6f8,stroke:#9aa5b1"
    if highlight is not None:
        yield f"  style {highlight} fill:#ffd54a,stroke:#1f2933,stroke-width:4px"


def _region(name: str, region: Region, inside: tuple[str, ...]) -> Iterator[str]:
    yield f'  subgraph {name}["{_text(region.title)}"]'
    yield "    direction TB"
    first, *others = (state for state in region.states if state not in inside)
    if inside:
        yield f'    subgraph {OPEN_TURN}["open turn: nothing is decided yet"]'
        yield "      direction TB"
        for state in inside:
            yield f"      {_state(state, region.states[state])}"
        for diamond in region.diamonds:
            yield f'      {diamond}{{"turn end"}}'
        yield "    end"
    for state in others:
        yield f"    {_state(state, region.states[state])}"
    # Mermaid puts at the top what is first in the last of the boxes: the box has no other use.
    yield f'    subgraph {name}_begins[" "]'
    yield f"      {_state(first, region.states[first])}"
    yield "    end"
    yield f"    style {name}_begins fill:none,stroke:none"
    yield "  end"
    yield f"  style {name} fill:#ffffff,stroke:#5c6770"


def _state(name: str, caption: str) -> str:
    return f'{name}("<b>{name}</b><br/>{_text(caption)}")'


def _edge(edge: Edge) -> str:
    lines = [_text(words) for words in dict.fromkeys(case.happens for case in edge.cases) if words]
    for case in edge.cases:
        words = _text(f"[{', '.join(case.conditions)}]") if case.conditions else ""
        decision = f"<b>{_text(case.decides)}</b>" if case.decides else ""
        lines += [words, decision]
    label = "<br/>".join(line for line in lines if line)
    return f'{edge.source} {LINES[edge.kind][0]}|"{label}"| {edge.target}'


def _legend() -> Iterator[str]:
    yield '  subgraph legend["how to read it"]'
    yield "    direction LR"
    for kind, words in KINDS.items():
        yield f'    {kind}_from[" "] {LINES[kind][0]} {kind}_to["{_text(words)}"]'
    yield "  end"
    yield "  style legend fill:#ffffff,stroke:none"


def _text(words: str) -> str:
    """Escape what Mermaid or the page around it would read as more than words."""
    for plain, escaped in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        words = words.replace(plain, escaped)
    return words
