"""What is known of a table as a whole: immutable facts, which its events replace."""

from __future__ import annotations

from typing import NamedTuple

from statecharts import accounts
from statecharts.accounts import Accounts
from statecharts.digests import short
from statecharts.events import Event
from statecharts.lines import Trigger

MAX_HANDS = 32
MAX_SOURCES = 8


class Pause(NamedTuple):
    """The latest pause or resumption of a table as told by `source`; `at` is its reference."""

    source: int
    stamp: int
    at: int
    is_over: bool


class ProtectionReset(NamedTuple):
    """A `protection.reset`, as told by `source`; `player` 0 is everybody."""

    player: int
    source: int
    stamp: int


class Table(NamedTuple):
    """A table's facts; ids are digests, instants microseconds since 1970."""

    ended_hands: tuple[int, ...] = ()
    closings: tuple[tuple[int, int], ...] = ()
    """The latest closing by source."""
    pauses: tuple[Pause, ...] = ()
    """Of each source the latest word on that, in order of arrival: the last one counts."""
    accounts: Accounts = ()
    protection_resets: tuple[ProtectionReset, ...] = ()

    @property
    def paused_at(self) -> int | None:
        """Since when the table is paused, if it is."""
        return None if not self.pauses or self.pauses[-1].is_over else self.pauses[-1].at


def learned(table: Table, event: Event, reference: int) -> Table:
    """Return a table's facts after an event of the table; the same ones if it is known already."""
    match event.name:
        case Trigger.HAND_ENDED:
            return _after_hand(table, event)
        case Trigger.TABLE_CLOSED:
            return _after_closing(table, event)
        case Trigger.TABLE_PAUSED | Trigger.TABLE_RESUMED:
            return _after_pause(table, event, reference)
        case Trigger.PROTECTION_RESET:
            return _after_reset(table, event, reference)
    return table


def _after_hand(table: Table, event: Event) -> Table:
    hand, players = short(event.data.hand_id), event.data.players
    if hand in table.ended_hands:
        return table
    played = None if players is None else frozenset(short(player) for player in players)
    return table._replace(
        ended_hands=(*table.ended_hands, hand)[-MAX_HANDS:],
        accounts=accounts.hand_over(table.accounts, played),
    )


def _after_closing(table: Table, event: Event) -> Table:
    source = short(event.source)
    last = dict(table.closings)
    if last.pop(source, event.stamp - 1) >= event.stamp:
        return table
    closings = (*last.items(), (source, event.stamp))[-MAX_SOURCES:]
    pauses = tuple(one._replace(is_over=True) for one in table.pauses)
    return table._replace(closings=closings, pauses=pauses, accounts=())


def _after_pause(table: Table, event: Event, reference: int) -> Table:
    """Of one source the stamps say which word is the latest (at equal ones the table goes on)."""
    pause = Pause(short(event.source), event.stamp, reference, event.name is Trigger.TABLE_RESUMED)
    others = []
    for known in table.pauses:
        if known.source != pause.source:
            others.append(known)
        elif (known.stamp, known.is_over) >= (pause.stamp, pause.is_over):
            return table
    return table._replace(pauses=(*others, pause)[-MAX_SOURCES:])


def _after_reset(table: Table, event: Event, reference: int) -> Table:
    player = 0 if event.data.player_id is None else short(event.data.player_id)
    reset = ProtectionReset(player, short(event.source), event.stamp)
    others = []
    for known in table.protection_resets:
        if known[:2] != reset[:2]:
            others.append(known)
        elif known.stamp >= reset.stamp:
            return table
    return table._replace(
        protection_resets=(*others, reset)[-MAX_SOURCES:],
        accounts=accounts.protection_reset(table.accounts, player or None, reference),
    )
