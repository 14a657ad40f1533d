"""The whole table as W3C SCXML: one parallel with two regions, the connection and the turn.

A line that is alike in every state, or in every open turn, stands once, in the state around them.
Conditions are the answers' own words, written as names; `In('away')` asks the connection's region.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from xml.etree import ElementTree as ET

from statecharts.chart import CONNECTION, CONNECTION_STATES, OPEN, TABLE
from statecharts.diagrams.gather import Entry, gather
from statecharts.diagrams.picture import OPEN_TURN
from statecharts.guards import QUESTIONS
from statecharts.lines import Ignored, Line, Refused, State, Trigger, When

NAMESPACE = "http://www.w3.org/2005/07/scxml"
COMMENT = """
Made from statecharts/chart.py by `seatwarden diagram` (option "write"): do not edit.
It is for reading, and for tools that draw. Each name in a condition is an answer about the seat:
who runs it sets them before each event, and lets the connection's region hear a word first.
"""


def render(table: Iterable[Line] = TABLE) -> str:
    """Return the SCXML text."""
    entries = gather(table)
    root = ET.Element(
        "scxml", xmlns=NAMESPACE, version="1.0", name="seat", initial="seat", datamodel="python"
    )
    model = ET.SubElement(root, "datamodel")
    for name in _names(entries):
        ET.SubElement(model, "data", id=name, expr="False")
    seat = ET.SubElement(root, "parallel", id="seat")
    _connection(seat)
    _turn(seat, entries)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<!--{COMMENT}-->\n{text}\n'


def _connection(seat: ET.Element) -> None:
    region = ET.SubElement(seat, "state", id="connection", initial=next(iter(CONNECTION_STATES)))
    for name in CONNECTION_STATES:
        state = ET.SubElement(region, "state", id=name)
        for link in CONNECTION:
            if link.source == name:
                _transition(state, link.triggers, _name(link.when), link.target)


def _turn(seat: ET.Element, entries: tuple[Entry, ...]) -> None:
    """Put each entry into the largest of the states that hold all of its own."""
    region = ET.SubElement(seat, "state", id="turn", initial=State.IDLE)
    places: dict[frozenset[State], ET.Element] = {frozenset(State): region}
    around = ET.Element("state", id=OPEN_TURN, initial=OPEN[0])
    places[frozenset(OPEN)] = around
    for state in State:
        is_open = state in OPEN
        if is_open and not len(around):
            region.append(around)
        places[frozenset({state})] = ET.SubElement(around if is_open else region, "state", id=state)
    for entry in entries:
        left = set(entry.states)
        for states, place in places.items():
            if left.issuperset(states):
                left -= states
                _line(place, entry)


def _line(place: ET.Element, entry: Entry) -> None:
    line = entry.line
    target = None if isinstance(line, (Ignored, Refused)) else line.target
    transition = _transition(place, entry.triggers, _condition(line.when), target)
    for label, text in _logs(entry):
        ET.SubElement(transition, "log", label=label, expr=repr(text))
    if not isinstance(line, (Ignored, Refused)) and line.again:
        ET.SubElement(transition, "raise", event=line.trigger)


def _logs(entry: Entry) -> Iterator[tuple[str, str]]:
    line = entry.line
    yield entry.name, line.why
    if isinstance(line, Ignored):
        yield "ignored", ""
    elif isinstance(line, Refused):
        yield "refused", line.code
    elif line.decision:
        yield "decision", ", ".join(line.decision)


def _transition(
    place: ET.Element, triggers: Iterable[Trigger], condition: str, target: str | None
) -> ET.Element:
    transition = ET.SubElement(place, "transition", event=" ".join(triggers))
    if condition:
        transition.set("cond", condition)
    if target:
        transition.set("target", target)
    return transition


# -- Conditions


def _condition(when: When) -> str:
    return " and ".join(
        _answer(asked, wanted)
        if isinstance(wanted, str)
        else f"({' or '.join(_answer(asked, each) for each in wanted)})"
        for asked, wanted in when.items()
    )


def _answer(asked: str, answer: str) -> str:
    return f"In('{answer}')" if asked == "player" else _name(QUESTIONS[asked].answers[answer])


def _name(words: str) -> str:
    """Return words as a name that an expression can ask for."""
    return re.sub(r"\W+", "_", words)


def _names(entries: Iterable[Entry]) -> dict[str, None]:
    """Return all names in the order of their first use."""
    names = dict.fromkeys(_name(link.when) for link in CONNECTION)
    for entry in entries:
        for asked, wanted in entry.line.when.items():
            if asked != "player":
                answers = (wanted,) if isinstance(wanted, str) else wanted
                names |= dict.fromkeys(_answer(asked, answer) for answer in answers)
    return names
