"""Hands on record as events: each turn as it was played, with connections made up by chance.

The hand goes its recorded way whatever is decided at its turns, so that every turn is met as the
record has it, under any policy.  Each hand has a table of its own, and a turn begins when all that
happens around the one before is over.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

from actors.demo import records
from actors.demo.game import BettingTurn, Game, Turn
from actors.demo.records import Record, RecordError
from actors.demo.voice import facts
from actors.replays import absences
from actors.replays.absences import BEFORE, Course, Habits
from actors.replays.recorded import Format
from statecharts.instants import SECOND, from_rfc3339, from_seconds, to_rfc3339
from statecharts.lines import Trigger

START = from_rfc3339("2026-01-01T00:00:00Z")
ENGINE, GATEWAY = "/engines/replay", "/gateways/replay"
_LEAD = from_seconds(BEFORE + 5)
"""So long before a turn its player is connected, on a new connection."""
_CHOOSES = 0.5


@dataclass(frozen=True, slots=True)
class _Played:
    """One turn of a record: its seat, and what `turn.started` says of the game."""

    seat: int
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Hand:
    """A hand as it was played; its name is that of its file, and its number there."""

    name: str
    variant: str
    turns: tuple[_Played, ...]


def load(paths: Sequence[Path]) -> list[Hand]:
    """Read the hands of files, or the bundled ones if there are none.

    Raises RecordError for a file that cannot be read, has no hand with blinds, or has one that
    cannot be played.
    """
    if not paths:
        return [_played(record) for record in records.bundled()]
    found: list[Hand] = []
    for path in paths:
        of_file = records.read(path)
        if not of_file:
            raise RecordError(f"{path}: no hand with blinds in it")
        for record in of_file:
            try:
                found.append(_played(record))
            except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
                raise RecordError(f"{path}: {record.name}: cannot be played: {error}") from None
    return found


def lines(
    hands: Sequence[Hand], habits: Habits, *, seed: int, times: int, as_format: Format
) -> Iterator[bytes]:
    """Yield the events of all hands, each `times` times, as lines for `seatwarden simulate`."""
    table = _Table(habits, as_format)
    for hand in hands:
        for time in range(1, times + 1):
            chance = random.Random(f"{seed}/{hand.name}/{time}")  # noqa: S311 - no secrets
            yield from table.hand(f"{hand.name}#{time}" if times > 1 else hand.name, hand, chance)


def _played(record: Record) -> Hand:
    """Play a hand as recorded, and return its turns, those of one moment one after another."""
    game, played = Game(record), []
    forced: dict[int, Decimal] = {}
    while turns := game.next():
        for turn in turns:
            played.append(_Played(record.seats[turn.player], _facts(turn, forced)))
            game.play_record(turn)
    return Hand(record.name.replace(" ", "-"), record.variant, tuple(played))


def _facts(turn: Turn, forced: dict[int, Decimal]) -> dict[str, Any]:
    """Return what is told of a turn; before his first a player has put in what he had to."""
    if not isinstance(turn, BettingTurn):
        return facts(turn)
    had_to = forced.setdefault(turn.player, turn.contributed)
    return {**facts(turn), "contributed_voluntarily": f"{turn.contributed - had_to:f}"}


class _Table:
    """Makes the events, hand after hand; `_start` is when the next turn begins."""

    def __init__(self, habits: Habits, as_format: Format) -> None:
        self._habits = habits
        self._format = as_format
        self._slot = _LEAD + from_seconds(absences.longest(habits) + 5)
        self._start = START + _LEAD
        self._tables = count(1)
        self._ids = count(1)
        self._id = ""

    def hand(self, hand_id: str, hand: Hand, chance: random.Random) -> Iterator[bytes]:
        """Yield the events of one hand, under an id that is no other hand's."""
        self._id = f"table-{next(self._tables)}"
        for number, turn in enumerate(hand.turns, 1):
            ids = {"hand_id": hand_id, "turn_id": f"{hand_id}/{number}"}
            about = {**ids, "variant": hand.variant, "format": self._format, **turn.facts}
            yield from self._turn(turn.seat, about, chance)
            self._start += self._slot
        ended = self._line(Trigger.HAND_ENDED, self._start - _LEAD, {"hand_id": hand_id})
        yield ended[1]

    def _turn(self, seat: int, about: dict[str, Any], chance: random.Random) -> Iterator[bytes]:
        """Yield the events around one turn in order of arrival."""
        course = absences.draw(self._habits, chance)
        ids = {key: about[key] for key in ("hand_id", "turn_id")}
        player = {"player_id": f"p{seat}"}
        told = {**player, **about, "turn_seconds": self._habits.turn_seconds}
        if course.bank and about["kind"] == "betting":
            told["time_bank_seconds"] = course.bank / SECOND
        made = [
            *self._connections(seat, player, course, about["turn_id"]),
            self._line(Trigger.TURN_STARTED, self._start, told, seat=seat),
        ]
        if about["kind"] == "discard":
            made += self._choice(seat, about, course, chance)
        if course.acts is not None:
            at = self._start + course.acts
            made.append(self._line(Trigger.TURN_ACTED, at, {**ids, "by": "player"}, seat=seat))
        made.sort(key=lambda one: one[0])
        yield from (line for _, line in made)

    def _connections(
        self, seat: int, player: Mapping[str, str], course: Course, turn_id: str
    ) -> Iterator[tuple[int, bytes]]:
        first, second = f"{turn_id}/1", f"{turn_id}/2"
        up, down = Trigger.PLAYER_CONNECTED, Trigger.PLAYER_DISCONNECTED
        fresh = {**player, "session_id": first, "sole": True}
        yield self._line(up, self._start - _LEAD, fresh, seat=seat, source=GATEWAY)
        if course.back is not None:
            data = {**player, "session_id": second}
            yield self._line(up, self._start + course.back, data, seat=seat, source=GATEWAY)
        for session, loss in zip((first, second), course.losses, strict=False):
            yield self._line(
                down, self._start + loss.at, {**player, "session_id": session},
                seat=seat, source=GATEWAY, arrival=self._start + loss.heard,
            )  # fmt: skip

    def _choice(
        self, seat: int, about: Mapping[str, Any], course: Course, chance: random.Random
    ) -> Iterator[tuple[int, bytes]]:
        """Have half of the players choose a card while they are there, some before the timer."""
        lost = course.losses[0].at if course.losses else from_seconds(self._habits.turn_seconds)
        wants, at = chance.random() < _CHOOSES, chance.uniform(-0.5, 1) * lost
        card = chance.choice(about["cards"])
        if wants and lost > 0:
            data = {"hand_id": about["hand_id"], "card": card}
            at = self._start + from_seconds(round(at / SECOND, 3))
            yield self._line(Trigger.CARD_CHOSEN, at, data, seat=seat, source=GATEWAY)

    def _line(
        self,
        name: Trigger,
        at: int,
        data: Mapping[str, Any],
        *,
        seat: int | None = None,
        source: str = ENGINE,
        arrival: int | None = None,
    ) -> tuple[int, bytes]:
        """Return when an event arrives, and its line."""
        event = {
            "specversion": "1.0",
            "id": f"e{next(self._ids)}",
            "source": source,
            "type": f"seatwarden.{name}.v1",
            "time": to_rfc3339(at),
            "subject": self._id if seat is None else f"{self._id}/{seat}",
            **({} if arrival in (None, at) else {"arrival": to_rfc3339(arrival or at)}),
            "data": dict(data),
        }
        return at if arrival is None else arrival, json.dumps(event).encode() + b"\n"
