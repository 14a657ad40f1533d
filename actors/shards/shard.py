"""A shard: many seats of many tables, as a function of what comes through its queue.

No clock, no I/O: the same events with the same arrivals, and the same instants of firing, give the
same outputs.  `worker` feeds it from a broker, `simulate` from a file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from actors.shards.deadlines import Deadlines, SeatKey
from actors.shards.pictures import Known, Picture
from actors.shards.seat_actor import SeatActor
from actors.shards.storms import LOSSES, Storms
from actors.stories.entries import Heard
from actors.stories.story import of_turn
from actors.stories.teller import Teller
from actors.stories.timeline import Timeline
from statecharts.chart import OPEN
from statecharts.decisions import EventRefused, Output
from statecharts.digests import short
from statecharts.events import Event
from statecharts.instants import SECOND
from statecharts.kernel import Outcome
from statecharts.lines import Ignored, State, Trigger
from statecharts.policy import Policies, Policy
from statecharts.presence import Reset
from statecharts.refusals import Code, Refusal
from statecharts.seat import Seat
from statecharts.step import Interrupted, WakeUp
from statecharts.surroundings import Interruption, Surroundings
from statecharts.tables import Table, learned

MAX_GATEWAYS = 1024
MAX_RESETS = 4
MAX_INTERRUPTIONS = 16
KNOWN = "known already"
SWEEP_EVERY = 60 * SECOND
FORGET_AFTER = 3600 * SECOND
"""Idle seats are dropped when nothing has arrived for them for so long; the least is 10 minutes."""


class Verdict(StrEnum):
    """What became of one event; each gets exactly one."""

    APPLIED = "applied"
    IGNORED = "ignored"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Applied:
    """The verdict on one event, why if it had no effect, and what is to be published."""

    verdict: Verdict
    outputs: list[Output]
    reason: str | None = None
    refusal: Refusal | None = None


@dataclass(slots=True)
class _TableEntry:
    facts: Table
    seats: dict[int, SeatActor]
    touched: int


class Shard:
    """Seats by table, their deadlines, and what is known around them."""

    def __init__(
        self, policies: Policies, *, max_clock_lag: int | None = None, timelines: bool = False
    ) -> None:
        """`max_clock_lag` (microseconds): how far a start may reach back before its arrival.

        `timelines`: tell them, for whoever takes them (`take_timelines`).
        """
        self.policies = policies
        """For turns that begin; may be replaced between two calls.  An open turn has its own."""
        self.max_clock_lag = max_clock_lag
        self.deadlines = Deadlines()
        self.storms = Storms()
        self.faults: list[Exception] = []
        """Errors of ours, for the log; who has logged them clears the list."""
        self.states: Counter[State] = Counter(dict.fromkeys(State, 0))
        """How many seats are in which state."""
        self._teller = Teller() if timelines else None
        self._tables: dict[str, _TableEntry] = {}
        self._resets: dict[int, tuple[Reset, ...]] = {}
        self._interruptions: tuple[Interruption, ...] = ()
        self._seq_floor = 0
        self._swept = 0
        self._mark = 0
        """The latest arrival."""
        # In order, so that the same steps make the same record.
        self._changed_seats: dict[SeatKey, None] = {}
        self._changed_tables: dict[str, None] = {}

    # -- What comes in

    def apply(self, event: Event, arrival: int, made: int | None = None) -> Applied:
        """Take one event; `made` is when that is being done, if not in time.

        Deadlines of the seats that it touches fire first where they lie strictly before its
        arrival.
        """
        self._sweep(arrival)
        outputs: list[Output] = []
        try:
            policy = self._policy(event)
            touched = self._touched(event, arrival)
            self._fire_of(touched, arrival, made, outputs)
            self._mark = max(self._mark, arrival)
            heard = Heard(event, arrival, made, self._reference(event, arrival))
            return self._tell(heard, policy, touched, outputs)
        except Refusal as refusal:
            heard = Heard(event, arrival, made, self._reference(event, arrival))
            self._note(self._seat_of(event), heard, refusal.detail, refusal)
            outputs.append(refused(refusal, arrival))
            return Applied(Verdict.REFUSED, outputs, refusal.detail, refusal)

    def fire(self, before: int, made: int | None = None) -> list[Output]:
        """Fire every deadline strictly before an instant, each at its own, in order."""
        outputs: list[Output] = []
        while (soonest := self.deadlines.next()) is not None and soonest[0] < before:
            due, (table_id, number) = soonest
            actor = self._tables[table_id].seats[number]
            self._wake(actor, due, made, outputs)
        return outputs

    @property
    def interruptions(self) -> tuple[Interruption, ...]:
        """The latest interruptions."""
        return self._interruptions

    def interrupt(self, interruption: Interruption, at: int) -> list[Output]:
        """Move every deadline that lies in an interruption, now or later, to its end."""
        merged, others = _merged(interruption, self._interruptions)
        self._interruptions = (*others, merged)[-MAX_INTERRUPTIONS:]
        outputs: list[Output] = []
        for table_id, number in self.deadlines.within(merged.start, merged.end):
            actor = self._tables[table_id].seats[number]
            cause, policy = Interrupted(merged), self.policies.default
            act = partial(actor.interrupt, cause, at, policy, self._around(table_id))
            self._step(actor, cause, at, policy, outputs, act)
        return outputs

    # -- One event

    def _reference(self, event: Event, arrival: int) -> int:
        reference = min(event.stamp, arrival)
        if event.name is Trigger.TURN_STARTED and self.max_clock_lag is not None:
            return max(reference, arrival - self.max_clock_lag)
        return reference

    def _tell(
        self, heard: Heard, policy: Policy, touched: list[SeatActor], outputs: list[Output]
    ) -> Applied:
        event, arrival, _, reference = heard
        if event.name is Trigger.TURN_STARTED:
            self._check_unique(event)
        if not self._learn(event, reference):
            self._note(touched, heard, KNOWN)
            return Applied(Verdict.IGNORED, outputs, KNOWN)
        reasons: list[str | None] = []
        failed = len(self.faults)
        for actor in touched:
            around = self._around(actor.seat.table_id)
            act = partial(actor.tell, event, arrival, reference, policy, around)
            outcome = self._step(actor, heard, arrival, policy, outputs, act)
            if outcome is not None:
                reasons.append(outcome.line.why if isinstance(outcome.line, Ignored) else None)
        if event.name in LOSSES and None in reasons:  # a word told twice is no loss
            outputs.extend(self._storms_after(heard))
        if len(self.faults) > failed:
            raise Refusal(Code.FAILED, "a fault of ours kept us from taking it", event.identity)
        if event.seat is not None and reasons[0] is not None:
            return Applied(Verdict.IGNORED, outputs, reasons[0])
        return Applied(Verdict.APPLIED, outputs)

    def _storms_after(self, heard: Heard) -> Iterator[Output]:
        """Yield the storms that a loss makes; whose turn is over by then is not counted."""
        if self.storms.may_come(heard.arrival):
            yield from self.fire(heard.arrival, heard.received)
            yield from self.storms.after(heard.event, heard.arrival)

    def _check_unique(self, event: Event) -> None:
        """Refuse a start whose turn stands in another seat: who decides it would be chance."""
        for number, actor in self._tables[event.table_id].seats.items():
            turn = actor.seat.turn
            if turn and turn.turn_id == event.data.turn_id and number != event.seat:
                detail = f"data.turn_id: stands in seat {number}; a turn_id is unique at its table"
                raise Refusal(Code.INVALID, detail, event.identity)

    def _learn(self, event: Event, reference: int) -> bool:
        """Note what an event tells about a table or a gateway; False if that is known already."""
        if event.seat is None and event.table_id:
            entry = self._tables[event.table_id]
            facts = learned(entry.facts, event, reference)
            if facts is entry.facts:
                return False
            entry.facts = facts
        elif event.name is Trigger.GATEWAY_RESET:
            reset = Reset(short(event.data.gateway), event.stamp, reference)
            known = self._resets.pop(reset.source, ())
            others = (one for one in known if one.stamp != reset.stamp)
            latest = sorted((*others, reset), key=lambda one: one.stamp)[-MAX_RESETS:]
            self._resets[reset.source] = tuple(latest)
            if len(self._resets) > MAX_GATEWAYS:
                self._resets.pop(next(iter(self._resets)))
        return True

    def _touched(self, event: Event, arrival: int) -> list[SeatActor]:
        """Return the actors that an event concerns, made known if it names a new seat or table."""
        if event.name is Trigger.GATEWAY_RESET:
            gateway = short(event.data.gateway)
            return [
                actor
                for _, entry in sorted(self._tables.items())
                for _, actor in sorted(entry.seats.items())
                if any(session.source == gateway for session in actor.seat.sessions)
            ]
        entry = self._tables.setdefault(event.table_id, _TableEntry(Table(), {}, arrival))
        entry.touched = arrival
        self._changed_tables[event.table_id] = None
        if event.seat is None:
            return [actor for _, actor in sorted(entry.seats.items())]
        actor = entry.seats.get(event.seat)
        if actor is None:
            seat = Seat(event.table_id, event.seat, seq=self._seq_floor)
            actor = entry.seats[event.seat] = SeatActor(seat, arrival)
            self.states[seat.state] += 1
        return [actor]

    def _policy(self, event: Event) -> Policy:
        name = event.data.policy if event.name is Trigger.TURN_STARTED else None
        policy = self.policies.named(name)
        if policy is None and self._knows_turn(event):
            policy = self.policies.default  # not looked at: a repeated start opens nothing
        if policy is None:
            known = ", ".join(sorted(self.policies.by_name))
            detail = f"data.policy: there is no policy {name!r}; there are: {known}"
            raise Refusal(Code.INVALID, detail, event.identity)
        return policy

    def _knows_turn(self, event: Event) -> bool:
        """Say whether a start repeats one that was taken before its policy was removed."""
        return any(
            (actor.seat.turn and actor.seat.turn.turn_id == event.data.turn_id)
            or short(event.data.turn_id) in actor.seat.closed_turns
            for actor in self._seat_of(event)
        )

    # -- Steps

    def _fire_of(
        self, actors: Iterable[SeatActor], before: int, made: int | None, outputs: list[Output]
    ) -> None:
        """Fire the deadlines of some seats that lie strictly before an instant, in order."""
        while True:
            due = [
                (deadline, actor.seat.table_id, actor.seat.number, actor)
                for actor in actors
                if (deadline := actor.seat.deadline) is not None and deadline < before
            ]
            if not due:
                return
            soonest = min(due, key=lambda entry: entry[:3])
            self._wake(soonest[3], soonest[0], made, outputs)

    def _wake(self, actor: SeatActor, due: int, made: int | None, outputs: list[Output]) -> None:
        around = self._around(actor.seat.table_id)
        # In virtual time it is noticed when it is due, or when its turn is heard of after that.
        noticed = max(due, self._mark) if made is None else made
        cause, policy = WakeUp(due, noticed, actor.seat.wakes_for), self.policies.default
        self._step(actor, cause, due, policy, outputs, partial(actor.wake, cause, policy, around))

    def _step(
        self,
        actor: SeatActor,
        cause: Heard | WakeUp | Interrupted,
        at: int,
        policy: Policy,
        outputs: list[Output],
        act: Callable[[], Outcome],
    ) -> Outcome | None:
        """Have an actor take one step; on a fault of ours give its open turn up, and go on."""
        outcome, before = None, actor.seat.state
        try:
            outcome = act()
        except Refusal:
            raise
        except Exception as fault:  # noqa: BLE001 - whatever it is, the other seats go on
            self.faults.append(fault)
            left = actor.abandon(at)
            if left is not None:
                outputs.extend(left.outputs)
                if self._teller:
                    self._teller.abandoned(actor, cause, left)
        else:
            outputs.extend(outcome.outputs)
            if outcome.table is not None:
                self._tables[actor.seat.table_id].facts = outcome.table
                self._changed_tables[actor.seat.table_id] = None
            if self._teller:
                self._teller.tell(actor, cause, outcome, policy, self._interruptions)
        if (now := actor.seat.state) is not before:
            self.states[before] -= 1
            self.states[now] += 1
        key = (actor.seat.table_id, actor.seat.number)
        self.deadlines.set(key, actor.seat.deadline)
        self.storms.see(key, actor.seat)
        self._changed_seats[key] = None
        return outcome

    def _around(self, table_id: str) -> Surroundings:
        facts = self._tables[table_id].facts
        return Surroundings(facts, self._resets, self._interruptions, self.storms.latest)

    # -- Timelines

    def take_timelines(self) -> list[Timeline]:
        """Return those of the turns that have closed since this was last asked, in that order.

        What went wrong in telling is in `faults` then.
        """
        if self._teller is None:
            return []
        told, self._teller.timelines = self._teller.timelines, []
        self.faults.extend(self._teller.faults)
        self._teller.faults.clear()
        return told

    def note_refused(self, refusal: Refusal, received: int) -> None:
        """Tell of a refused message that never became an event, if it names a seat with a turn.

        `received` (microseconds since 1970) is when it was taken.  It moves no deadline.
        """
        identity = refusal.identity
        entry = self._tables.get(identity.table_id or "")
        actor = entry.seats.get(identity.seat or 0) if entry else None
        if self._teller and actor and actor.story is not None:
            self._teller.note_refused(actor, refusal, received)
            self._changed_seats[actor.seat.table_id, actor.seat.number] = None

    def _note(
        self, actors: Iterable[SeatActor], heard: Heard, reason: str, refusal: Refusal | None = None
    ) -> None:
        """Have it told in open stories that an event came which no seat was asked about."""
        if self._teller is None:
            return
        for actor in actors:
            if actor.story is not None:
                self._teller.note(actor, heard, reason=reason, refusal=refusal)
                self._changed_seats[actor.seat.table_id, actor.seat.number] = None

    def _seat_of(self, event: Event) -> list[SeatActor]:
        entry = self._tables.get(event.table_id)
        actor = entry.seats.get(event.seat) if entry and event.seat is not None else None
        return [actor] if actor else []

    # -- Memory

    def __len__(self) -> int:
        """The number of seats held."""
        return sum(len(entry.seats) for entry in self._tables.values())

    def _sweep(self, arrival: int) -> None:
        """Drop the seats and tables of which nothing has been heard for long; by arrivals alone."""
        if arrival < self._swept + SWEEP_EVERY:
            return
        self._swept = arrival
        before = arrival - FORGET_AFTER
        for table_id, entry in list(self._tables.items()):
            for number, actor in list(entry.seats.items()):
                stamps = (stamp for _, stamp in actor.seat.latest_starts)
                heard = max((actor.touched, *stamps))  # a start may be stamped in the future
                if heard < before and actor.seat.state not in OPEN:
                    self._seq_floor = max(self._seq_floor, actor.seat.seq)
                    del entry.seats[number]
                    self.states[actor.seat.state] -= 1
                    self.storms.see((table_id, number), None)
                    self._changed_seats[table_id, number] = None
            if not entry.seats and entry.touched < before:
                del self._tables[table_id]
                self._changed_tables[table_id] = None

    # -- Pictures, for the journal

    def take_changes(self) -> Picture:
        """Return what has changed since this was last asked; no value is ever changed in place."""
        seats = {key: self._seat(key) for key in self._changed_seats}
        tables = {table_id: self._table(table_id) for table_id in self._changed_tables}
        self._changed_seats, self._changed_tables = {}, {}
        return self._picture(seats, tables)

    def picture(self) -> Picture:
        """Return all that the shard knows."""
        keys = [(table_id, n) for table_id, entry in self._tables.items() for n in entry.seats]
        return self._picture(
            {key: self._seat(key) for key in keys},
            {table_id: self._table(table_id) for table_id in self._tables},
        )

    def entries(self, keys: Collection[SeatKey | str]) -> Picture:
        """Return what the shard knows of some seats and tables."""
        seats = {key: self._seat(key) for key in keys if isinstance(key, tuple)}
        tables = {key: self._table(key) for key in keys if isinstance(key, str)}
        return self._picture(seats, tables)

    def restore(self, picture: Picture) -> None:
        """Take over a picture of all that another shard knew."""
        self._tables = {
            table_id: _TableEntry(known.value, {}, known.touched)
            for table_id, known in picture.tables.items()
            if known is not None
        }
        self.states = Counter(dict.fromkeys(State, 0))
        for (table_id, number), seat in picture.seats.items():
            if seat is not None:
                self.states[seat.value.state] += 1
                actor = SeatActor(seat.value, seat.touched)
                if self._teller:
                    # Who knew the seat before may have told no stories.
                    begun = of_turn(seat.value.turn) if seat.value.turn else None
                    actor.story = seat.story or begun
                self._tables[table_id].seats[number] = actor
                self.deadlines.set((table_id, number), seat.value.deadline)
                self.storms.see((table_id, number), seat.value)
        self.storms.latest = picture.storms
        self._resets = {}
        for reset in picture.resets:
            self._resets[reset.source] = (*self._resets.get(reset.source, ()), reset)
        self._interruptions = picture.interruptions
        self._seq_floor, self._swept, self._mark = picture.seq_floor, picture.swept, picture.mark

    def _picture(
        self,
        seats: dict[SeatKey, Known[Seat] | None],
        tables: dict[str, Known[Table] | None],
    ) -> Picture:
        resets = tuple(reset for known in self._resets.values() for reset in known)
        return Picture(
            seats, tables, resets, self._interruptions,
            self._seq_floor, self._swept, self._mark, self.storms.latest,
        )  # fmt: skip

    def _seat(self, key: SeatKey) -> Known[Seat] | None:
        entry = self._tables.get(key[0])
        actor = entry.seats.get(key[1]) if entry else None
        return Known(actor.seat, actor.touched, actor.story) if actor else None

    def _table(self, table_id: str) -> Known[Table] | None:
        entry = self._tables.get(table_id)
        return Known(entry.facts, entry.touched) if entry else None


def refused(refusal: Refusal, at: int, body: str = "") -> EventRefused:
    """Return the notice of a refusal; `body` is a digest of what could not be read."""
    identity = refusal.identity
    return EventRefused(
        at=at,
        table_id=identity.table_id,
        seat=identity.seat,
        refused_source=identity.source,
        refused_id=identity.id,
        hand_id=identity.hand_id,
        turn_id=identity.turn_id,
        player_id=identity.player_id,
        code=refusal.code,
        detail=refusal.detail,
        body=body,
    )


def _merged(
    new: Interruption, known: tuple[Interruption, ...]
) -> tuple[Interruption, tuple[Interruption, ...]]:
    """Merge an interruption with those that it overlaps; also return the others."""
    overlapping = [one for one in known if one.start <= new.end and new.start <= one.end]
    merged = Interruption(
        min(one.start for one in (*overlapping, new)), max(one.end for one in (*overlapping, new))
    )
    return merged, tuple(one for one in known if one not in overlapping)
