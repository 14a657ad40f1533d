"""What a run came to: how many turns, which decisions, and whether they are those of `simulate`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from actors import simulate
from actors.demo.sent import Sent
from actors.demo.words import name_of
from actors.shards.shard import Shard
from statecharts.decisions import DecisionMade, EventRefused
from statecharts.instants import MILLISECOND, from_rfc3339
from statecharts.lines import Trigger
from statecharts.policy import Policies
from statecharts.rules import Rule

_OWN = ("late_ms", "seq", "deadline")
"""What two services may differ in: how late they were, what they have said of a seat before, and,
where the clocks of the machines differ, when a start was."""

Decisions = Mapping[str, Mapping[str, Any]]
"""The data of each `decision.made`, by turn."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How the decisions that came differ from those of `simulate`."""

    differences: list[str]
    gap_ms: int
    """The most that the deadline of a decision differs by."""


@dataclass(slots=True)
class Tally:
    """What has been sent and what has come so far."""

    events: list[Sent] = field(default_factory=list)
    decisions: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    refused: list[Mapping[str, Any]] = field(default_factory=list)
    """The data of each `event.refused`: there should be none."""
    by_rule: Counter[Rule] = field(default_factory=Counter)
    by_players: int = 0
    """Turns that a player has ended himself."""
    turns: int = 0
    hands: set[str] = field(default_factory=set)

    def sent(self, sent: Sent) -> None:
        """An event has been published."""
        self.events.append(sent)
        self.turns += sent.name is Trigger.TURN_STARTED
        self.hands.add(sent.scene.hand)
        acted = sent.name is Trigger.TURN_ACTED
        self.by_players += acted and sent.event["data"]["by"] == "player"

    def received(self, event: Mapping[str, Any]) -> None:
        """The service has published something; a decision that comes twice counts once."""
        name, data = name_of(event), event["data"]
        if name == EventRefused.name:
            self.refused.append(data)
        elif name == DecisionMade.name and data["turn_id"] not in self.decisions:
            self.decisions[data["turn_id"]] = data
            self.by_rule[Rule(data["rule"])] += 1

    @property
    def lines(self) -> list[bytes]:
        """The events as `seatwarden simulate` reads them, in order of arrival."""
        return [sent.line for sent in sorted(self.events, key=lambda sent: sent.arrival)]

    def compared(self, known: Policies) -> Comparison:
        """Compare with what `simulate` decides for the same events, turn by turn."""
        outputs = simulate.outputs(self.lines, Shard(known))
        simulated = {
            output.turn_id: output.data() for output in outputs if isinstance(output, DecisionMade)
        }
        return Comparison(
            list(_differences(self.decisions, simulated)),
            max((_gap(self.decisions[turn], simulated[turn]) for turn in simulated
                 if turn in self.decisions), default=0),
        )  # fmt: skip


def _differences(came: Decisions, simulated: Decisions) -> Iterator[str]:
    for turn_id in sorted({*came, *simulated}):
        one, other = came.get(turn_id), simulated.get(turn_id)
        if other is None:
            yield f"{turn_id}: only the service decides"
        elif one is None:
            yield f"{turn_id}: the service decides nothing, simulate {other['rule']}"
        else:
            yield from (
                f"{turn_id}: {key} is {one.get(key)!r}, with simulate {other.get(key)!r}"
                for key in sorted({*one, *other}.difference(_OWN))
                if one.get(key) != other.get(key)
            )


def _gap(one: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    return abs(from_rfc3339(one["deadline"]) - from_rfc3339(other["deadline"])) // MILLISECOND
