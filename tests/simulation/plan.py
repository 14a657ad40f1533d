"""What one seed stands for: the service's setting, what is published when, and what goes wrong."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass
from typing import Any

from actors.broker.slots import TO_ALL, routing_key
from actors.work.options import Options
from statecharts.instants import MILLISECOND, SECOND, from_rfc3339, to_rfc3339
from statecharts.ladder import GraceStep
from statecharts.policy import Policies, Policy

START = from_rfc3339("2026-03-01T12:00:00Z")
HORIZON = 16.0
"""Seconds within which turns begin and faults happen."""
KINDS = (
    "crash", "crash at a step", "freeze", "split", "cut", "hand over", "usurp", "overtake",
    "return unnoticed", "lag", "hold confirms", "lose confirms", "block", "stop the broker",
)  # fmt: skip
SIZES = {
    "actors.journal.records.PART": 1500,
    "actors.journal.reading.FIRST_WINDOW": 3,
    "actors.journal.checkpoint.KEYS_EVERY": 4,
    "actors.journal.checkpoint.AT_LEAST": 1,
    "actors.journal.journal.READ_AHEAD": 40,
    "actors.broker.topology.SEGMENT": 2000,
    "actors.broker.streams.PREFETCH": 4,
    "actors.work.outbox.MAX_UNSENT": 3,
    "actors.work.outbox.AT_ONCE": 2,
}
NEED_ORDER = {"actors.journal.records.PART"}
"""The parts of a record go out in order as tasks begin in the order in which they are made."""
OF_A_SHARD = frozenset({"usurp", "overtake", "return unnoticed"})
GARBAGE = (b"", b"\xff{", b"[]", b'{"specversion": "1.0"}')


@dataclass(frozen=True, slots=True)
class Word:
    """A message to publish, and when (seconds from the start)."""

    at: float
    key: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong, when, for how long, and with which worker or shard."""

    kind: str
    at: float
    seconds: float
    target: int
    steps: int
    """For a crash at a step: after how many of them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that chance decides beforehand; the order of things it decides on the way."""

    seed: int
    options: Options
    workers: int
    policies: Policies
    words: tuple[Word, ...]
    faults: tuple[Fault, ...]
    latency: tuple[float, float]
    """The least and the most seconds that a message takes to the broker or back."""
    lag: tuple[float, float]
    """How much later than its other answers the broker sends what it delivers."""
    in_order: bool
    """Callbacks run in the order of a plain event loop."""
    ahead: tuple[int, ...]
    """By how many microseconds each worker's clock is ahead."""
    ends_in_order: bool
    sizes: dict[str, int]
    """Constants of the product that are small here, so that a short run comes to their bounds."""
    apart: int
    """By how many milliseconds the broker's nodes stamp differently, at most."""


def make(seed: int, kinds: tuple[str, ...] = KINDS) -> Plan:
    """Make the plan of a seed, with faults of some kinds."""
    chance = random.Random(seed)
    shards = chance.choice((1, 1, 2, 3))
    workers = chance.choice((1, 2, 2, 3))
    options = Options(
        prefetch=chance.choice((2, 3, 5, 10, 50)),
        group=chance.choice((1, 2, 5, 50)),
        broker_stamps=chance.random() < 0.85,
        lease_seconds=5.0,
        shards=shards,
        settle_seconds=3.0,
        all_changes=chance.random() < 0.3,
    )
    latency = chance.choice(((0.0, 0.0), (0.0002, 0.002), (0.001, 0.02), (0.0, 0.3)))
    is_small = chance.random() < 0.5
    in_order = chance.random() < 0.4
    skew = chance.choice((0, 0, 0, 20 * MILLISECOND)) if latency[1] else 0
    return Plan(
        seed,
        options,
        workers,
        _policies(chance),
        tuple(sorted(_words(chance), key=lambda word: word.at)),
        tuple(_faults(chance, workers, shards, kinds)),
        latency,
        chance.choice(((0.0, 0.0), (0.0, 0.005), (0.0, 0.1))),
        in_order,
        tuple(chance.randint(-skew, skew) for _ in range(workers)),
        chance.random() < 0.3,
        {
            name: size
            for name, size in SIZES.items()
            if is_small and chance.random() < 0.6 and (in_order or name not in NEED_ORDER)
        },
        chance.choice((0, 0, 0, 800)),
    )


def _policies(chance: random.Random) -> Policies:
    grace = (GraceStep(seconds=2, pot_below_big_blinds=5), GraceStep(seconds=3.5))
    some = (
        Policy(name="a", grace=grace, buffer_seconds=1),
        Policy(
            name="b", grace=grace, buffer_seconds=0.5, buffer_for="away",
            time_bank_while_away="always", min_seconds_after_return=2, away_before_turn="no_grace",
        ),
        Policy(name="c", grace=grace, buffer_seconds=2, time_bank_while_away="never"),
    )  # fmt: skip
    made = [Policy.model_validate({**one.model_dump(), **_limits(chance)}) for one in some]
    return Policies({one.name: one for one in made}, chance.choice("abc"))


def _limits(chance: random.Random) -> dict[str, Any]:
    """What a policy counts over turns, and of the players of a shard; small, so as to be met."""
    limits = {
        "budget": {"seconds": 3, "per": chance.choice(("hand", "session", "table"))},
        "grace_counts_from": "loss",
        "grace_uses_per_turn": 1,
        "all_in_protection": {"uses": 1, "not_for_reasons": ["kicked"]},
        "away_status": chance.choice(("check_else_fold", "fold")),
        "advice": [{"advise": "sit_out", "after_decisions": chance.choice((1, 2))}],
        "storm": {"at_least_players": 2, "hold_seconds": chance.choice((0, 4)), "share": 0.4},
        "covers_draws": True,
    }
    drawn = {key: value for key, value in limits.items() if chance.random() < 0.3}
    if "grace_counts_from" in drawn:  # it runs before a buffer could begin
        drawn |= {"buffer_seconds": 0, "buffer_for": "everyone"}
    if "budget" in drawn:
        drawn["min_seconds_after_return"] = 0
    return drawn


def _faults(
    chance: random.Random, workers: int, shards: int, known: tuple[str, ...]
) -> list[Fault]:
    if chance.random() < 0.1:
        return []
    kinds = chance.sample(known, min(len(known), chance.randint(1, 4)))
    faults = []
    for _ in range(chance.randint(1, 6)):
        kind = chance.choice(kinds)
        target = chance.randrange(shards if kind in OF_A_SHARD else workers)
        seconds = chance.choice((0.05, 1.0, 4.0, 8.0, 14.0)) * chance.uniform(0.2, 1.2)
        steps = round(math.exp(chance.uniform(0, math.log(4000))))
        faults.append(Fault(kind, chance.uniform(0, HORIZON), seconds, target, steps))
    return faults


# -- What is published


class _Writer:
    """Words of one table's life, at random instants and at those where something is decided."""

    def __init__(self, chance: random.Random, table: str) -> None:
        self.words: list[Word] = []
        self._chance = chance
        self._table = table
        self._turns = 0
        self._hands = 0

    def write(self) -> None:
        for seat in range(1, self._chance.choice((2, 2, 3))):
            self._write_seat(seat)

    def _write_seat(self, seat: int) -> None:
        chance, player = self._chance, f"{self._table}-p{seat}"
        at = _round(chance.uniform(0.1, 4))
        if chance.random() < 0.6:
            self._presence(at - 0.1, seat, player, "player.connected")
        while at < HORIZON:
            seconds = self._turn(at, seat, player)
            at = _round(at + seconds + chance.uniform(0.2, 7))

    def _turn(self, at: float, seat: int, player: str) -> float:
        chance = self._chance
        self._turns += 1
        if chance.random() < 0.6:
            self._hands += 1
        seconds = chance.choice((1, 1.5, 2, 3, 5))
        bank = chance.choice((0, 0, 1, 2))
        turn, hand = f"{self._table}-u{self._turns}", f"h{self._hands}"
        data: dict[str, Any] = {
            "hand_id": hand, "turn_id": turn, "player_id": player, "turn_seconds": seconds,
            "format": "tournament" if chance.random() < 0.03 else "cash",
        }  # fmt: skip
        if chance.random() < 0.2:
            data["connected"] = chance.random() < 0.6
        if chance.random() < 0.1:
            data["policy"] = chance.choice("abcd")
        data |= self._what_for(bank)
        self._tell(at, "turn.started", f"{self._table}/{seat}", data)
        ends = (seconds, seconds + bank, seconds + 1, seconds + 3, seconds + bank + 4.5)

        def instant() -> float:
            if chance.random() < 0.3:
                return _round(at + chance.choice(ends) + chance.choice((-0.001, 0, 0.001)))
            return _round(at + chance.uniform(-0.2, seconds + 6))

        for _ in range(chance.choice((0, 0, 1, 1, 2, 3))):
            name = chance.choice(("player.disconnected", "player.disconnected", "player.connected"))
            self._presence(instant(), seat, player, name)
        if "cards" in data and chance.random() < 0.6:
            card = chance.choice(("As", "Kd", None, "2h"))
            subject = f"{self._table}/{seat}"
            self._tell(instant(), "card.chosen", subject, {"hand_id": hand, "card": card})
        if chance.random() < 0.55:
            by = chance.choice(("player", "player", "engine", "decision"))
            acted = {"hand_id": hand, "turn_id": turn, "by": by}
            self._tell(instant(), "turn.acted", f"{self._table}/{seat}", acted)
        self._tell_seldom(instant, hand, seat, player)
        self._tell_of_the_clock(instant, turn, seat, player)
        return seconds

    def _what_for(self, bank: int) -> dict[str, Any]:
        chance, kind = self._chance, self._chance.random()
        if kind < 0.15:
            return {"kind": "discard", "cards": ["As", "Kd", "7c"]}
        if kind < 0.2:
            return {"kind": "draw", "time_bank_seconds": bank}
        contributed = chance.choice((0, 50, 50))
        return {
            "to_call": chance.choice((0, 100, 100, 100)), "contributed": contributed,
            "pots": [contributed + chance.choice((100, 900))], "big_blind": 100,
            "time_bank_seconds": bank,
        }  # fmt: skip

    def _tell_of_the_clock(self, instant: Any, turn: str, seat: int, player: str) -> None:
        chance, subject = self._chance, f"{self._table}/{seat}"
        if chance.random() < 0.06:
            self._tell(instant(), "turn.cancelled", subject, {"turn_id": turn})
        if chance.random() < 0.1:
            longer = {"turn_id": turn, "seconds": chance.choice((0.5, 2))}
            self._tell(instant(), "turn.extended", subject, longer)
        if chance.random() < 0.06:
            paused = instant()
            self._tell(paused, "table.paused", self._table, {})
            self._tell(_round(paused + chance.uniform(0, 4)), "table.resumed", self._table, {})
        if chance.random() < 0.12:
            said = chance.choice(("player.away", "player.away", "player.back"))
            self._tell(instant(), said, subject, {"player_id": player})
        if chance.random() < 0.05:
            self._tell(instant(), "protection.reset", self._table, {"player_id": player})

    def _tell_seldom(self, instant: Any, hand: str, seat: int, player: str) -> None:
        chance = self._chance
        if chance.random() < 0.12:
            self._tell(instant(), "hand.ended", self._table, {"hand_id": hand})
        if chance.random() < 0.06:
            subject = f"{self._table}/{seat}"
            self._tell(instant(), "seat.vacated", subject, {"player_id": player})
        if chance.random() < 0.02:
            self._tell(instant(), "table.closed", self._table, {})
        if chance.random() < 0.06:
            gateway = chance.choice(("/g1", "/g2"))
            self._tell(instant(), "gateway.reset", "-", {"gateway": gateway}, key=TO_ALL)

    def _presence(self, at: float, seat: int, player: str, name: str) -> None:
        session = self._chance.choice(("s1", "s1", "s2"))
        data: dict[str, Any] = {"player_id": player, "session_id": session}
        if name == "player.disconnected" and self._chance.random() < 0.3:
            data["reason"] = self._chance.choice(("closed", "kicked"))
        if name == "player.connected" and self._chance.random() < 0.2:
            data["sole"] = True
        source = {"s1": "/g1", "s2": "/g2"}[session]
        self._tell(at, name, f"{self._table}/{seat}", data, source=source)

    def _tell(
        self, at: float, name: str, subject: str, data: dict[str, Any],
        *, source: str = "/engine", key: str | None = None,
    ) -> None:  # fmt: skip
        chance = self._chance
        at = max(0.0, at)
        late = _round(chance.uniform(0, 1.5)) if chance.random() < 0.1 else 0.0
        event = {
            "specversion": "1.0", "id": f"{self._table}-e{len(self.words)}", "source": source,
            "type": f"seatwarden.{name}.v1", "time": to_rfc3339(START + round(at * SECOND)),
            "subject": subject, "data": data,
        }  # fmt: skip
        fault = chance.random()
        if fault < 0.01:
            event["type"] = "seatwarden.unheard.of.v1"
        elif fault < 0.02:
            event["time"] = to_rfc3339(START - 700 * SECOND)
        body = json.dumps(event).encode()
        if key is None:
            table = self._table if chance.random() > 0.02 else f"t{chance.randrange(99)}"
            key = routing_key(table)
        self.words.append(Word(at + late, key, body))
        while chance.random() < 0.08:
            self.words.append(Word(at + late + chance.uniform(0, 4), key, body))
        if chance.random() < 0.01:
            garbage = chance.choice(GARBAGE) or f"{len(self.words)}".encode()
            self.words.append(Word(at, key, garbage))


def _words(chance: random.Random) -> list[Word]:
    words: list[Word] = []
    for table in chance.sample(range(100), chance.randint(1, 4)):
        writer = _Writer(chance, f"t{table}")
        writer.write()
        words += writer.words
    return words


def _round(seconds: float) -> float:
    return round(seconds, 3)
