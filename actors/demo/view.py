"""The demo on a terminal: tables, seats, countdowns, the last decisions, and how far it is."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from actors.clock import Clock
from actors.demo.sent import Scene, Sent
from actors.demo.words import BRIEFLY, action_of, clock_of, name_of
from statecharts.decisions import DecisionMade, SeatChanged
from statecharts.instants import SECOND, from_rfc3339, from_seconds, to_rfc3339
from statecharts.lines import State, Trigger
from statecharts.rules import GROUNDS, Rule

COLOURS = {
    State.ACTING: "green",
    State.TIME_BANK: "yellow",
    State.BUFFER: "magenta",
    State.DISCONNECTION_GRACE: "red",
    State.RETURNED: "cyan",
    State.DISCARDING: "blue",
}
_SEATS = {"here": ("●", "green"), "away": ("○", "red"), "folded": ("·", "bright_black")}
_COLUMNS = (
    ("table", 5), ("game", 23), ("board", 10), ("street", 7), ("pot", 8), ("seats", 9),
)  # fmt: skip
_OF_DECISIONS = (
    ("time", 10), ("seat", 5), ("player", 6), ("decision", 10), ("rule", 15), ("policy", 6),
)  # fmt: skip
_IF_WIDE = ("game", "board")
_WIDE = 110
_NAME = 8
_BAR = 10
_LEAST = 6
"""Lines that the tables and the decisions are given at the least."""
_OTHER_LINES = 11
"""What stands around them."""


@dataclass(slots=True)
class _Seat:
    """An open turn."""

    turn_id: str
    state: State
    since: int
    until: int | None
    decided: str = ""


@dataclass(slots=True)
class View:
    """What there is to see; a rich renderable.  Told what happens, it is drawn when asked."""

    title: str
    clock: Clock
    total: int
    """How many events there will be."""
    _count: int = 0
    _rows: int = 0
    _scenes: dict[str, Scene] = field(default_factory=dict)
    _seats: dict[tuple[str, int], _Seat] = field(default_factory=dict)
    _decisions: deque[tuple[str, ...]] = field(default_factory=lambda: deque(maxlen=100))

    # -- What happens

    def sent(self, sent: Sent) -> None:
        """An event has been published."""
        self._count += 1
        self._scenes[sent.table_id] = sent.scene
        match sent.name:
            case Trigger.TURN_STARTED:
                data = sent.event["data"]
                state = State.DISCARDING if data["kind"] == "discard" else State.ACTING
                until = sent.stamp + from_seconds(data["turn_seconds"])
                self._seats[_key(sent.event)] = _Seat(data["turn_id"], state, sent.stamp, until)
            case Trigger.TURN_ACTED:
                self._seats.pop(_key(sent.event), None)
            case Trigger.TABLE_CLOSED:
                del self._scenes[sent.table_id]
            case _:
                pass

    def received(self, event: Mapping[str, Any]) -> None:
        """The service has published something."""
        kind, data = name_of(event), event["data"]
        if kind == SeatChanged.name and (seat := self._turn(event)):
            seat.state = State(data["to"])
            seat.since = from_rfc3339(event["time"])
            seat.until = data["until"] and from_rfc3339(data["until"])
        elif kind == DecisionMade.name:
            rule, done = Rule(data["rule"]), action_of(data)
            name, _ = self._scenes[data["table_id"]].seats[data["seat"]]
            where = f"{_short(data['table_id'])}/{data['seat']}"
            why = (GROUNDS[rule].source, BRIEFLY[rule])
            self._decisions.append((clock_of(event["time"]), where, name, done, rule, *why))
            if seat := self._turn(event):
                seat.decided = f"{done}: {rule}"

    def _turn(self, event: Mapping[str, Any]) -> _Seat | None:
        """Return the open turn that an event is about."""
        seat = self._seats.get(_key(event))
        return seat if seat and seat.turn_id == event["data"]["turn_id"] else None

    # -- How it looks

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        now = self.clock.now()
        is_wide = options.max_width >= _WIDE
        room = max(2 * _LEAST, console.height - _OTHER_LINES)
        most = max(self._rows, len(self._scenes)) if self._scenes else 0
        self._rows = min(most, room - _LEAST)
        time = clock_of(to_rfc3339(now))
        yield Text.assemble(("seatwarden demo", "bold"), f"  {self.title}  {time}", end="\n\n")
        if self._rows:
            yield self._tables(now, is_wide=is_wide)
            yield Text()
        yield self._last(room - self._rows, is_wide=is_wide)
        yield Text()
        yield self._progress()

    def _tables(self, now: int, *, is_wide: bool) -> Table:
        table = _table()
        for title, width in _COLUMNS:
            if is_wide or title not in _IF_WIDE:
                table.add_column(title, width=width, no_wrap=True)
        table.add_column("on turn", no_wrap=True, ratio=1)
        scenes = sorted(self._scenes.values(), key=lambda one: int(_short(one.table_id)))
        for scene in scenes[: self._rows]:
            wide = (scene.variant.replace("_", " "), scene.board) if is_wide else ()
            table.add_row(
                _short(scene.table_id), *wide, scene.street, f"{scene.pot} BB",
                self._in_seats(scene), self._on_turn(scene, now),
            )  # fmt: skip
        for _ in range(self._rows - len(self._scenes)):
            table.add_row()
        return table

    def _in_seats(self, scene: Scene) -> Text:
        """Show who is here, away or out; whose turn it is, reversed."""
        text = Text()
        for number, (_, standing) in sorted(scene.seats.items()):
            glyph, colour = _SEATS[standing]
            is_on_turn = (scene.table_id, number) in self._seats
            text.append(glyph, f"reverse {colour}" if is_on_turn else colour)
        return text

    def _on_turn(self, scene: Scene, now: int) -> Text:
        """Show whose turn it is, in which state and how long yet; of several the first to end."""
        turns = [
            (seat.until or 0, number, seat)
            for (table_id, number), seat in self._seats.items()
            if table_id == scene.table_id
        ]
        if not turns:
            return Text()
        _, number, seat = min(turns, key=lambda turn: turn[:2])
        name, _ = scene.seats[number]
        more = f" +{len(turns) - 1}" if len(turns) > 1 else ""
        text = Text(f"{name}{more}".ljust(_NAME))
        if seat.until is None:
            return text.append(seat.decided, "bold")
        left = max(0, seat.until - now)
        full = round(_BAR * left / max(1, seat.until - seat.since))
        colour = COLOURS.get(seat.state, "")
        return text.append(
            f"{seat.state:<19}{left / SECOND:5.1f} s {'━' * min(full, _BAR)}", colour
        )

    def _last(self, lines: int, *, is_wide: bool) -> Table:
        table = _table()
        first = 0 if is_wide else 1
        for title, width in _OF_DECISIONS[first:]:
            table.add_column(title, width=width, no_wrap=True)
        table.add_column("because", no_wrap=True, ratio=1)
        last = list(self._decisions)[-lines:]
        for decision in last:
            table.add_row(*decision[first:])
        for _ in range(lines - len(last)):
            table.add_row()
        return table

    def _progress(self) -> Table:
        grid = Table.grid(expand=True, padding=(0, 1))
        grid.add_column(ratio=1)
        grid.add_column(justify="right")
        bar = ProgressBar(self.total, self._count)
        legend = Text(" ").join(
            Text.assemble((glyph, colour), f" {standing}")
            for standing, (glyph, colour) in _SEATS.items()
        )
        grid.add_row(bar, Text.assemble(f"{self._count} of {self.total} events   ", legend))
        return grid


def _table() -> Table:
    return Table(box=SIMPLE_HEAD, expand=True, show_edge=False, padding=(0, 1, 0, 0))


def _key(event: Mapping[str, Any]) -> tuple[str, int]:
    table_id, _, seat = event["subject"].partition("/")
    return table_id, int(seat)


def _short(table_id: str) -> str:
    return table_id.rpartition("-")[2]
