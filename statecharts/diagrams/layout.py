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

WIDTH, HEIGHT = 740, 1110


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
TURN = Box(370, 615, 740, 990)
OPEN_BOX = Box(360, 574, 580, 644)

# -- States: idle and auto_action are bars, so that all that leads there goes straight

SPINE = 325
TOP, BOTTOM = 182, 1050

PLACES: Mapping[str, Box] = {
    "connected": Box(92, 64, 164, 66),
    "away": Box(382, 64, 164, 66),
    State.IDLE: Box(360, 164, 640, 36),
    State.ACTING: Box(SPINE, 286, 120, 36),
    State.TIME_BANK: Box(SPINE, 350, 120, 36),
    TURN_END: Box(SPINE, 420, 96, 46),
    State.BUFFER: Box(SPINE, 700, 186, 48),
    State.DISCONNECTION_GRACE: Box(SPINE, 840, 186, 48),
    State.RETURNED: Box(556, 840, 142, 60),
    State.DISCARDING: Box(140, 286, 124, 36),
    State.AUTO_ACTION: Box(360, 1068, 640, 36),
}

ROUTES: Mapping[tuple[str, str, Kind], Route] = {
    ("connected", "away", Kind.TURN): Route(((174, 52), (300, 52)), 178, 42, 122),
    ("away", "connected", Kind.TURN): Route(((300, 78), (174, 78)), 178, 88, 122),
    # between idle and the box around the open states
    (State.IDLE, State.DISCARDING, Kind.TURN): Route(((165, TOP), (165, 268)), 170, 217, 50),
    (State.IDLE, State.ACTING, Kind.TURN): Route(((SPINE, TOP), (SPINE, 268)), 331, 217, 90),
    (OPEN_TURN, State.IDLE, Kind.BACK): Route(((440, 252), (440, TOP)), 447, 217, 80),
    (OPEN_TURN, State.IDLE, Kind.OFF): Route(((540, 252), (540, TOP)), 546, 217, 90),
    # the way of a turn in which nobody acts
    (State.ACTING, State.TIME_BANK, Kind.TURN): Route(((SPINE, 304), (SPINE, 332)), 331, 318, 100),
    (State.ACTING, TURN_END, Kind.TURN): Route(
        ((265, 286), (232, 286), (232, 420), (277, 420)), 236, 388, 85
    ),
    (State.TIME_BANK, TURN_END, Kind.TURN): Route(((SPINE, 368), (SPINE, 397)), 331, 375, 100),
    (TURN_END, State.BUFFER, Kind.TURN): Route(((SPINE, 443), (SPINE, 676)), 228, 508, 92, "right"),
    (TURN_END, State.RETURNED, Kind.TURN): Route(
        ((349, 432), (349, 668), (618, 668), (618, 810)), 513, 786, 87, "right"
    ),
    (TURN_END, State.DISCONNECTION_GRACE, Kind.TURN): Route(
        ((308, 435), (308, 454), (212, 454), (212, 840), (232, 840)), 122, 509, 86, "right"
    ),
    (State.BUFFER, State.DISCONNECTION_GRACE, Kind.TURN): Route(
        ((290, 724), (290, 816)), 218, 779, 66, "right"
    ),
    # the connection changes in the buffer or in the grace
    (State.DISCONNECTION_GRACE, State.BUFFER, Kind.TURN): Route(
        ((360, 816), (360, 724)), 366, 772, 105
    ),
    (State.RETURNED, State.BUFFER, Kind.TURN): Route(
        ((510, 810), (510, 712), (418, 712)), 420, 748, 86
    ),
    (State.BUFFER, State.RETURNED, Kind.BACK): Route(
        ((418, 688), (605, 688), (605, 810)), 513, 722, 86, "right"
    ),
    (State.DISCONNECTION_GRACE, State.RETURNED, Kind.BACK): Route(
        ((418, 832), (485, 832)), 419, 804, 64
    ),
    (State.RETURNED, State.DISCONNECTION_GRACE, Kind.TURN): Route(
        ((485, 850), (418, 850)), 420, 884, 64
    ),
    # left to the engine
    (State.DISCARDING, State.IDLE, Kind.OFF): Route(((90, 268), (90, TOP)), 94, 217, 68),
    (TURN_END, State.IDLE, Kind.OFF): Route(
        ((349, 408), (642, 408), (642, TOP)), 440, 378, 196, "right"
    ),
    (State.BUFFER, State.IDLE, Kind.OFF): Route(
        ((232, 688), (221, 688), (221, TOP)), 122, 610, 86, "right"
    ),
    # decisions
    (TURN_END, State.AUTO_ACTION, Kind.DECISION): Route(
        ((373, 420), (641, 420), (641, BOTTOM)), 355, 546, 279
    ),
    (State.DISCARDING, State.AUTO_ACTION, Kind.DECISION): Route(
        ((82, 304), (82, BOTTOM)), 88, 346, 125
    ),
    (State.BUFFER, State.AUTO_ACTION, Kind.DECISION): Route(
        ((232, 700), (206, 700), (206, BOTTOM)), 106, 974, 96, "right"
    ),
    (State.DISCONNECTION_GRACE, State.AUTO_ACTION, Kind.DECISION): Route(
        ((250, 864), (250, BOTTOM)), 257, 962, 162
    ),
    (State.RETURNED, State.AUTO_ACTION, Kind.DECISION): Route(
        ((520, 870), (520, BOTTOM)), 527, 957, 110
    ),
    (OPEN_TURN, State.AUTO_ACTION, Kind.DECISION): Route(((100, 896), (100, BOTTOM)), 88, 794, 114),
    # back to idle, past the box
    (State.AUTO_ACTION, State.IDLE, Kind.OFF): Route(
        ((62, BOTTOM), (62, TOP)), 1, 514, 56, "right"
    ),
    (State.AUTO_ACTION, State.IDLE, Kind.TURN): Route(((664, BOTTOM), (664, TOP)), 668, 514, 68),
}
