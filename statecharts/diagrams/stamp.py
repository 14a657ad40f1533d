"""The stamp in an SVG: from which DOT text it was drawn, and that nobody has changed it since.

Each version of Graphviz draws a little differently, so a committed SVG cannot be drawn again and
compared.  Its stamp can be checked anywhere, also where Graphviz is not installed.
"""

from __future__ import annotations

import re

from statecharts.digests import long

_STAMP = re.compile(r"<!-- dot ([0-9a-f]{32}), drawn ([0-9a-f]{32}) -->\n")
_DRAWING = re.compile(r"<!-- dot [^\n]*\n<svg.*?</svg>\n", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


def stamped(drawn: str, dot: str) -> str:
    """Return what Graphviz has drawn from `dot`, without its version, under a stamp."""
    body = _COMMENT.sub("", drawn[drawn.index("<svg") :])
    return f"<!-- dot {long(dot)}, drawn {long(body)} -->\n{body}"


def is_genuine(drawing: str, dot: str) -> bool:
    """Say whether a stamped drawing was drawn from `dot` and is unchanged.

    >>> is_genuine(stamped("<svg/>", "digraph {}"), "digraph {}")
    True
    """
    stamp = _STAMP.match(drawing)
    return stamp is not None and stamp.groups() == (long(dot), long(drawing[stamp.end() :]))


def find(page: str) -> str:
    """Return the stamped drawing within a page, or an empty text."""
    found = _DRAWING.search(page)
    return found[0] if found else ""
