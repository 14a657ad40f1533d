"""The picture as Graphviz DOT with every place given, from which the SVG and the PNG are made.

`dot -Kneato -n2` keeps the places, so that each version of Graphviz draws the same page.
Every kind of edge has a colour and a line of its own, so that print in black and white keeps them
apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from textwrap import wrap
from typing import NamedTuple

from statecharts.diagrams.curve import spline
from statecharts.diagrams.layout import (
    CONNECTION,
    HEIGHT,
    LEGEND,
    OPEN_BOX,
    PLACES,
    ROUTES,
    TURN,
    WIDTH,
    Box,
)
from statecharts.diagrams.picture import KINDS, OPEN_TURN, Case, Edge, Kind, Picture, Region
from statecharts.lines import State

LINES: Mapping[Kind, tuple[str, str, str]] = {
    Kind.TURN: ("#1f2933", "solid", "penwidth=1.2 arrowhead=normal"),
    Kind.BACK: ("#0b6e4f", "dashed", "penwidth=1.8 arrowhead=vee"),
    Kind.DECISION: ("#b3261e", "solid", "penwidth=2.8 arrowhead=normal"),
    Kind.OFF: ("#5c6770", "dotted", "penwidth=1.4 arrowhead=empty"),
}
"""Colour, style, and what else makes a line."""

FONT = 'fontname="Arial,Helvetica,sans-serif" fontsize=10'
LETTER = 4.5
"""The width of a letter of that size, on average: words are wrapped by it."""
BOLD = 0.52
"""The width of a bold letter of size 1."""
WIDE, DECISION, GUTTER = 200, 107, 4
"""From which width on there are two columns, the width of the second, and what parts them."""
NOTES = (
    "[ ] only if this holds",
    "away, connected: the state of the connection",
)
HIGHLIGHT = 'fillcolor="#ffd54a" penwidth=3'


class Look(NamedTuple):
    """How a box looks: the size of its title, whether that stands at the left, and the rest."""

    size: int
    left: bool
    more: str


REGION = Look(13, left=True, more='style=rounded color="#5c6770"')
OPEN_BOX_LOOK = Look(
    10, left=False, more='style="rounded,filled" color="#9aa5b1" fillcolor="#f4f6f8"'
)


def render(picture: Picture, highlight: State | None = None) -> str:
    """Return the DOT text; the state to highlight is filled."""
    return "\n".join(_lines(picture, highlight)) + "\n"


def _lines(picture: Picture, highlight: State | None) -> Iterator[str]:
    yield "// Made from statecharts/chart.py by `seatwarden diagram --write`: do not edit."
    yield "// Its places are its own; to draw it: dot -Kneato -n2 -Tsvg seat.dot"
    yield "digraph seat {"
    yield f'  graph [bb="0,0,{WIDTH},{HEIGHT}" {FONT}]'
    yield f'  node [shape=box style="rounded,filled" fillcolor=white fixedsize=true {FONT}]'
    yield f"  edge [{FONT}]"
    yield from _connection(picture.connection)
    yield from _turn(picture, highlight)
    yield f"  legend [{_place(LEGEND)} shape=plain style=solid fixedsize=false label=<{_legend()}>]"
    yield "}"


def _connection(region: Region) -> Iterator[str]:
    yield f"  {_cluster('connection', region.title, CONNECTION, REGION)}"
    for name, caption in region.states.items():
        yield f"    {_state(name, caption)}"
    yield "  }"
    for edge in region.edges:
        yield f"  {_edge(edge)}"


def _turn(picture: Picture, highlight: State | None) -> Iterator[str]:
    region = picture.turn
    yield f"  {_cluster('turn', region.title, TURN, REGION)}"
    for name, caption in region.states.items():
        if name not in picture.open_states:
            yield f"    {_state(name, caption, highlight)}"
    title = "open turn: nothing is decided yet"
    yield f"    {_cluster(OPEN_TURN, title, OPEN_BOX, OPEN_BOX_LOOK)}"
    for name in picture.open_states:
        yield f"      {_state(name, region.states[name], highlight)}"
    for number, name in enumerate(region.diamonds):
        place = _place(PLACES.get(name, Box(WIDTH + 60, 160 * number, 96, 46)))
        yield f'      {name} [shape=diamond style=filled label="turn end" {place}]'
    yield "    }"
    yield "  }"
    for edge in region.edges:
        yield f"  {_edge(edge)}"


# -- Boxes


def _cluster(name: str, title: str, box: Box, look: Look) -> str:
    """Open a box with its title in a corner at the top."""
    left, top = box.x - box.width / 2, HEIGHT - box.y + box.height / 2
    corners = f"{left:g},{top - box.height:g},{left + box.width:g},{top:g}"
    half = len(title) * look.size * BOLD / 2
    middle = left + 10 + half if look.left else left + box.width - 10 - half
    return (
        f"subgraph cluster_{name} {{ "
        f'graph [bb="{corners}" {look.more} label=<<b>{escape(title)}</b>> fontsize={look.size} '
        f'lp="{middle:g},{top - 2 - look.size:g}" '
        f"lwidth={half / 36:.2f} lheight={look.size / 60:.2f}]"
    )


def _state(name: str, caption: str, highlight: State | None = None) -> str:
    box = PLACES[name]
    look = f" {HIGHLIGHT}" if name == highlight else ""
    label = f"<b>{name}</b><br/>{_wrapped(caption, box.width - 12)}"
    return f"{name} [{_place(box)}{look} label=<{label}>]"


def _place(box: Box) -> str:
    place = f'pos="{box.x:g},{HEIGHT - box.y:g}"'
    return f"{place} width={box.width / 72:.3f} height={box.height / 72:.3f}"


# -- Edges


def _edge(edge: Edge) -> str:
    colour, style, more = LINES[edge.kind]
    source = edge.source
    if source == OPEN_TURN:  # a box has no edges of its own; its first state stands for it
        source, more = State.ACTING, f"{more} ltail=cluster_{OPEN_TURN}"
    route = ROUTES.get((edge.source, edge.target, edge.kind))
    look = f'color="{colour}" fontcolor="{colour}" style={style} {more}'
    if route is None:
        return f"{source} -> {edge.target} [{look} label=<{_words(edge.cases, 120, 'left')}>]"
    corners = [(x, HEIGHT - y) for x, y in route.corners]
    place = (
        f'pos="{spline(corners)}" lp="{route.left + route.width / 2:g},{HEIGHT - route.middle:g}"'
    )
    return (
        f"{source} -> {edge.target} [{look} {place} "
        f"label=<{_words(edge.cases, route.width, route.align)}>]"
    )


def _words(cases: tuple[Case, ...], width: float, align: str) -> str:
    """Return the cases under what happens; on wide ones a decision stands beside its conditions."""
    beside = width > WIDE
    first = width - DECISION if beside else width
    rows = [[_wrapped(words, width)] for words in dict.fromkeys(case.happens for case in cases)]
    for case in cases:
        words = f"[{', '.join(case.conditions)}]" if case.conditions else ""
        condition = _wrapped(words, first - GUTTER if beside else first)
        decision = f"<b>{escape(case.decides)}</b>" if case.decides else ""
        rows += [[condition, decision]] if beside else [[condition], [decision]]
    lines = "".join(_row(row, first, align) for row in rows if any(row))
    return f'<table border="0" cellborder="0" cellspacing="0" cellpadding="1">{lines}</table>'


def _row(cells: list[str], first: float, align: str) -> str:
    look = f'align="{align}" balign="{align}" valign="top"'
    widths = (first, DECISION)
    row = (f'<td {look} width="{w:g}">{c}</td>' for c, w in zip(cells, widths, strict=False))
    return f"<tr>{''.join(row)}</tr>"


def _wrapped(words: str, width: float) -> str:
    return "<br/>".join(escape(line) for line in wrap(words, int(width / LETTER)))


# -- Legend


def _legend() -> str:
    rows = "".join(
        f'<tr><td>{_sample(kind)}</td><td align="left">{escape(words)}</td></tr>'
        for kind, words in KINDS.items()
    )
    notes = "".join(f'<tr><td colspan="2" align="left">{escape(note)}</td></tr>' for note in NOTES)
    return f'<table border="0" cellborder="0" cellspacing="2" cellpadding="0">{rows}{notes}</table>'


def _sample(kind: Kind) -> str:
    """Return a piece of line: the lower border of an empty cell."""
    colour, style, _more = LINES[kind]
    width = 3 if kind is Kind.DECISION else 1
    line = f'border="{width}" sides="B" style="{style}" color="{colour}"'
    return (
        '<table border="0" cellborder="0" cellspacing="0" cellpadding="0">'
        f'<tr><td width="36" height="7" fixedsize="true" {line}></td></tr>'
        '<tr><td height="6"></td></tr></table>'
    )
