"""The picture and the whole table as one page that needs nothing else: on paper and on a phone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from statecharts.diagrams.sections import INTRODUCTION, TITLE, Section

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.45 Arial, Helvetica, sans-serif; color: #1f2933; background: #fff;
  max-width: 70rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
figure { margin: 1rem 0; overflow-x: auto; }
figure svg { display: block; width: 100%; min-width: 46rem; height: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { border: 1px solid #9aa5b1; padding: .3rem .5rem; text-align: left; vertical-align: top; }
th { background: #f4f6f8; }
@media screen and (max-width: 45rem) {
  thead { position: absolute; left: -9999px; }
  table, tbody, tr, td { display: block; }
  tr { border: 1px solid #9aa5b1; border-radius: .4rem; margin: .6rem 0; padding: .2rem .5rem; }
  td { border: 0; padding: .1rem 0; overflow-wrap: anywhere; }
  td::before { content: attr(data-column) ": "; font-weight: bold; }
}
@page { size: A4; margin: 10mm; }
@media print {
  body { font-size: 9pt; max-width: none; padding: 0; }
  figure { break-after: page; margin: 0; overflow: visible; }
  figure svg { min-width: 0; max-height: 255mm; }
  h2 { break-after: avoid; } tr { break-inside: avoid; } thead { display: table-header-group; }
}
"""


def render(drawing: str, sections: Iterable[Section]) -> str:
    """Return the page around a drawing, which is an SVG element."""
    return "\n".join(_lines(drawing, sections)) + "\n"


def _lines(drawing: str, sections: Iterable[Section]) -> Iterator[str]:
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(TITLE)}</title>"
    yield f"<style>{STYLE}</style>"
    yield "</head>"
    yield "<body>"
    yield f"<h1>{escape(TITLE)}</h1>"
    yield f'<figure aria-label="The statechart of a seat">\n{drawing}</figure>'
    yield from (f"<p>{escape(paragraph)}</p>" for paragraph in INTRODUCTION)
    for section in sections:
        yield from _section(section)
    yield "</body>"
    yield "</html>"


def _section(section: Section) -> Iterator[str]:
    yield f"<h2>{escape(section.title)}</h2>"
    yield "<table>"
    heads = "".join(f'<th scope="col">{escape(column)}</th>' for column in section.columns)
    yield f"<thead><tr>{heads}</tr></thead>"
    yield "<tbody>"
    for row in section.rows:
        cells = zip(section.columns, row, strict=True)
        yield f"<tr>{''.join(_cell(column, text) for column, text in cells)}</tr>"
    yield "</tbody>"
    yield "</table>"


def _cell(column: str, text: str) -> str:
    return f'<td data-column="{escape(column)}">{escape(text)}</td>'
