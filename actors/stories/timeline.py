"""The timeline of a closed turn: the record that answers "why was I folded?".

One CloudEvent.  A turn that was decided has two: one with the decision, and a fuller one when the
engine has closed it; who reads takes the fuller (`fullness`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from actors.stories.story import (
    Advised,
    Change,
    Decision,
    Entry,
    Input,
    KnownSession,
    Moved,
    Story,
    Uncovered,
)
from statecharts.chart import TABLE
from statecharts.decisions import SOURCE
from statecharts.digests import long
from statecharts.instants import MILLISECOND, SECOND, to_rfc3339
from statecharts.kernel import ABANDONED
from statecharts.presence import Status
from statecharts.rules import GROUNDS, Rule

NAME = "turn.timeline"
TYPE = f"seatwarden.{NAME}.v1"

_WHY = {line.id: line.why for line in (*TABLE, ABANDONED)}


class Timeline(NamedTuple):
    """A turn's story, told when it closed: `at`, in microseconds since 1970."""

    table_id: str
    seat: int
    at: int
    story: Story

    @property
    def id(self) -> str:
        """The same for the same turn, told as far."""
        told = len(self.story.entries) + self.story.left_out
        return long(NAME, self.table_id, self.seat, self.story.turn_id, told)

    def as_json(self) -> dict[str, Any]:
        """Return the CloudEvent, as JSON types."""
        story = self.story
        name, digest = story.policy
        return {
            "specversion": "1.0",
            "id": self.id,
            "source": SOURCE,
            "type": TYPE,
            "time": _written(self.at),
            "subject": f"{self.table_id}/{self.seat}",
            "datacontenttype": "application/json",
            "data": {
                "table_id": self.table_id,
                "seat": self.seat,
                "hand_id": story.hand_id,
                "turn_id": story.turn_id,
                "player_id": story.player_id,
                "policy": {"name": name, "digest": digest},
                "facts": {"sessions": [_session(one) for one in story.sessions]},
                "entries": [_WRITERS[type(entry)](entry) for entry in story.entries],
                "left_out": story.left_out,
            },
        }


def fullness(record: Mapping[str, Any]) -> int:
    """Say how far a record tells its turn: of two of one turn, the one with more holds both."""
    data = record["data"]
    return len(data["entries"]) + int(data["left_out"])


def session_digest(id_: int) -> str:
    """Write the digest of a session's id: of 64 bits, which are too many for a JSON number."""
    return f"{id_:016x}"


def _session(one: KnownSession) -> dict[str, Any]:
    return {
        "session": session_digest(one.id),
        "status": Status(one.status).name.lower(),
        "time": _written(one.stamp),
        "since": _written(one.since),
    }


def _input(entry: Input) -> dict[str, Any]:
    told: dict[str, Any] = {
        "what": "input",
        "type": entry.name,
        "id": entry.id,
        "source": entry.source,
        "time": _stamp(entry.stamp),
        "arrival": _written(entry.arrival),
        "received": _stamp(entry.received),
        "reference": _written(entry.reference),
        "verdict": entry.verdict,
        "line": entry.line,
        "why": entry.reason or _WHY.get(entry.line or ""),
    }
    if entry.code is not None:
        told["code"] = entry.code
    if entry.connected is not None:
        told["connected"] = entry.connected
    facts = {
        name: [*value] if isinstance(value, tuple) else value for name, value in entry.facts.items()
    }
    return {**told, "facts": facts}


def _change(entry: Change) -> dict[str, Any]:
    told: dict[str, Any] = {
        "what": "change",
        "at": _written(entry.at),
        "from": str(entry.source),
        "to": str(entry.target),
        "trigger": str(entry.trigger),
        "until": _stamp(entry.until),
        "line": entry.row,
        "why": _WHY.get(entry.row),
        "connected": entry.connected,
    }
    if entry.budget_left_ms is not None:
        told["budget_left_ms"] = entry.budget_left_ms
    if entry.noticed is None:
        return told
    return {**told, "noticed": _written(entry.noticed), "late_ms": _late(entry.at, entry.noticed)}


def _moved(entry: Moved) -> dict[str, Any]:
    return {
        "what": "interruption",
        "at": _written(entry.at),
        "start": _stamp(entry.start),
        "end": _stamp(entry.end),
        "until": _stamp(entry.until),
    }


def _decision(entry: Decision) -> dict[str, Any]:
    ground = GROUNDS[Rule(entry.rule)]
    return {
        "what": "decision",
        "action": str(entry.action),
        **({} if entry.card is None else {"card": entry.card}),
        "rule": str(entry.rule),
        "basis": str(entry.basis),
        "point": ground.source,
        "sentence": ground.sentence,
        "deadline": _written(entry.at),
        "noticed": _written(entry.noticed),
        "late_ms": _late(entry.at, entry.noticed),
        "connected": entry.connected,
        **({} if entry.budget_left_ms is None else {"budget_left_ms": entry.budget_left_ms}),
        **({} if entry.protection_left is None else {"protection_left": entry.protection_left}),
    }


def _advised(entry: Advised) -> dict[str, Any]:
    return {"what": "advice", **entry._asdict(), "at": _written(entry.at)}


def _uncovered(entry: Uncovered) -> dict[str, Any]:
    return {"what": "uncovered", "at": _written(entry.at), "reason": entry.reason}


_WRITERS: Mapping[type[Entry], Callable[[Any], dict[str, Any]]] = {
    Input: _input,
    Change: _change,
    Moved: _moved,
    Decision: _decision,
    Advised: _advised,
    Uncovered: _uncovered,
}


def _late(at: int, noticed: int) -> int:
    return max(0, noticed - at) // MILLISECOND


def _stamp(instant: int | None) -> str | None:
    return None if instant is None else _written(instant)


def _written(instant: int) -> str:
    """Write a stamp as `to_rfc3339` does; a record has a dozen, many of the same second."""
    second, rest = divmod(instant, SECOND)
    return f"{_up_to_the_second(second)}{rest:06}Z"


@lru_cache(maxsize=1024)
def _up_to_the_second(second: int) -> str:
    return to_rfc3339(second * SECOND).removesuffix("000000Z")
