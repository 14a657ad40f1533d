"""Where things stand in the picture: one portrait page, in points, from its top left corner.

Only places are given here.  What is drawn comes from the table; an edge or a diamond that the table
gains is drawn without a place of its own, until it is given one here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from statecharts.diagrams.curve import Point
from statecharts.diagrams.picture import OPEN_TURN, TURN_END, Kind
from statecharts.lines import State

WIDTH, HEIGHT = 740, 1062


class Box(NamedTuple):
    """A rectangle by its centre."""

    x: float
    y: float
    width: float
    height: float


class Route(NamedTuple):
    """The corners of an edge, from its tail to its tip, and the place of its words.

    `words` is the box that they are wrapped in (its height is theirs): by its left edge and, like
    everything, its centre from above.
    """

    corners: tuple[Point, ...]
    left: float
    middle: float
    width: float
    align: str = "left"


# -- Regions

CONNECTION = Box(237, 55, 474, 110)
LEGEND = Box(614, 55, 252, 110)
TURN = Box(370, 591, 740, 942)
OPEN_BOX = Box(360, 568, 580, 632)

# -- States: idle and auto_action are bars, so that all that leads there goes straight

SPINE = 325
TOP, BOTTOM = 182, 1002

PLACES: Mapping[str, Box] = {
    "connected": Box(92, 64, 164, 66),
    "away": Box(382, 64, 164, 66),
    State.IDLE: Box(360, 164, 640, 36),
    State.ACTING: Box(SPINE, 300, 120, 36),
    State.TIME_BANK: Box(SPINE, 382, 120, 36),
    TURN_END: Box(SPINE, 466, 96, 46),
    State.BUFFER: Box(SPINE, 648, 186, 48),
    State.DISCONNECTION_GRACE: Box(SPINE, 826, 186, 48),
    State.RETURNED: Box(556, 826, 142, 60),
    State.DISCARDING: Box(140, 300, 124, 36),
    State.AUTO_ACTION: Box(360, 1020, 640, 36),
}

ROUTES: Mapping[tuple[str, str, Kind], Route] = {
    ("connected", "away", Kind.TURN): Route(((174, 52), (300, 52)), 178, 42, 122),
    ("away", "connected", Kind.TURN): Route(((300, 78), (174, 78)), 178, 88, 122),
    # between idle and the box around the open states
    (State.IDLE, State.DISCARDING, Kind.TURN): Route(((165, TOP), (165, 282)), 170, 217, 50),
    (State.IDLE, State.ACTING, Kind.TURN): Route(((SPINE, TOP), (SPINE, 282)), 331, 217, 90),
    (OPEN_TURN, State.IDLE, Kind.BACK): Route(((440, 252), (440, TOP)), 447, 217, 80),
    (OPEN_TURN, State.IDLE, Kind.OFF): Route(((540, 252), (540, TOP)), 546, 217, 90),
    # the way of a turn in which nobody acts
    (State.ACTING, State.TIME_BANK, Kind.TURN): Route(((SPINE, 318), (SPINE, 364)), 331, 341, 100),
    (State.ACTING, TURN_END, Kind.TURN): Route(
        ((265, 300), (232, 300), (232, 466), (277, 466)), 236, 425, 85
    ),
    (State.TIME_BANK, TURN_END, Kind.TURN): Route(((SPINE, 400), (SPINE, 443)), 331, 421, 100),
    (TURN_END, State.BUFFER, Kind.TURN): Route(((SPINE, 489), (SPINE, 624)), 228, 554, 92, "right"),
    (TURN_END, State.RETURNED, Kind.TURN): Route(
        ((349, 478), (349, 614), (618, 614), (618, 796)), 513, 744, 87, "right"
    ),
    (TURN_END, State.DISCONNECTION_GRACE, Kind.TURN): Route(
        ((308, 481), (308, 500), (212, 500), (212, 826), (232, 826)), 122, 520, 84, "right"
    ),
    (State.BUFFER, State.DISCONNECTION_GRACE, Kind.TURN): Route(
        ((290, 672), (290, 802)), 218, 737, 66, "right"
    ),
    # the connection changes in the buffer or in the grace
    (State.DISCONNECTION_GRACE, State.BUFFER, Kind.TURN): Route(
        ((360, 802), (360, 672)), 366, 752, 105
    ),
    (State.RETURNED, State.BUFFER, Kind.TURN): Route(
        ((510, 796), (510, 660), (418, 660)), 420, 696, 86
    ),
    (State.BUFFER, State.RETURNED, Kind.BACK): Route(
        ((418, 636), (605, 636), (605, 796)), 513, 670, 86, "right"
    ),
    (State.DISCONNECTION_GRACE, State.RETURNED, Kind.BACK): Route(
        ((418, 818), (485, 818)), 419, 790, 64
    ),
    (State.RETURNED, State.DISCONNECTION_GRACE, Kind.TURN): Route(
        ((485, 836), (418, 836)), 420, 858, 60
    ),
    # left to the engine
    (State.DISCARDING, State.IDLE, Kind.OFF): Route(((90, 282), (90, TOP)), 94, 217, 68),
    (TURN_END, State.IDLE, Kind.OFF): Route(
        ((349, 454), (642, 454), (642, TOP)), 460, 430, 175, "right"
    ),
    (State.BUFFER, State.IDLE, Kind.OFF): Route(
        ((232, 636), (222, 636), (222, TOP)), 122, 600, 84, "right"
    ),
    # decisions
    (TURN_END, State.AUTO_ACTION, Kind.DECISION): Route(
        ((373, 466), (641, 466), (641, BOTTOM)), 355, 547, 279
    ),
    (State.DISCARDING, State.AUTO_ACTION, Kind.DECISION): Route(
        ((95, 318), (95, BOTTOM)), 101, 370, 125
    ),
    (State.BUFFER, State.AUTO_ACTION, Kind.DECISION): Route(
        ((232, 648), (180, 648), (180, BOTTOM)), 187, 935, 125
    ),
    (State.DISCONNECTION_GRACE, State.AUTO_ACTION, Kind.DECISION): Route(
        ((SPINE, 850), (SPINE, BOTTOM)), 332, 930, 185
    ),
    (State.RETURNED, State.AUTO_ACTION, Kind.DECISION): Route(
        ((520, 856), (520, BOTTOM)), 527, 945, 110
    ),
    # back to idle, past the box
    (State.AUTO_ACTION, State.IDLE, Kind.OFF): Route(
        ((62, BOTTOM), (62, TOP)), 1, 560, 56, "right"
    ),
    (State.AUTO_ACTION, State.IDLE, Kind.TURN): Route(((664, BOTTOM), (664, TOP)), 668, 560, 68),
}
