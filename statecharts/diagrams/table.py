"""The whole table as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from statecharts.diagrams.sections import INTRODUCTION, TITLE, Section


def render(sections: Iterable[Section]) -> str:
    """Return the Markdown text."""
    parts = [f"# {TITLE}", *INTRODUCTION, *("\n".join(_section(each)) for each in sections)]
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> Iterator[str]:
    yield f"## {_text(section.title)}"
    yield ""
    yield _row(section.columns)
    yield _row("---" for _ in section.columns)
    for row in section.rows:
        yield _row(map(_text, row))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(words: str) -> str:
    r"""Escape what Markdown would read as more than words; `_` within a word is none of it.

    >>> print(_text("a|b in time_bank"))
    a\|b in time_bank
    """
    return "".join(f"\\{letter}" if letter in r"\|`*<[" else letter for letter in words)
