"""Random walks of one seat, until every line of the table has been met in real life.

The walker knows no guard: it plays events of a small alphabet with awkward stamps, its deadlines,
wrong wake-ups and interruptions, under policies that differ in each key, and keeps for each line
the first step in which it applied.  So that a line is reachable is proved by a path to it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any, NamedTuple

from actors import policies
from statecharts import kernel
from statecharts.chart import TABLE
from statecharts.digests import short
from statecharts.events import Event
from statecharts.guards import QUESTIONS
from statecharts.instants import SECOND
from statecharts.kernel import Outcome
from statecharts.lines import Line, State, Trigger
from statecharts.payloads import OF_A_TABLE, PAYLOADS, TURNS, Data
from statecharts.policy import WITHOUT_GRACE, Policy
from statecharts.presence import Reset
from statecharts.refusals import Refusal
from statecharts.seat import Seat
from statecharts.step import Interrupted, Step, WakeUp
from statecharts.storms import ANY_GATEWAY, Storm
from statecharts.surroundings import Interruption, Surroundings
from statecharts.tables import learned

ADDA52 = policies.bundled().default
POLICIES = tuple(
    Policy.model_validate({**ADDA52.model_dump(), **keys})
    for keys in (
        {},
        {"away_before_turn": "no_grace", "buffer_for": "away"},
        {"time_bank_while_away": "always", "min_seconds_after_return": 10},
        {
            "grace_needs": "voluntary_chip",
            "pot_that_counts": "main",
            "buffer_seconds": 0,
            "covers_formats": ["cash", "tournament"],
        },
        {
            "grace": [{"pot_at_most_big_blinds": 5, "turn_time_factor": 2}, {"seconds": 25}],
            "grace_needs": "nothing",
            "free_check": "after_grace",
            "time_bank_while_away": "with_money_in_pot",
            "connected_but_silent": "engine",
        },
        {"free_check": "never", "max_seconds_after_return": 10, "time_bank_while_away": "never"},
        {
            "grace": [],
            **WITHOUT_GRACE,
            "time_bank_while_away": "always",
            "covers_discards": [],
            "connected_but_silent": "engine",
        },
        {
            "grace": [],
            **WITHOUT_GRACE,
            "free_check": "never",
            "time_bank_while_away": "always",
            "covers_bring_ins": True,
            "covers_draws": True,
        },
        {"covers_bring_ins": True, "covers_draws": True, "connected_but_silent": "engine"},
        {
            "budget": {"seconds": 30, "per": "table"},
            "grace_counts_from": "loss",
            "buffer_seconds": 0,
            "grace_uses_per_turn": 1,
            "free_check": "after_grace",
            "all_in_protection": {"uses": 2, "not_for_reasons": ["kicked"]},
            "away_status": "fold",
            "storm": {"hold_seconds": 60},
        },
        {
            "grace_uses_per_hand": 1,
            "grace_needs": "nothing",
            "free_check": "never",
            "all_in_protection": {"uses": 1},
            "away_status": "check_else_fold",
            "covers_bring_ins": True,
            "covers_draws": True,
            "advice": [{"advise": "vacate", "after_decisions": 1}],
        },
        {
            "grace": [],
            **WITHOUT_GRACE,
            "time_bank_while_away": "always",
            "all_in_protection": {"uses": 2},
            "storm": {"hold_seconds": 5},
        },
    )
)
START = 1_800_000_000 * SECOND
MAX_WALKS = 100_000
STEPS = 20
FURTHER = 6
"""So many steps more where it goes on from where another has been."""
REPEATED = 0.1
"""How often an event is one that has come before."""


@dataclass(frozen=True)
class Met:
    """The arguments of a step in which a line applied, and what it gave."""

    seat: Seat
    event: Event | WakeUp | Interrupted
    at: int
    reference: int
    policy: Policy
    around: Surroundings
    result: Outcome | Refusal

    def again(self) -> Outcome:
        """Take the same step once more."""
        return kernel.step(self.seat, self.event, self.at, self.reference, self.policy, self.around)


class Place(NamedTuple):
    """Where a walk has been, and another can go on."""

    seat: Seat
    around: Surroundings
    now: int
    policy: Policy
    heard: tuple[Event, ...] = ()
    """The latest events, any of which may come once more."""


Places = dict[State, dict[tuple[str, ...], list[Place]]]
"""By state, and by what would be answered at its deadline: a walk goes on from the rare as often as
from the usual."""

ASKED = ("storm", "player", "own_end", "bank", "grace", "check", "protection", "uses", "silence")


@cache
def met() -> dict[str, Met]:
    """Return for each line's id a step in which it applied; lines never met are missing."""
    found: dict[str, Met] = {}
    places: Places = {}
    for number in range(MAX_WALKS):
        missing = [line for line in TABLE if line.id not in found]
        if not missing:
            break
        chance = random.Random(number)
        aim = chance.choice(missing)
        place = Place(Seat("t1", 1), Surroundings(), START, chance.choice(POLICIES))
        if number % 4 and aim.source in places:  # go on from where another walk has been
            place = chance.choice(chance.choice([*places[aim.source].values()]))
        _Walk(chance, found, places, place, aim.trigger).go()
    return found


def _answers(place: Place) -> tuple[str, ...]:
    seat, around = place.seat, place.around
    if seat.turn is None:
        return ("account",) if around.table.accounts else ()
    due = seat.turn.deadline or place.now
    draft = Step(seat, WakeUp(due, due), due, due, place.policy, around, around.table)
    still_arrive = bool(seat.turn.at_end) and place.now < (seat.turn.buffer_end or due)
    return (str(still_arrive), *(QUESTIONS[asked].ask(draft) for asked in ASKED))


class _Walk:
    def __init__(
        self,
        chance: random.Random,
        found: dict[str, Met],
        places: Places,
        place: Place,
        favourite: Trigger,
    ) -> None:
        self.chance = chance
        self.found = found
        self.places = places
        self.seat, self.around, self.now, self.policy, self.heard = place
        self.turns = count()
        # Each walk has a taste for some events and for a pace, so that rare courses come soon.
        self.pace = chance.choice([0.1, 0.5, 2])
        self.taste = {trigger: 4 ** chance.randint(0, 3) for trigger in PAYLOADS}
        self.taste[Trigger.TURN_STARTED] = 4 ** chance.randint(0, 2)
        self.wakes = 0.2
        if favourite is Trigger.DEADLINE:  # what comes of one is mostly a matter of presence
            favourite = chance.choice([Trigger.PLAYER_CONNECTED, Trigger.PLAYER_DISCONNECTED])
            self.wakes = chance.choice([0.2, 0.6])
        if favourite in self.taste:
            self.taste[favourite] *= chance.choice([8, 512])
        self.lags = chance.sample([0, 0, 0, 0.2, 1, 5, 5, 25, 700], 3)

    def go(self) -> None:
        for _ in range(FURTHER if self.heard else STEPS):
            deadline = self.seat.deadline
            kind = self.chance.random()
            if kind < self.wakes and deadline is not None:
                self.now = max(self.now, deadline)
                self.step(WakeUp(deadline, self.now, self.seat.wakes_for), deadline)
            elif kind < self.wakes + 0.03:
                wrong = self.chance.choice([Trigger.DEADLINE, Trigger.ANSWER])
                self.step(WakeUp(self.now - 1, self.now, wrong), self.now)
            elif kind < self.wakes + 0.05:
                storm = Storm.of(self.policy, ANY_GATEWAY, self.now)
                self.around = self.around._replace(storms=(*self.around.storms, storm)[-4:])
            elif kind < self.wakes + 0.1:
                start = self.now - self.chance.choice([1, 30]) * SECOND
                interruption = Interruption(start, self.now + self.chance.choice([0, 30]) * SECOND)
                self.step(Interrupted(interruption), self.now)
            else:
                self.now += int(self.chance.choice([0, 0.2, 1, 4]) * self.pace * SECOND)
                while self.seat.deadline is not None and self.seat.deadline < self.now:
                    due = self.seat.deadline
                    self.step(WakeUp(due, self.now, self.seat.wakes_for), due)
                self.step(self.event(), self.now)

    def step(self, event: Event | WakeUp | Interrupted, at: int) -> None:
        reference = min(at, event.stamp) if isinstance(event, Event) else at
        if isinstance(event, Event):
            self.learn(event, reference)
        before, around, result = self.seat, self.around, None
        try:
            result = kernel.step(before, event, at, reference, self.policy, self.around)
        except Refusal as refusal:
            lines: tuple[Line, ...] = tuple(
                one
                for one in TABLE
                if (one.source, one.trigger, one.why) == (before.state, event.name, refusal.detail)
            )
            result_or_refusal: Outcome | Refusal = refusal
        else:
            lines, result_or_refusal = result.lines, result
            if result.table is not None:
                self.around = self.around._replace(table=result.table)
            if result.seat.state is not before.state:
                place = Place(result.seat, self.around, self.now, self.policy, self.heard)
                of_its_state = self.places.setdefault(result.seat.state, {})
                of_its_state.setdefault(_answers(place), []).append(place)
            self.seat = result.seat
        met_here = Met(before, event, at, reference, self.policy, around, result_or_refusal)
        self.found.setdefault(lines[0].id, met_here)

    def learn(self, event: Event, reference: int) -> None:
        """Note what the shard would note around the seat."""
        if event.seat is None:
            table = learned(self.around.table, event, reference)
            self.around = self.around._replace(table=table)
        if event.name is Trigger.GATEWAY_RESET:
            reset = Reset(short(event.data.gateway), event.stamp, reference)
            self.around = self.around._replace(resets={reset.source: (reset,)})

    def event(self) -> Event:
        trigger = self.chance.choices(list(self.taste), weights=list(self.taste.values()))[0]
        told = [event for event in self.heard if event.name is trigger]
        if told and self.chance.random() < REPEATED:
            return self.chance.choice(told)
        event = self.new(trigger)
        self.heard = (*self.heard, event)[-STEPS:]
        return event

    def new(self, trigger: Trigger) -> Event:
        of_table = trigger in OF_A_TABLE
        return Event(
            id="e",
            source=self.chance.choice(["/engine", "/gateway"]),
            name=trigger,
            stamp=self.now - int(self.chance.choice(self.lags) * SECOND),
            table_id="t1",
            seat=None if of_table else 1,
            data=self.data(trigger),
        )

    def data(self, trigger: Trigger) -> Data:
        one_of = self.chance.choice
        hand_id, player_id = (
            one_of(["h1", "h2", f"h{next(self.turns)}"]),
            one_of(["p1", "p1", "p1", "p2"]),
        )
        turn_id = one_of([f"{next(self.turns)}", f"{one_of(range(8))}"])
        here = self.seat.turn
        if here and one_of([True, False]):
            hand_id, turn_id = here.hand_id, here.turn_id
        ids = {"hand_id": hand_id, "turn_id": turn_id, "player_id": player_id}
        if trigger is Trigger.TURN_STARTED:
            contributed = one_of([0, 50])
            betting: dict[str, Any] = {
                "kind": "betting",
                "to_call": one_of([0, 100, 100]),
                "contributed": contributed,
                "contributed_voluntarily": one_of([None, 0, contributed]),
                "pots": [contributed + one_of([0, 500]), one_of([0, 500])],
                "big_blind": 100,
                "time_bank_seconds": one_of([0, 0, 10]),
                "stack": one_of([None, None, None, 0]),
            }
            discard: dict[str, Any] = {
                "kind": "discard",
                "cards": ["As", "Kd", "7c"],
                "chosen": one_of([None, None, "As", "2h"]),
            }
            plain = {"kind": one_of(["bring_in", "draw"]), "time_bank_seconds": one_of([0, 10])}
            data: dict[str, Any] = {
                **ids,
                **one_of([betting, betting, discard, plain]),
                "turn_seconds": one_of([3, 20]),
                "format": one_of(["cash", "cash", "cash", "tournament"]),
                "connected": one_of([None, True, False]),
            }
            return TURNS[data["kind"]].model_validate(data)
        data = {
            **ids,
            "seconds": one_of([1, 30]),
            "reason": one_of([None, "closed", "kicked"]),
            "session_id": one_of(["s1", "s2", "s3"]),
            "sole": one_of([False, False, True]),
            "card": one_of(["As", "Kd", "2h", None]),
            "gateway": one_of(["/engine", "/gateway"]),
        }
        if trigger is Trigger.CARD_CHOSEN and one_of([True, True, False]):
            data["turn_id"] = None
        return PAYLOADS[trigger].model_validate(data)
