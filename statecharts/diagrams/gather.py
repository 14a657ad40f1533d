"""The table's lines as they were written: one entry for all the states and triggers of a line.

`lines` spreads them over their cells for the machine; people read them better together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from statecharts.lines import Line, State, Trigger


@dataclass(frozen=True, slots=True)
class Entry:
    """What `line`, the first of them, says for each of the states and each of the triggers."""

    name: str
    states: tuple[State, ...]
    triggers: tuple[Trigger, ...]
    line: Line


def gather(table: Iterable[Line]) -> tuple[Entry, ...]:
    """Return the entries in the table's order; together they have exactly its cells."""
    by_state: list[Entry] = []
    for line in table:
        entry = Entry(line.id.partition(":")[0], (line.source,), (line.trigger,), line)
        for number, known in enumerate(by_state):
            if known.states == entry.states and _same(known, entry):
                triggers = (*known.triggers, line.trigger)
                by_state[number] = replace(known, triggers=triggers)
                break
        else:
            by_state.append(entry)
    entries: list[Entry] = []
    for entry in by_state:
        for number, known in enumerate(entries):
            if known.triggers == entry.triggers and _same(known, entry):
                entries[number] = replace(known, states=(*known.states, *entry.states))
                break
        else:
            entries.append(entry)
    return tuple(entries)


def _same(one: Entry, other: Entry) -> bool:
    """Whether two entries differ in nothing but their cells."""
    here = one.line
    there = replace(other.line, id=here.id, source=here.source, trigger=here.trigger)
    return one.name == other.name and here == there
