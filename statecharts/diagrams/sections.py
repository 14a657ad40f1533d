"""The whole table in words, as the sections that the Markdown and the HTML page show.

Every cell is in it: what happens, what is only noted, what is ignored and what is refused, and why.
Triggers that have exactly the same lines share a section.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from statecharts.chart import CONNECTION, OPEN, STATES, TABLE
from statecharts.diagrams.gather import Entry, gather
from statecharts.diagrams.words import conditions
from statecharts.lines import Ignored, Line, Refused, State, Trigger
from statecharts.rules import GROUNDS

TITLE = "What happens to a seat: every case"
INTRODUCTION = (
    "Made from the transition table in statecharts/chart.py by seatwarden diagram --write.",
    "For each state and each thing that can happen, exactly one line applies. "
    "An open turn is one in which nothing is decided yet: " + ", ".join(OPEN) + ".",
)

HAPPENS: Mapping[Trigger, str] = {
    Trigger.TURN_STARTED: "a turn begins",
    Trigger.TURN_ACTED: "the engine tells that the turn is acted",
    Trigger.TURN_CANCELLED: "the engine calls the turn off",
    Trigger.TURN_EXTENDED: "the engine gives the turn more time",
    Trigger.CARD_CHOSEN: "the player chooses a card",
    Trigger.PLAYER_CONNECTED: "a session of a player begins",
    Trigger.PLAYER_DISCONNECTED: "a session of a player ends",
    Trigger.GATEWAY_RESET: "a gateway has lost all its sessions",
    Trigger.PLAYER_AWAY: "the player says that he is away",
    Trigger.PLAYER_BACK: "the player says that he is back",
    Trigger.SEAT_VACATED: "the player leaves the seat",
    Trigger.HAND_ENDED: "the hand ends",
    Trigger.TABLE_CLOSED: "the table closes",
    Trigger.TABLE_PAUSED: "the table is paused",
    Trigger.TABLE_RESUMED: "the table goes on",
    Trigger.PROTECTION_RESET: "a player's all-in protection is whole again",
    Trigger.DEADLINE: "the time of the present state is over",
    Trigger.ANSWER: "the answer for one who has said that he is away is due",
    Trigger.INTERRUPTION: "the service or the broker was interrupted",
}


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and a table under it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def sections(table: Iterable[Line] = TABLE) -> tuple[Section, ...]:
    """Return the sections in the order of reading."""
    return (
        Section("States", ("state", "meaning"), tuple((str(s), STATES[s]) for s in State)),
        *_cells(gather(table)),
        Section(
            "The player's connection, a region of its own",
            ("from", "to", "when", "by"),
            tuple((c.source, c.target, c.when, ", ".join(c.triggers)) for c in CONNECTION),
        ),
        Section(
            "Rules",
            ("rule", "source", "basis", "what the player is told"),
            tuple(
                (rule, ground.source, _BASIS[ground.basis], ground.sentence)
                for rule, ground in GROUNDS.items()
            ),
        ),
    )


_BASIS = {"text": "the published text", "ours": "our reading of what it leaves open"}


def _cells(entries: tuple[Entry, ...]) -> tuple[Section, ...]:
    of_trigger = {
        trigger: tuple(entry for entry in entries if trigger in entry.triggers)
        for trigger in Trigger
    }
    alike: dict[tuple[int, ...], list[Trigger]] = {}
    for trigger, its in of_trigger.items():
        alike.setdefault(tuple(map(id, its)), []).append(trigger)
    return tuple(
        Section(
            "; ".join(f"{trigger}: {HAPPENS[trigger]}" for trigger in triggers),
            ("in state", "if", "then", "because", "line"),
            tuple(_row(entry) for entry in of_trigger[triggers[0]]),
        )
        for triggers in alike.values()
    )


def _row(entry: Entry) -> tuple[str, ...]:
    line = entry.line
    return (
        _states(entry.states),
        ", ".join(conditions(line.when)) or "always",
        _outcome(line),
        line.why,
        entry.name,
    )


def _states(states: tuple[State, ...]) -> str:
    if states == tuple(State):
        return "every state"
    if set(states).issuperset(OPEN):
        return ", ".join(("every open turn", *(state for state in states if state not in OPEN)))
    return ", ".join(states)


def _outcome(line: Line) -> str:
    if isinstance(line, Ignored):
        return "ignored"
    if isinstance(line, Refused):
        return f"refused: {line.code}"
    if line.target is None:
        return "noted, the state stays"
    if line.decision:
        action, rule = line.decision
        return f"decision: {action}, by {rule}; to {line.target}"
    return f"to {line.target}, and there once more" if line.again else f"to {line.target}"
