"""Events as publishers write them, and what a shard answers, in the words of the model."""

import json
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from actors.shard import Applied, Shard
from statecharts.decisions import DecisionMade, Output, SeatChanged
from statecharts.events import decode
from tests.property.model import SECOND, Step, Told

START = 1_767_225_600 * SECOND
"""Midnight, 1 January 2026."""
OF_A_TABLE = ("hand.ended", "table.closed")

Seat = tuple[str, int]


def rfc3339(instant: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant)
    return moment.isoformat(timespec="microseconds")


def cloudevent(told: Told) -> dict[str, Any]:
    event = {
        "specversion": "1.0",
        "id": told.id,
        "source": told.source,
        "type": f"seatwarden.{told.type}.v1",
        "time": rfc3339(told.stamp),
        "data": dict(told.data),
    }
    if told.type in OF_A_TABLE:
        event["subject"] = told.table
    elif told.type != "gateway.reset":
        event["subject"] = f"{told.table}/{told.seat}"
    return event


def encoded(told: Told) -> bytes:
    return json.dumps(cloudevent(told)).encode()


def tell(shard: Shard, told: Told, at: int) -> Applied:
    return shard.apply(decode(encoded(told)), at)


def steps(outputs: Iterable[Output]) -> dict[Seat, list[Step]]:
    """Return each seat's changes in the model's form, a decision with the change that tells it."""
    found: dict[Seat, list[Step]] = defaultdict(list)
    decisions = {
        (one.table_id, one.turn_id): one for one in outputs if isinstance(one, DecisionMade)
    }
    for one in outputs:
        if isinstance(one, SeatChanged):
            made = decisions.get((one.table_id, one.turn_id)) if one.to == "auto_action" else None
            used = one.time_bank_used_ms
            found[one.table_id, one.seat].append(
                Step(
                    one.at,
                    one.turn_id,
                    one.to.value,
                    one.until,
                    made and (made.action.value, made.rule.value, made.card),
                    None if used is None else used * 1000,
                )
            )
    return found


def scenario(heard: Iterable[tuple[Told, int]], expected: Iterable[Step] = ()) -> str:
    """Write what was told as a scenario file, for a report."""
    lines = ["policy: adda52", "scenarios:", "  - name: found by chance", "    events:"]
    for told, at in heard:
        extra: dict[str, Any] = {"source": told.source}
        if told.seat > 1:
            extra["seat"] = told.seat
        if at != told.stamp:
            extra["arrives"] = _seconds(at)
        fields = json.dumps({**told.data, **extra})
        lines.append(f"      - [{_seconds(told.stamp)}, {told.type}, {fields}]")
    lines.append("    states: [" + ", ".join(
        f"[{_seconds(s.at)}, {s.state}" + (f", {_seconds(s.until)}]" if s.until else "]")
        for s in expected) + "]")  # fmt: skip
    return "\n".join(lines)


def _seconds(instant: int) -> float:
    return (instant - START) / SECOND


def told_in_short(steps_: Iterable[Step]) -> list[str]:
    """Return steps as lines that a reader can compare."""
    return [
        " ".join(
            str(part)
            for part in (
                _seconds(s.at),
                s.turn_id,
                s.state,
                *(["until", _seconds(s.until)] if s.until else []),
                *(s.decision or ()),
                *([] if s.bank_used is None else [f"bank {s.bank_used / SECOND}"]),
            )
        )
        for s in steps_
    ]
