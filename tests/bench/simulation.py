"""Events as engines and gateways publish them, a hundred thousand, and how fast they are simulated.

For `seatwarden simulate events.jsonl`: `python -m tests.bench.simulation > events.jsonl`.  They are
always the same: tables of six, cash games, every fourth one Crazy Pineapple.  Most players act;
some say nothing, some are lost, on their turn or between, and come back, or do not.
"""

from __future__ import annotations

import heapq
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from random import Random
from time import process_time
from typing import Any, NamedTuple

from actors import policies
from statecharts.instants import MILLISECOND, SECOND, to_rfc3339
from tests.bench.rounds import table

EVENTS = 100_000
TABLES = 200
SEATS = range(1, 7)
START = 1_767_225_600 * SECOND  # midnight, 1 January 2026
BIG_BLIND = 100
STREETS = ("preflop", "flop", "turn", "river")
DISCARD_SECONDS = 10
POLICY = policies.bundled().default


class Heard(NamedTuple):
    """An event on its way: in order of arrival, and then of saying."""

    arrival: int
    table: int
    number: int
    event: dict[str, Any]


def lines(tables: int = TABLES) -> Iterator[bytes]:
    """Yield events for ever, one line of JSON each, in order of arrival."""
    for heard in heapq.merge(*(_Table(number).hands() for number in range(tables))):
        event = {**heard.event, "arrival": to_rfc3339(heard.arrival)}
        yield json.dumps(event, separators=(",", ":")).encode() + b"\n"


class _Table:
    """One table, its engine and the gateway of its players."""

    def __init__(self, number: int) -> None:
        self.chance = Random(number)
        self.number = number
        self.id = f"table-{number}"
        self.has_discards = number % 4 == 0
        self.turn_seconds = self.chance.choice([10, 15, 20])
        self.bank_seconds = self.chance.choice([0, 0, 30])
        self.now = START + self.within(0, 60)
        self.ids = count(1)
        self.on_way: list[Heard] = []
        self.pot = 0
        self.put_in = dict.fromkeys(SEATS, 0)
        self.staying: list[int] = []
        self.players = {seat: f"p{number}-{seat}" for seat in SEATS}
        self.sessions = dict.fromkeys(SEATS, 1)
        self.away = dict.fromkeys(SEATS, (0, 0))
        """From when to when each player is, or was last, away."""

    def within(self, least: float, most: float) -> int:
        """Return a time in seconds between two, in whole milliseconds."""
        return round(self.chance.uniform(least, most) * 1000) * MILLISECOND

    def hands(self) -> Iterator[Heard]:
        """Play hand after hand, for ever."""
        for seat in SEATS:
            self.say_session("connected", seat, self.now)
        for hand in count(1):
            self.play(f"{self.id}-h{hand}")
            while self.on_way and self.on_way[0].arrival < self.now:
                yield heapq.heappop(self.on_way)

    # -- A hand

    def play(self, hand_id: str) -> None:
        began = self.now
        self.pot = 150
        self.put_in = dict.fromkeys(SEATS, 0) | {1: 50, 2: BIG_BLIND}
        self.staying = list(SEATS)
        for street in STREETS:
            if street == "flop" and self.has_discards:
                self.play_discards(hand_id)
            self.play_street(hand_id, street)
            if len(self.staying) == 1:
                break
        self.now += self.within(0.5, 2)
        self.say("hand.ended", None, self.now, {"hand_id": hand_id})
        for seat in SEATS:
            if self.chance.random() < 0.03:
                self.lose(seat, began + self.within(0, (self.now - began) / SECOND))
        self.now += self.within(2, 6)
        if self.chance.random() < 0.03:
            self.change_player(self.chance.choice(SEATS), f"{hand_id}-new")

    def play_street(self, hand_id: str, street: str) -> None:
        """Let everybody act once: the first to bet is called by who stays."""
        is_first = street == "preflop"
        bet = BIG_BLIND if is_first else 0
        bets = self.put_in if is_first else dict.fromkeys(SEATS, 0)
        for seat in list(self.staying):
            price = max(0, bet - bets[seat])
            stays = self.play_turn(hand_id, street, seat, price)
            if not stays and len(self.staying) > 1:
                self.staying.remove(seat)
                continue
            if not price and not bet and self.chance.random() < 0.3:
                price = bet = self.chance.choice([100, 300, 600])
            self.put_in[seat] += price
            self.pot += price

    def play_turn(self, hand_id: str, street: str, seat: int, price: int) -> bool:
        """Play a betting turn; returns whether the player stays in the hand."""
        began, turn_id = self.now, f"{hand_id}-{street}-{seat}"
        self.say("turn.started", seat, began, {
            "hand_id": hand_id, "turn_id": turn_id, "player_id": self.players[seat],
            "turn_seconds": self.turn_seconds, "format": "cash", "street": street,
            "to_call": price, "contributed": self.put_in[seat], "pots": [self.pot],
            "big_blind": BIG_BLIND, "stack": 10_000, "time_bank_seconds": self.bank_seconds,
            "connected": not self.is_away(seat, began),
        })  # fmt: skip
        if not self.is_away(seat, began) and self.chance.random() < 0.03:
            self.lose(seat, began + self.within(0.2, self.turn_seconds))
        end = began + self.turn_seconds * SECOND
        in_grace_branch = bool(price and self.put_in[seat])
        if in_grace_branch or not self.is_away(seat, end):
            end += self.bank_seconds * SECOND
        decided = end + (POLICY.buffer if in_grace_branch else 0)
        if in_grace_branch and self.is_away(seat, end):
            decided += POLICY.grace_for(self.pot, BIG_BLIND, 0)
        acts = self.acts_at(seat, began)
        ids = {"hand_id": hand_id, "turn_id": turn_id}
        if acts < decided:
            self.now = acts
            action = self.chance.choice(["call", "call", "fold"]) if price else "check"
            self.say("turn.acted", seat, acts, {**ids, "action": action, "by": "player"})
        else:
            self.now = decided + self.within(0.01, 0.05)
            action = "fold" if price else "check"
            self.say("turn.acted", seat, self.now, {**ids, "action": action, "by": "decision"})
        return action != "fold"

    def play_discards(self, hand_id: str) -> None:
        """Let everybody discard at once; some have chosen before, some choose, some say nothing."""
        began = self.now + self.within(0.2, 1)
        self.now = began
        for seat in self.staying:
            turn_id, card = f"{hand_id}-discard-{seat}", self.chance.choice(["#1", "#2", "#3"])
            chooses = began + self.within(-1, 6)
            if not self.is_away(seat, chooses) and self.chance.random() < 0.9:
                self.say("card.chosen", seat, chooses, {"hand_id": hand_id, "card": card})
            self.say("turn.started", seat, began, {
                "hand_id": hand_id, "turn_id": turn_id, "player_id": self.players[seat],
                "kind": "discard", "cards": ["#1", "#2", "#3"], "turn_seconds": DISCARD_SECONDS,
                "format": "cash", "variant": "crazy_pineapple",
            })  # fmt: skip
            end = began + DISCARD_SECONDS * SECOND
            acts = self.acts_at(seat, max(began, chooses))
            acted, by = (acts, "player") if acts < end else (end + 20 * MILLISECOND, "decision")
            ids = {"hand_id": hand_id, "turn_id": turn_id}
            self.say("turn.acted", seat, acted, {**ids, "action": "discard", "by": by})
            self.now = max(self.now, acted)

    # -- Players

    def acts_at(self, seat: int, asked: int) -> int:
        """Return when a player would act: thinking, silent for long, or when he is back."""
        if self.chance.random() < 0.02:
            return asked + 600 * SECOND
        thought = asked + self.within(0.5, 6)
        return self.away[seat][1] + self.within(1, 3) if self.is_away(seat, thought) else thought

    def is_away(self, seat: int, at: int) -> bool:
        since, until = self.away[seat]
        return since <= at < until

    def lose(self, seat: int, at: int) -> None:
        """Lose a player's connection for a while; the gateway notices it by and by."""
        if at < self.away[seat][1]:
            return  # he is away already
        seconds = self.chance.choice([(1, 8), (5, 40), (30, 300)])
        back = at + self.within(*seconds)
        self.away[seat] = (at, back)
        self.say_session("disconnected", seat, at, noticed=self.within(0.05, 2.5))
        self.sessions[seat] += 1
        self.say_session("connected", seat, back)

    def change_player(self, seat: int, player_id: str) -> None:
        """Let one player leave and another take his seat."""
        if self.is_away(seat, self.now):
            return
        self.say("seat.vacated", seat, self.now, {"player_id": self.players[seat]})
        self.players[seat] = player_id
        self.sessions[seat] += 1
        self.now += self.within(0.5, 2)
        self.say_session("connected", seat, self.now)

    # -- Events

    def say_session(self, word: str, seat: int, at: int, noticed: int = 0) -> None:
        player_id = self.players[seat]
        session_id = f"{player_id}-s{self.sessions[seat]}"
        data = {"player_id": player_id, "session_id": session_id}
        self.say(f"player.{word}", seat, at, data, source="/gateways/eu-1", noticed=noticed)

    def say(
        self,
        name: str,
        seat: int | None,
        at: int,
        data: dict[str, Any],
        *,
        source: str = "/engines/ring-3",
        noticed: int = 0,
    ) -> None:
        number = next(self.ids)
        event = {
            "specversion": "1.0",
            "id": f"{self.id}-{number}",
            "source": source,
            "type": f"seatwarden.{name}.v1",
            "time": to_rfc3339(at),
            "subject": self.id if seat is None else f"{self.id}/{seat}",
            "data": data,
        }
        arrival = at + noticed + self.within(0.002, 0.04)
        heapq.heappush(self.on_way, Heard(arrival, self.number, number, event))
        if self.chance.random() < 0.005:  # a publisher that was not sure
            again = arrival + self.within(0.1, 2)
            heapq.heappush(self.on_way, Heard(again, self.number, next(self.ids), event))


# -- The measurement


def measure() -> str:
    """Simulate them twice with the command, the second time with other hashes, and compare."""
    with tempfile.TemporaryDirectory(prefix="seatwarden-bench-") as folder:
        file = Path(folder, "events.jsonl")
        with file.open("wb") as events:
            events.writelines(islice(lines(), EVENTS))
        began = process_time()
        for line in file.read_bytes().splitlines():
            json.dumps(json.loads(line))
        floor = process_time() - began
        first, taken = _simulated(file, "1")
        second, taken_again = _simulated(file, "2")
    if first != second:
        raise AssertionError("two runs of `seatwarden simulate` gave different bytes")
    decisions = first.count(b'"type":"seatwarden.decision.made.v1"')
    told = table(
        f"Simulation: {EVENTS:,} events through `seatwarden simulate`, its start included",
        ("", "events/s", "x floor"),
        (
            (name, f"{EVENTS / seconds:,.0f}", f"{seconds / floor:.1f}")
            for name, seconds in (
                ("floor: json.loads and json.dumps", floor),
                ("first run", taken),
                ("second run", taken_again),
            )
        ),
    )
    return (
        f"{told}  {decisions:,} decisions, {100 * decisions / EVENTS:.1f} % of the events;"
        f" the same {len(first):,} bytes from both runs\n"
    )


def _simulated(file: Path, hashes: str) -> tuple[bytes, float]:
    """Return what the command prints, and the processor time that it takes, in seconds."""
    command = [str(Path(sys.executable).with_name("seatwarden")), "simulate", str(file)]
    environment = {**os.environ, "PYTHONHASHSEED": hashes}
    began = _of_children()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
    return done.stdout, _of_children() - began


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.stdout.buffer.writelines(islice(lines(), EVENTS))
