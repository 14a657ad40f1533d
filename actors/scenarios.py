"""Scenario files: an operator's tests of his policy, played in virtual time (see the README).

`load` reads a file, `play` runs one scenario through the same decoding, shard and chart as the
service and says what differs from what was expected.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from actors import documents, policies
from actors.shards.shard import Shard, refused
from statecharts.decisions import (
    ConnectionStorm,
    DecisionMade,
    EventRefused,
    Output,
    SeatAdvice,
    SeatChanged,
    TurnUncovered,
)
from statecharts.events import decode
from statecharts.instants import SECOND, from_rfc3339, from_seconds, to_rfc3339
from statecharts.lines import Trigger
from statecharts.payloads import OF_A_TABLE
from statecharts.policy import Policies
from statecharts.refusals import Refusal
from statecharts.wording import faults

START = from_rfc3339("2026-01-01T00:00:00Z")
_FOR_EVER = 1 << 62


class ScenarioError(Exception):
    """A scenario file that cannot be played; the message names file, place and reason."""


Seconds = Annotated[float, Field(allow_inf_nan=False, ge=-31_536_000, le=31_536_000)]


_INSTANT = TypeAdapter(Seconds)
Given = tuple[Seconds, str, dict[str, Any]]


class Scenario(BaseModel):
    """One scenario.  Expectations left out are not compared."""

    model_config = ConfigDict(extra="forbid")

    name: str
    events: tuple[Given, ...]
    decisions: tuple[tuple[Any, ...], ...] | None = None
    states: tuple[tuple[Any, ...], ...] | None = None
    uncovered: tuple[tuple[Seconds, str], ...] | None = None
    refused: tuple[tuple[Seconds, str], ...] | None = None
    time_bank_used: tuple[tuple[Seconds, Seconds], ...] | None = None
    advice: tuple[tuple[Any, ...], ...] | None = None
    storms: tuple[tuple[Any, ...], ...] | None = None

    @field_validator("events", mode="before")
    @classmethod
    def _data_may_be_left_out(cls, events: object) -> object:
        if not isinstance(events, list):
            return events
        return [
            [*event[:2], {}] if isinstance(event, list) and event[2:] in ([], [None]) else event
            for event in events
        ]

    @field_validator("events")
    @classmethod
    def _arrive(cls, events: tuple[Given, ...]) -> tuple[Given, ...]:
        for number, (_, _, data) in enumerate(events):
            try:
                _INSTANT.validate_python(data.get("arrives", 0), strict=True)
            except ValidationError:
                limit = "a number of seconds since the start, at most a year from it"
                raise ValueError(f"event {number}: arrives must be {limit}") from None
            try:
                json.dumps(data)
            except (TypeError, ValueError):
                msg = f"event {number}: its data are not those of a message (a date needs quotes)"
                raise ValueError(msg) from None
        return events


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    policy: str | dict[str, Any] = policies.DEFAULT
    scenarios: Annotated[tuple[Scenario, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Difference:
    """What a scenario expected of one kind of output, and what came."""

    what: str
    expected: list[Any]
    came: list[Any]


def load(path: Path, folder: Path | None = None) -> tuple[Policies, tuple[Scenario, ...]]:
    """Read a file, which may name the policies of a folder; raises ScenarioError, PolicyError."""
    try:
        document = documents.load(path.read_text("utf-8"))
        for line, key, reason in document.given_twice():
            raise ScenarioError(f"{path}:{line}: {key}: {reason}")
        file = _File.model_validate(document.value)
    except (OSError, UnicodeDecodeError, documents.DocumentError) as error:
        msg = f"{path}: cannot be read: {error}"
        raise ScenarioError(msg) from None
    except ValidationError as error:
        raise ScenarioError(f"{path}: {faults(error, 'file')[0]}") from None
    for scenario in file.scenarios:
        if all(getattr(scenario, what) is None for what in _KINDS):
            kinds = ", ".join(_KINDS)
            raise ScenarioError(f"{path}: {scenario.name!r} expects nothing: give one of {kinds}")
    if isinstance(file.policy, str):
        return policies.find(file.policy, folder, beside=path.parent), file.scenarios
    written = policies.written_in(document, ("policy",), str(path))
    return policies.with_default(written, folder), file.scenarios


def play(scenario: Scenario, known: Policies) -> list[Difference]:
    """Play one scenario; an empty list means that all came as expected.

    What was refused is told with any other difference: it is often the reason for it.
    """
    outputs = list(_outputs(scenario, known))
    differences = []
    for kind, collect in _KINDS.items():
        expected = getattr(scenario, kind)
        if expected is None:
            continue
        came = collect(outputs)
        if len(expected) != len(came) or not all(map(_agrees, expected, came)):
            differences.append(Difference(kind, [list(one) for one in expected], came))
    refusals = [one for one in outputs if isinstance(one, EventRefused)]
    if differences and refusals:
        told = [[_seconds(one.at), one.code.value, one.detail] for one in refusals]
        differences.append(Difference("refusals", [], told))
    return differences


def _outputs(scenario: Scenario, known: Policies) -> Iterator[Output]:
    """Play the events in order of arrival, then all the deadlines that are left."""
    shard = Shard(known)
    arrivals = []
    for number, (seconds, name, data) in enumerate(scenario.events):
        arrival = START + from_seconds(data.get("arrives", seconds))
        arrivals.append((arrival, _message(str(number), START + from_seconds(seconds), name, data)))
    for arrival, message in sorted(arrivals, key=lambda pair: pair[0]):
        yield from shard.fire(arrival)
        try:
            event = decode(message)
        except Refusal as refusal:
            yield refused(refusal, arrival)
        else:
            yield from shard.apply(event, arrival).outputs
    yield from shard.fire(_FOR_EVER)
    if shard.faults:
        raise shard.faults[0]


def _message(id_: str, stamp: int, name: str, given: Mapping[str, Any]) -> bytes:
    """Write an event as the CloudEvent that a publisher would send, what was left out filled in."""
    data = {key: value for key, value in given.items() if key not in ("arrives", "source")}
    table, seat = data.pop("table", "t1"), data.pop("seat", 1)
    envelope = {
        "specversion": "1.0",
        "id": id_,
        "source": given.get("source", "/scenario"),
        "type": f"seatwarden.{name}.v1",
        "time": to_rfc3339(stamp),
        "subject": f"{table}" if name in OF_A_TABLE else f"{table}/{seat}",
        "data": {**_left_out(name, data, seat), **data},
    }
    return json.dumps(envelope).encode()


def _left_out(name: str, data: Mapping[str, Any], seat: object) -> dict[str, Any]:
    hand = data.get("hand_id", "h1")
    turn = {"hand_id": hand, "turn_id": f"{hand}-1"}
    player = {"player_id": f"p{seat}"}
    if name == Trigger.TURN_STARTED:
        amounts = {"to_call": 0, "contributed": 0, "pots": [0], "big_blind": 100}
        betting = data.get("kind", "betting") == "betting"
        defaults = {"turn_seconds": 20, "format": "cash", **(amounts if betting else {})}
        return {**turn, **player, **defaults}
    others: dict[str, dict[str, Any]] = {
        Trigger.TURN_ACTED: turn,
        Trigger.TURN_CANCELLED: turn,
        Trigger.TURN_EXTENDED: turn,
        Trigger.CARD_CHOSEN: {"hand_id": hand},
        Trigger.HAND_ENDED: {"hand_id": hand},
        Trigger.PLAYER_CONNECTED: {**player, "session_id": "s1"},
        Trigger.PLAYER_DISCONNECTED: {**player, "session_id": "s1"},
        Trigger.PLAYER_AWAY: player,
        Trigger.PLAYER_BACK: player,
        Trigger.SEAT_VACATED: player,
        Trigger.PROTECTION_RESET: player,
    }
    return others.get(name, {})


# Each kind of output, as entries of a file: places in order, then attributes by name.

Entry = list[Any]


def _agrees(expected: tuple[Any, ...], came: Entry) -> bool:
    """Say whether what came is what was expected; what an expectation leaves out is free."""
    *came_places, came_attributes = came
    *places, last = expected
    attributes = last
    if not isinstance(last, dict):
        places, attributes = list(expected), {}
    if came_attributes.keys() == _SEAT_1.keys():
        attributes = {**_SEAT_1, **attributes}
    return came_places[: len(places)] == places and attributes.items() <= came_attributes.items()


def _seconds(instant: int) -> float:
    return (instant - START) / SECOND


def _decisions(outputs: list[Output]) -> list[Entry]:
    return [
        [
            _seconds(one.at),
            one.action.value,
            {
                "rule": one.rule.value,
                **({"card": one.card} if one.card else {}),
                "turn_id": one.turn_id,
                "seat": one.seat,
                "table": one.table_id,
            },
        ]
        for one in outputs
        if isinstance(one, DecisionMade)
    ]


def _states(outputs: list[Output]) -> list[Entry]:
    return [
        [
            _seconds(one.at),
            one.to.value,
            None if one.until is None else _seconds(one.until),
            {"seat": one.seat, "table": one.table_id},
        ]
        for one in outputs
        if isinstance(one, SeatChanged)
    ]


def _uncovered(outputs: list[Output]) -> list[Entry]:
    return [
        [_seconds(one.at), one.turn_id, {}] for one in outputs if isinstance(one, TurnUncovered)
    ]


def _storms(outputs: list[Output]) -> list[Entry]:
    return [
        [
            _seconds(one.at),
            one.lost,
            one.open_turns,
            {
                "gateway": one.gateway,
                "held_until": None if one.held_until is None else _seconds(one.held_until),
            },
        ]
        for one in outputs
        if isinstance(one, ConnectionStorm)
    ]


def _how(one: SeatAdvice) -> dict[str, Any]:
    most = {} if one.at_most_seconds is None else {"at_most_seconds": one.at_most_seconds}
    return {"when": one.when, **most, "seat": one.seat, "table": one.table_id}


def _advice(outputs: list[Output]) -> list[Entry]:
    return [
        [_seconds(one.at), one.advice, _how(one)] for one in outputs if isinstance(one, SeatAdvice)
    ]


def _refused(outputs: list[Output]) -> list[Entry]:
    return [
        [_seconds(one.at), one.code.value, {}] for one in outputs if isinstance(one, EventRefused)
    ]


def _time_bank_used(outputs: list[Output]) -> list[Entry]:
    return [
        [_seconds(one.at), one.time_bank_used_ms / 1000, {}]
        for one in outputs
        if isinstance(one, SeatChanged) and one.time_bank_used_ms is not None
    ]


_SEAT_1 = {"seat": 1, "table": "t1"}
"""Whom an entry of `states` is about unless it says so itself."""
_KINDS: Mapping[str, Callable[[list[Output]], list[Entry]]] = {
    "decisions": _decisions,
    "states": _states,
    "uncovered": _uncovered,
    "refused": _refused,
    "time_bank_used": _time_bank_used,
    "advice": _advice,
    "storms": _storms,
}
