"""A replay: what becomes of each turn of a record under a policy.

Each replay takes exactly the same events at the same instants.  A turn ends when the policy
decides it, or when the player's own action, as recorded, arrives before that.  Everything else in
the record that would end it (the decision of the day played by the engine, an action of the
engine's own, the next turn of the seat, the hand's end, the record's end) has followed from what
was decided then: the turn is carried on apart from it (`apart`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from actors.replays.apart import Apart, connection, is_his_own, seat_of
from actors.replays.endings import Answer, Ending, Kind, Met, Replayed, TurnKey, decided
from actors.replays.recorded import Stimulus
from actors.shards.deadlines import SeatKey
from actors.shards.pictures import Picture
from actors.shards.shard import Shard, Verdict
from statecharts.decisions import DecisionMade, Output, SeatChanged
from statecharts.events import Event
from statecharts.lines import State, Trigger
from statecharts.policy import Policies, Policy

_FOR_EVER = 1 << 62
_GOES_ON = (Trigger.TURN_STARTED, Trigger.TURN_ACTED, Trigger.HAND_ENDED)
"""With these the record goes on; `turn.acted` only where it is not the player's own."""


def replay(stimuli: Sequence[Stimulus], policy: Policy, acts_after: int | None) -> Replayed:
    """Play a record under a policy (see `Apart` for `acts_after`, microseconds)."""
    player = _Player(policy, acts_after)
    for stimulus in stimuli:
        player.take(stimulus)
    player.finish()
    return player.replayed


class _Player:
    def __init__(self, policy: Policy, acts_after: int | None) -> None:
        self.replayed = Replayed()
        self._policy = policy
        self._acts_after = acts_after
        self._known = Policies({policy.name: policy}, policy.name)
        self._shard = Shard(self._known)
        self._open: dict[SeatKey, Met] = {}
        self._apart: dict[SeatKey, list[Apart]] = {}
        self._now = 0

    def take(self, stimulus: Stimulus) -> None:
        """Take one event."""
        event, self._now = stimulus.event, stimulus.arrival
        self._settle(self._shard.fire(self._now))
        self._carry_on(stimulus)
        touched = {key: self._open[key] for key in self._touched(event)}
        before = self._shard.entries([*touched, event.table_id])
        applied = self._shard.apply(event, self._now)
        if self._shard.faults:
            raise self._shard.faults[0]
        if applied.refusal is not None:
            reason = f"{applied.refusal.code}: {applied.refusal.detail}"
            self.replayed.refused.append((stimulus.line, reason))
        if event.name is Trigger.TURN_STARTED and applied.verdict is Verdict.APPLIED:
            self._meet(event)
        self._settle(applied.outputs, event)
        for key, met in touched.items():
            if self._open.get(key) is not met:
                if self._key(met) not in self.replayed.endings:
                    self._take_apart(met, before)
            else:
                self._look(key, met)

    def finish(self) -> None:
        """Carry every turn to its end that is open when the record is over."""
        before = self._shard.entries([*self._open, *{table for table, _ in self._open}])
        for met in self._open.values():
            self._take_apart(met, before)
        for apart in chain.from_iterable(self._apart.values()):
            self._settle(apart.until(_FOR_EVER))

    # -- Turns

    def _meet(self, event: Event) -> None:
        key = seat_of(event)
        met = Met(event, min(event.stamp, self._now))
        turn = self._key(met)
        if turn in self.replayed.turns:
            return  # used again, which a turn_id never is: the first one is told
        self.replayed.turns[turn] = met
        reason = self._policy.uncovered(event.data.format, event.data.kind, event.data.variant)
        if reason is not None:
            answer = Answer(Kind.UNCOVERED, detail=reason)
            self.replayed.endings[turn] = Ending(answer, self._now)
            return
        self._open[key] = met
        self._look(key, met)

    def _look(self, key: SeatKey, met: Met) -> None:
        """Note whether he is connected, if that is new."""
        connected = connection(self._shard, key)
        if connected is not None and (not met.presence or met.presence[-1][1] != connected):
            met.presence.append((self._now, connected))

    def _touched(self, event: Event) -> list[SeatKey]:
        """Return the seats with an open turn that an event concerns."""
        if event.name is Trigger.GATEWAY_RESET:
            return [*self._open]
        if event.seat is None:
            return [key for key in self._open if key[0] == event.table_id]
        key = seat_of(event)
        return [key] if key in self._open else []

    # -- Ends

    def _settle(self, outputs: Iterable[Output], event: Event | None = None) -> None:
        """Note how turns have ended, by what is published; `event` is what has just come."""
        for output in outputs:
            if isinstance(output, DecisionMade):
                self._end((output.table_id, output.turn_id), decided(output))
            elif isinstance(output, SeatChanged) and output.to is State.IDLE:
                self._closed(output, event)

    def _closed(self, change: SeatChanged, event: Event | None) -> None:
        if change.trigger is Trigger.DEADLINE:
            answer = Answer(Kind.LEFT)
        elif change.trigger is Trigger.TURN_ACTED and (event is None or is_his_own(event)):
            answer = Answer(Kind.ACTED)
        elif change.trigger in _GOES_ON:
            key = (change.table_id, change.seat)
            if key in self._open and self._open[key].data.turn_id == change.turn_id:
                del self._open[key]
            return
        else:
            answer = Answer(Kind.OFF, detail=change.trigger.value)
        self._end((change.table_id, change.turn_id), Ending(answer, change.at))

    def _end(self, turn: TurnKey, ending: Ending) -> None:
        """Note how a turn has ended; what comes after a decision changes nothing."""
        met = self.replayed.turns[turn]
        self.replayed.endings.setdefault(turn, ending)
        key = seat_of(met.event)
        if self._open.get(key) is met:
            del self._open[key]

    # -- Apart

    def _take_apart(self, met: Met, before: Picture) -> None:
        key = seat_of(met.event)
        own = Picture(
            {key: before.seats[key]}, {key[0]: before.tables[key[0]]}, before.resets,
            before.interruptions, before.seq_floor, before.swept, before.mark,
        )  # fmt: skip
        apart = Apart(met, own, self._known, self._now, self._acts_after)
        self._apart.setdefault(key, []).append(apart)

    def _carry_on(self, stimulus: Stimulus) -> None:
        """Have the turns that are apart hear what is for them, each at its instant."""
        event, endings = stimulus.event, self.replayed.endings
        if event.name is Trigger.GATEWAY_RESET:
            keys = [*self._apart]
        else:
            keys = [seat_of(event)] if event.seat and seat_of(event) in self._apart else []
        for key in keys:
            for apart in self._apart.pop(key):
                self._settle(apart.until(stimulus.arrival))
                if self._key(apart.met) not in endings:
                    self._settle(apart.hear(stimulus))
                if self._key(apart.met) not in endings:
                    self._apart.setdefault(key, []).append(apart)

    @staticmethod
    def _key(met: Met) -> TurnKey:
        return met.event.table_id, met.data.turn_id
