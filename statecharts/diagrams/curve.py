"""Geometry of an edge: its corners as the spline that Graphviz reads."""

from __future__ import annotations

from collections.abc import Sequence
from math import dist

Point = tuple[float, float]

CORNER = 7
ARROW = 10
GAP = 2


def spline(corners: Sequence[Point]) -> str:
    """Return the `pos` of an edge: straight lines, round corners, an arrow's length before the tip.

    >>> spline([(0, 100), (0, 0)])
    'e,0,2 0,100 0,100 0,12 0,12'
    """
    tip = _towards(corners[-1], corners[-2], GAP)
    stops = [*corners[:-1], _towards(tip, corners[-2], ARROW)]
    points = [stops[0]]
    for before, corner, after in zip(stops, stops[1:], stops[2:], strict=False):
        here, there = _towards(corner, before, CORNER), _towards(corner, after, CORNER)
        points += [points[-1], here, here, corner, corner, there]
    points += [points[-1], stops[-1], stops[-1]]
    return " ".join([f"e,{_text(tip)}", *map(_text, points)])


def _towards(start: Point, end: Point, length: float) -> Point:
    share = length / dist(start, end)
    return (start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]))


def _text(point: Point) -> str:
    return f"{point[0]:g},{point[1]:g}"
