"""What the service publishes: decisions, changes of state and notices.

Each is one CloudEvent whose id and bytes depend only on what it says: published twice, it is the
same.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from statecharts.digests import long
from statecharts.instants import to_rfc3339
from statecharts.lines import State, Trigger
from statecharts.refusals import Code
from statecharts.rules import Action, Basis, Rule

SOURCE = "/seatwarden"


class PolicyName(BaseModel):
    """The policy that was applied, and the fingerprint of its rules."""

    model_config = ConfigDict(frozen=True)

    name: str
    digest: str


class Output(BaseModel):
    """Anything published.  Instants are microseconds since 1970; `at` is the event's `time`."""

    model_config = ConfigDict(frozen=True)
    name: ClassVar[str]

    at: int
    table_id: str | None
    seat: int | None

    @property
    def subject(self) -> str | None:
        """`<table_id>/<seat>`, or as much of it as is known."""
        return (
            "/".join(str(part) for part in (self.table_id, self.seat) if part is not None) or None
        )

    @property
    def routing_key(self) -> str:
        """`<name>.<table_id>.<seat>`, dots of the table id replaced; `-` for what is not known."""
        table = (self.table_id or "-").replace(".", "-")
        return f"{self.name}.{table}.{'-' if self.seat is None else self.seat}"

    def id(self) -> str:
        """The same for the same output, for ever; different for any other."""
        raise NotImplementedError

    def data(self) -> dict[str, Any]:
        """The payload, as JSON types."""
        raise NotImplementedError

    def cloudevent(self) -> dict[str, Any]:
        """The whole message, in the order in which it is written."""
        envelope = {
            "specversion": "1.0",
            "id": self.id(),
            "source": SOURCE,
            "type": f"seatwarden.{self.name}.v1",
            "time": to_rfc3339(self.at),
        }
        if self.subject:
            envelope["subject"] = self.subject
        return {**envelope, "datacontenttype": "application/json", "data": self.data()}

    def encoded(self) -> bytes:
        """The bytes of the message: one line of JSON in UTF-8."""
        return json.dumps(self.cloudevent(), ensure_ascii=False, separators=(",", ":")).encode()


class OfATurn(Output):
    """What concerns one turn of one seat."""

    table_id: str
    seat: int
    hand_id: str
    turn_id: str
    player_id: str
    seq: int

    def id(self) -> str:
        return long(self.name, self.table_id, self.seat, self.turn_id, self.seq)

    def data(self) -> dict[str, Any]:
        return {
            "table_id": self.table_id,
            "seat": self.seat,
            "hand_id": self.hand_id,
            "turn_id": self.turn_id,
            "player_id": self.player_id,
            "seq": self.seq,
        }


def _told(**optional: float | None) -> dict[str, float]:
    """Return what there is to tell."""
    return {name: value for name, value in optional.items() if value is not None}


class DecisionMade(OfATurn):
    """A decision for the player; `at` is its deadline, `late_ms` how long after it it was made."""

    name = "decision.made"

    action: Action
    card: str | None
    rule: Rule
    basis: Basis
    policy: PolicyName
    connected: bool
    to_call: int | str | None
    time_bank_used_ms: int
    late_ms: int
    budget_left_ms: int | None = None
    """Of his disconnection time, under a policy that has a budget of it."""
    protection_left: int | None = None
    """How often all-in protection is left, under a policy that has it."""

    def id(self) -> str:
        """One decision per turn: the id of a turn's decision needs no more than the turn."""
        return long(self.name, self.table_id, self.turn_id)

    def data(self) -> dict[str, Any]:
        return {
            **super().data(),
            "action": self.action.value,
            **({"card": self.card} if self.action is Action.DISCARD else {}),
            "rule": self.rule.value,
            "basis": self.basis.value,
            "policy": self.policy.model_dump(),
            "connected": self.connected,
            "deadline": to_rfc3339(self.at),
            "to_call": self.to_call,
            "time_bank_used_ms": self.time_bank_used_ms,
            "late_ms": self.late_ms,
            **_told(budget_left_ms=self.budget_left_ms, protection_left=self.protection_left),
        }


class SeatChanged(OfATurn):
    """A change of state; `until` is the new state's end, if it has one."""

    name = "seat.changed"

    from_: State
    to: State
    trigger: Trigger
    until: int | None
    connected: bool
    time_bank_used_ms: int | None = None
    """Told on the change that closes the turn: from an open state to decided or idle."""
    budget_left_ms: int | None = None
    """Told there too, under a policy that has a budget."""

    def data(self) -> dict[str, Any]:
        return {
            **super().data(),
            "from": self.from_.value,
            "to": self.to.value,
            "trigger": self.trigger.value,
            "until": None if self.until is None else to_rfc3339(self.until),
            "connected": self.connected,
            **_told(time_bank_used_ms=self.time_bank_used_ms, budget_left_ms=self.budget_left_ms),
        }


class TurnUncovered(OfATurn):
    """The policy does not cover a turn: nothing will be decided; once per hand and seat."""

    name = "turn.uncovered"

    policy: PolicyName
    reason: Literal["format", "kind", "variant", "failed"]

    def data(self) -> dict[str, Any]:
        return {**super().data(), "policy": self.policy.model_dump(), "reason": self.reason}


class SeatAdvice(OfATurn):
    """What the policy would have the backend do with a seat whose player does not come back.

    `decisions` and `hands` count what was decided while he was away, since he last acted himself.
    """

    name = "seat.advice"

    policy: PolicyName
    advice: Literal["sit_out", "vacate"]
    when: Literal["at_once", "hand_end"]
    decisions: int
    hands: int
    at_most_seconds: float | None

    def data(self) -> dict[str, Any]:
        return {
            **super().data(),
            "policy": self.policy.model_dump(),
            "advice": self.advice,
            "when": self.when,
            "decisions": self.decisions,
            "hands": self.hands,
            **_told(at_most_seconds=self.at_most_seconds),
        }


class ConnectionStorm(Output):
    """Many players of one policy have lost their connection at once, in one shard.

    `lost` of `open_turns` players with an open turn, of all gateways or of `gateway` alone; where
    the policy holds decisions, until `held_until`.
    """

    name = "connection.storm"

    policy: PolicyName
    gateway: str | None
    lost: int
    open_turns: int
    within_seconds: float
    held_until: int | None
    one_of_them: str
    """The table and seat of one who was lost: no two shards have the same."""

    def id(self) -> str:
        return long(self.name, self.policy.digest, self.gateway or "", self.one_of_them, self.at)

    def data(self) -> dict[str, Any]:
        return {
            "policy": self.policy.model_dump(),
            "gateway": self.gateway,
            "lost": self.lost,
            "open_turns": self.open_turns,
            "within_seconds": self.within_seconds,
            "held_until": None if self.held_until is None else to_rfc3339(self.held_until),
            "one_of_them": self.one_of_them,
        }


class EventRefused(Output):
    """A message was refused; its original bytes are in the dead letters."""

    name = "event.refused"

    refused_source: str | None
    refused_id: str | None
    hand_id: str | None
    turn_id: str | None
    player_id: str | None
    code: Code
    detail: str
    body: str
    """Digest of the refused bytes: what makes the id of an unreadable message its own."""

    def id(self) -> str:
        # A message that comes twice is refused twice, and each refusal has a time of its own.
        return long(self.name, self.refused_source, self.refused_id, self.code, self.body, self.at)

    def data(self) -> dict[str, Any]:
        optional = {
            "table_id": self.table_id,
            "seat": self.seat,
            "hand_id": self.hand_id,
            "turn_id": self.turn_id,
            "player_id": self.player_id,
        }
        return {
            "refused_source": self.refused_source,
            "refused_id": self.refused_id,
            "code": self.code.value,
            "detail": self.detail,
            **{name: value for name, value in optional.items() if value is not None},
        }
