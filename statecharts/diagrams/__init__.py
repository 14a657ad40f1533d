"""The statechart drawn, and written out: every format is made from the transition table alone.

Pure: the texts are made here; `actors.diagrams` has Graphviz draw and keeps the committed files.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from statecharts.chart import TABLE
from statecharts.diagrams import dot, mermaid, scxml, table
from statecharts.diagrams.picture import picture
from statecharts.diagrams.sections import sections
from statecharts.lines import Line, State


class Format(StrEnum):
    """What a diagram can be; SVG, PNG and HTML need Graphviz."""

    MERMAID = "mermaid"
    SVG = "svg"
    PNG = "png"
    DOT = "dot"
    SCXML = "scxml"
    TABLE = "table"
    HTML = "html"


DRAWN = (Format.SVG, Format.PNG, Format.HTML)
WITHOUT_PICTURE = (Format.SCXML, Format.TABLE)
"""Formats in which no state can be highlighted."""


def render(format_: Format, highlight: State | None = None, lines: Iterable[Line] = TABLE) -> str:
    """Return the text of a format that needs no drawing; a ValueError names one that does."""
    lines = tuple(lines)
    match format_:
        case Format.MERMAID:
            return mermaid.render(picture(lines), highlight)
        case Format.DOT:
            return dot.render(picture(lines), highlight)
        case Format.SCXML:
            return scxml.render(lines)
        case Format.TABLE:
            return table.render(sections(lines))
        case _:
            raise ValueError(f"{format_} has to be drawn: use actors.diagrams.produce")
