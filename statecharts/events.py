"""What gateways and engines publish: CloudEvents 1.0 in structured JSON mode.

`decode` takes the bytes of one message to an `Event`, or raises a `Refusal` with its
code: `too-large` for a limit, `malformed` for what is no CloudEvent, `unknown-type`, and `invalid`
for an attribute or field that is missing or of the wrong type.  Unknown ones are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pydantic_core
from pydantic import ValidationError

from statecharts import instants
from statecharts.lines import Trigger
from statecharts.payloads import MAX_STRING, OF_A_TABLE, PAYLOADS, TURNS, Data
from statecharts.refusals import Code, Identity, Refusal
from statecharts.wording import faults

MAX_BYTES = 64 * 1024
MAX_DEPTH = 16
MAX_ERRORS_TOLD = 3
CONTENT_TYPE = "application/cloudevents+json"

_TYPE = re.compile(r"seatwarden\.([a-z_.]+)\.v1", re.ASCII)
TABLE = r"[A-Za-z0-9_.:-]{1,64}"
"""What a table_id may be."""
_SUBJECT_SEAT = re.compile(rf"({TABLE})/(10|[1-9])", re.ASCII)
_SUBJECT_TABLE = re.compile(rf"({TABLE})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its envelope, read, and its payload (of `payloads`)."""

    id: str
    source: str
    name: Trigger
    stamp: int
    """`time`, in microseconds since 1970, by the source's clock."""
    table_id: str
    """Empty for `gateway.reset`."""
    seat: int | None
    """None for what concerns a whole table or more."""
    data: Any
    arrival: int | None = None
    """The extension attribute `arrival`, which only the simulator believes."""

    @property
    def identity(self) -> Identity:
        """Whom the event concerns."""
        names = ("hand_id", "turn_id", "player_id")
        ids = {name: getattr(self.data, name, None) for name in names}
        return Identity(self.source, self.id, self.table_id or None, self.seat, **ids)


def decode(body: bytes) -> Event:
    """Read one message; raises Refusal."""
    if len(body) > MAX_BYTES:
        raise Refusal(Code.TOO_LARGE, f"{len(body)} bytes, at most {MAX_BYTES} are taken")
    try:
        raw = pydantic_core.from_json(body, allow_inf_nan=False)
    except ValueError as error:
        if "recursion limit" in str(error):
            raise _too_deep() from None
        raise Refusal(Code.MALFORMED, f"not JSON in UTF-8: {error}") from None
    if not isinstance(raw, dict):
        raise Refusal(Code.MALFORMED, "not a JSON object: a CloudEvent in structured mode is one")
    _check_limits(raw, 1)
    return _read(raw)


def _read(raw: dict[str, Any]) -> Event:
    identity = _identity(raw)
    if raw.get("specversion") != "1.0":
        raise Refusal(Code.MALFORMED, 'specversion: must be "1.0" (CloudEvents)', identity)
    for name in ("id", "source", "type"):
        if not isinstance(raw.get(name), str) or not raw[name]:
            raise Refusal(Code.MALFORMED, f"{name}: must be a string, not empty", identity)
    match = _TYPE.fullmatch(raw["type"])
    if not match or match[1] not in _NAMES:
        known = ", ".join(f"seatwarden.{name}.v1" for name in _NAMES)
        raise Refusal(Code.UNKNOWN_TYPE, f"type {raw['type']!r}: known are {known}", identity)
    name = _NAMES[match[1]]
    table_id, seat = _subject(raw, name, identity)
    return Event(
        id=raw["id"],
        source=raw["source"],
        name=name,
        stamp=_stamp(raw, "time", identity),
        table_id=table_id,
        seat=seat,
        data=_payload(raw, name, identity),
        arrival=_stamp(raw, "arrival", identity) if "arrival" in raw else None,
    )


def _subject(raw: dict[str, Any], name: Trigger, identity: Identity) -> tuple[str, int | None]:
    if name is Trigger.GATEWAY_RESET:
        return "", None
    subject = raw.get("subject")
    text = subject if isinstance(subject, str) else ""
    if name in OF_A_TABLE:
        if match := _SUBJECT_TABLE.fullmatch(text):
            return match[1], None
        wanted = "<table_id>"
    else:
        if match := _SUBJECT_SEAT.fullmatch(text):
            return match[1], int(match[2])
        wanted = "<table_id>/<seat>, seats 1 to 10"
    detail = f"subject: {name} wants {wanted}; a table_id has 1 to 64 of letters, digits, _ . : -"
    raise Refusal(Code.INVALID, detail, identity)


def _stamp(raw: dict[str, Any], attribute: str, identity: Identity) -> int:
    text = raw.get(attribute)
    try:
        return instants.from_rfc3339(text if isinstance(text, str) else "")
    except ValueError as error:
        raise Refusal(Code.INVALID, f"{attribute}: {error}", identity) from None


def _payload(raw: dict[str, Any], name: Trigger, identity: Identity) -> Data:
    data = raw.get("data")
    if data is None:  # optional in CloudEvents; what is required is told field by field
        data = {}
    if not isinstance(data, dict):
        raise Refusal(Code.INVALID, "data: must be a JSON object", identity)
    kind = data.get("kind", "betting")
    if name is Trigger.TURN_STARTED and (not isinstance(kind, str) or kind not in TURNS):
        raise Refusal(Code.INVALID, f"data.kind: must be one of {', '.join(TURNS)}", identity)
    model: type[Data] = TURNS[kind] if name is Trigger.TURN_STARTED else PAYLOADS[name]
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise Refusal(Code.INVALID, _told(error), identity) from None


def _told(error: ValidationError) -> str:
    """Say which fields are wrong and how: the first few."""
    found = faults(error, "amounts")
    told = "; ".join(f"data.{fault}" for fault in found[:MAX_ERRORS_TOLD])
    more = len(found) - MAX_ERRORS_TOLD
    return f"{told}; and {more} more" if more > 0 else told


def _identity(raw: Mapping[str, Any]) -> Identity:
    """Read what can be read of a message that may be refused."""
    data = raw.get("data")
    fields: Mapping[str, Any] = data if isinstance(data, dict) else {}
    subject = raw.get("subject")
    match = _SUBJECT_SEAT.fullmatch(subject) if isinstance(subject, str) else None
    table = _SUBJECT_TABLE.fullmatch(subject) if isinstance(subject, str) else None
    return Identity(
        source=_text(raw.get("source")),
        id=_text(raw.get("id")),
        table_id=match[1] if match else table[1] if table else None,
        seat=int(match[2]) if match else None,
        hand_id=_text(fields.get("hand_id")),
        turn_id=_text(fields.get("turn_id")),
        player_id=_text(fields.get("player_id")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _check_limits(value: object, depth: int) -> None:
    if isinstance(value, str):
        if len(value) > MAX_STRING:
            detail = f"a string of {len(value)} characters, at most {MAX_STRING} are taken"
            raise Refusal(Code.TOO_LARGE, detail)
    elif isinstance(value, dict | list):
        if depth > MAX_DEPTH:
            raise _too_deep()
        if isinstance(value, dict):
            for key in value:
                _check_limits(key, depth + 1)
        for inner in value.values() if isinstance(value, dict) else value:
            _check_limits(inner, depth + 1)


def _too_deep() -> Refusal:
    return Refusal(Code.TOO_LARGE, f"nested deeper than {MAX_DEPTH} levels")


_NAMES = {name.value: name for name in (Trigger.TURN_STARTED, *PAYLOADS)}
