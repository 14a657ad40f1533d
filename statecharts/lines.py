"""What the transition table is written with: states, triggers, and the three kinds of lines.

`chart` holds the table itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from statecharts.rules import Action, Rule


class State(StrEnum):
    """Where a seat stands.  The values are those of `from` and `to` in `seat.changed`."""

    IDLE = "idle"
    ACTING = "acting"
    TIME_BANK = "time_bank"
    BUFFER = "buffer"
    DISCONNECTION_GRACE = "disconnection_grace"
    RETURNED = "returned"
    DISCARDING = "discarding"
    AUTO_ACTION = "auto_action"


class Trigger(StrEnum):
    """What can happen to a seat: an event, its own deadline or answer, and an interruption.

    `answer` is due at once where the player has said that he is away.
    """

    TURN_STARTED = "turn.started"
    TURN_ACTED = "turn.acted"
    TURN_CANCELLED = "turn.cancelled"
    TURN_EXTENDED = "turn.extended"
    CARD_CHOSEN = "card.chosen"
    PLAYER_CONNECTED = "player.connected"
    PLAYER_DISCONNECTED = "player.disconnected"
    PLAYER_AWAY = "player.away"
    PLAYER_BACK = "player.back"
    GATEWAY_RESET = "gateway.reset"
    SEAT_VACATED = "seat.vacated"
    HAND_ENDED = "hand.ended"
    TABLE_PAUSED = "table.paused"
    TABLE_RESUMED = "table.resumed"
    PROTECTION_RESET = "protection.reset"
    TABLE_CLOSED = "table.closed"
    DEADLINE = "deadline"
    ANSWER = "answer"
    INTERRUPTION = "interruption"


When = Mapping[str, str | tuple[str, ...]]
"""A guard: for each question (`guards.QUESTIONS`) the answer, or answers, that the line is for."""


@dataclass(frozen=True, slots=True)
class Row:
    """Something happens: a change of state, or with `target` None a fact noted in the same state.

    `effect` names a function of `effects`; `decision` is what is decided for the player; with
    `again` the same event is put to the new state as well (a start that first cancels a turn).
    """

    id: str
    source: State
    trigger: Trigger
    when: When
    target: State | None
    effect: str
    why: str
    decision: tuple[Action, Rule] | None = None
    again: bool = False


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing happens; `why` is the reason that is counted and logged."""

    id: str
    source: State
    trigger: Trigger
    when: When
    why: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The message is refused with `code`; `why` is told to its sender."""

    id: str
    source: State
    trigger: Trigger
    when: When
    code: str
    why: str


@dataclass(frozen=True, slots=True)
class Link:
    """A change in the connection region, which the turn's guards ask as "is he connected"."""

    source: str
    target: str
    triggers: tuple[Trigger, ...]
    when: str


Line = Row | Ignored | Refused
Sources = State | Iterable[State]
Triggers = Trigger | Iterable[Trigger]


def go(
    name: str, source: Sources, trigger: Triggers, when: When, target: State, effect: str, why: str,
    *, decision: tuple[Action, Rule] | None = None, again: bool = False,
) -> tuple[Line, ...]:  # fmt: skip
    """Rows that change the state: one for each of the sources and triggers."""
    return tuple(
        Row(id_, source_, trigger_, when, target, effect, why, decision, again)
        for id_, source_, trigger_ in _cells(name, source, trigger)
    )


def note(
    name: str, source: Sources, trigger: Triggers, when: When, effect: str, why: str
) -> tuple[Line, ...]:
    """Rows that take note of a fact and keep the state."""
    return tuple(
        Row(id_, source_, trigger_, when, None, effect, why)
        for id_, source_, trigger_ in _cells(name, source, trigger)
    )


def ignore(name: str, source: Sources, trigger: Triggers, when: When, why: str) -> tuple[Line, ...]:
    """Cells in which nothing happens."""
    return tuple(
        Ignored(id_, source_, trigger_, when, why)
        for id_, source_, trigger_ in _cells(name, source, trigger)
    )


def refuse(
    name: str, source: Sources, trigger: Triggers, when: When, code: str, why: str
) -> tuple[Line, ...]:
    """Cells in which the message goes back to its sender."""
    return tuple(
        Refused(id_, source_, trigger_, when, code, why)
        for id_, source_, trigger_ in _cells(name, source, trigger)
    )


def _cells(name: str, source: Sources, trigger: Triggers) -> Iterator[tuple[str, State, Trigger]]:
    """Spread a line over its cells; its id says which of them where there is more than one."""
    sources = (source,) if isinstance(source, State) else tuple(source)
    triggers = (trigger,) if isinstance(trigger, Trigger) else tuple(trigger)
    for source_ in sources:
        for trigger_ in triggers:
            parts = [name]
            if len(sources) > 1:
                parts.append(source_)
            if len(triggers) > 1:
                parts.append(trigger_)
            yield ":".join(parts), source_, trigger_
