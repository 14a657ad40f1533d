"""Shards that hear the same as the model, and what must hold between them.

A word is told as a publisher would write it: through the bytes of a CloudEvent. When the model
and a shard disagree, the failure comes with a scenario file that shows it.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import note

from actors.policies import bundled
from actors.policy_commands.comparing import given
from actors.shards.pictures import dump, load
from actors.shards.shard import Applied, Shard, Verdict
from statecharts.decisions import DecisionMade, OfATurn, Output, SeatAdvice, SeatChanged
from statecharts.events import decode
from statecharts.policy import Policies, Policy
from tests.property.model import MILLISECOND, SECOND, Model, Step, Told, seconds

POLICIES = bundled()
START = 1_767_225_600 * SECOND
"""Midnight, 1 January 2026."""
FOR_EVER = 1 << 62
OF_A_TABLE = (
    "hand.ended", "table.closed", "table.paused", "table.resumed", "protection.reset",
)  # fmt: skip
CLOCK = ("turn.extended", "table.paused")


def keys_of(room: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a room's file; what it leaves out is as adda52 has it."""
    adda52 = POLICIES.default.model_dump(mode="json", include={"grace", "covers_discards"})
    return {"name": "room", **adda52, **room}


def policies_of(room: Mapping[str, Any]) -> Policies:
    if not room:
        return POLICIES
    return Policies({"room": Policy.model_validate(keys_of(room))}, "room")


class World:
    """Three shards and the model.

    `shard` fires its deadlines when they are due; `restarted` does the same and is at times put
    down as JSON and taken up again; `slow` fires them only when an event forces it to, or at the
    end.
    """

    def __init__(
        self, max_clock_lag: int | None = None, room: Mapping[str, Any] | None = None
    ) -> None:
        self.lag = max_clock_lag
        self.room = room or {}
        self.model = Model(max_clock_lag, self.room)
        self.policies = policies_of(self.room)
        self.shard = Shard(self.policies, max_clock_lag=max_clock_lag)
        self.restarted = Shard(self.policies, max_clock_lag=max_clock_lag)
        self.slow = Shard(self.policies, max_clock_lag=max_clock_lag)
        self.now = START
        self.disagreed = False
        self.told: list[tuple[Told, int]] = []
        self.outputs: list[Output] = []
        self.slow_outputs: list[Output] = []

    # -- What can be done

    def wait(self, until: int) -> None:
        """Let time pass; what is due strictly before that instant fires."""
        self.now = max(self.now, until)
        fired = self.shard.fire(self.now)
        assert _bytes(fired) == _bytes(self.restarted.fire(self.now))
        self.outputs += fired

    def tell(self, told: Told) -> Applied:
        """Tell an event that arrives now; it gets an id if it has none."""
        told = replace(told, id=told.id or f"e{len(self.told)}")
        self.told.append((told, self.now))
        expected = self.model.hear(told, self.now)
        answer = tell(self.shard, told, self.now)
        again = tell(self.restarted, told, self.now)
        slow = tell(self.slow, told, self.now)
        self.outputs += answer.outputs
        self.slow_outputs += slow.outputs

        assert answer.verdict in Verdict
        assert (answer.verdict is Verdict.REFUSED) == (answer.refusal is not None)
        assert answer.reason or answer.verdict is Verdict.APPLIED
        code = answer.refusal.code.value if answer.refusal else None
        assert code == expected, self._scenario([])
        assert _bytes(answer.outputs) == _bytes(again.outputs)
        for other in (again, slow):
            assert (answer.verdict, answer.reason) == (other.verdict, other.reason)
        # A start that arrives late may bring deadlines that have passed already.
        self.wait(self.now)
        return answer

    def restart(self) -> None:
        """Put one of the shards down as JSON and take it up again."""
        picture = self.restarted.picture()
        again = load(json.loads(json.dumps(dump(picture))), self.policies.by_digest)
        assert again == picture
        self.restarted = Shard(self.policies, max_clock_lag=self.lag)
        self.restarted.restore(again)

    # -- What must hold

    def check(self, fired: int | None = None) -> None:
        """Compare what the shard has said with the model, and nothing has failed."""
        assert not self.shard.faults + self.restarted.faults + self.slow.faults
        found = steps(self.outputs)
        seats = {(t.table, t.seat) for t, _ in self.told if t.seat} | found.keys()
        for table, seat in sorted(seats):
            said = self.model.steps(table, seat, self.now if fired is None else fired)
            expected = [replace(step, heard=None) for step in said]
            came = found.get((table, seat), [])
            if came != expected:
                self.disagreed = True
                note(self._scenario(expected))
            assert in_short(came) == in_short(expected)

    def end(self) -> None:
        """Let all deadlines pass, and look at everything together."""
        self.wait(FOR_EVER)
        self.slow_outputs += self.slow.fire(FOR_EVER)
        self.check(FOR_EVER)
        assert _by_seat(self.outputs) == _by_seat(self.slow_outputs), self._scenario([])
        self._check_numbers()
        decisions = [one for one in self.outputs if isinstance(one, DecisionMade)]
        once = Counter((one.table_id, one.turn_id) for one in decisions)
        assert max(once.values(), default=0) <= 1
        for one in decisions:
            self._check_decision(one)

    def _check_numbers(self) -> None:
        latest: dict[tuple[str, int], int] = {}
        for one in self.outputs:
            if isinstance(one, OfATurn):
                seat = (one.table_id, one.seat)
                assert one.seq > latest.get(seat, 0)
                latest[seat] = one.seq

    def _check_decision(self, one: DecisionMade) -> None:
        for h in self.model.history:
            if h.told.type == "turn.acted" and h.told.data["turn_id"] == one.turn_id:
                assert h.at > one.at, "he acted in time"
        turn = next(
            h
            for h in self.model.history
            if h.told.type == "turn.started" and h.told.data["turn_id"] == one.turn_id
        )
        data = turn.told.data
        last = self.model.begins(turn) + seconds(data["turn_seconds"])
        last += seconds(data.get("time_bank_seconds", 0))
        policy = self.policies.default
        longest = max(
            (step.lasts(seconds(data["turn_seconds"])) for step in policy.grace), default=0
        )
        if not any(h.told.type in CLOCK for h in self.model.history):
            assert one.at <= last + policy.buffer + longest + policy.after_return
        assert one.rule in given(policy)
        if one.rule in ("check-available", "nothing-in-pot", "no-grace"):
            known = [h for h in self.model.history if h.n <= turn.n or h.at <= one.at]
            assert not self.model.connected(turn, known, one.at)

    def _scenario(self, expected: Iterable[Step]) -> str:
        return scenario(self.told, expected, self.room)


# -- Events, as publishers write them


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


def rfc3339(instant: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant)
    return moment.isoformat(timespec="microseconds")


# -- What a shard answers, in the words of the model


def steps(outputs: Iterable[Output]) -> dict[tuple[str, int], list[Step]]:
    """Return each seat's changes in the model's form, a decision with the change that tells it."""
    told = list(outputs)
    decisions = {(one.table_id, one.turn_id): one for one in told if isinstance(one, DecisionMade)}
    advice: dict[tuple[str, str], list[tuple[str, int, int]]] = defaultdict(list)
    for one in told:
        if isinstance(one, SeatAdvice):
            advice[one.table_id, one.turn_id].append((one.advice, one.decisions, one.hands))
    found: dict[tuple[str, int], list[Step]] = defaultdict(list)
    for one in told:
        if isinstance(one, SeatChanged):
            made = decisions.get((one.table_id, one.turn_id)) if one.to == "auto_action" else None
            used = one.time_bank_used_ms
            found[one.table_id, one.seat].append(
                Step(
                    one.at,
                    one.turn_id,
                    one.to.value,
                    one.until,
                    (made.action.value, made.rule.value, made.card) if made else None,
                    made.connected if made else None,
                    None if used is None else used * MILLISECOND,
                    tuple(advice[one.table_id, one.turn_id]) if made else (),
                )
            )
    return found


def _by_seat(outputs: Iterable[Output]) -> dict[tuple[str, int], list[Output]]:
    """Return what was said of each seat; how late it was said is another matter."""
    found: dict[tuple[str, int], list[Output]] = defaultdict(list)
    in_time = (
        one.model_copy(update={"late_ms": 0}) if isinstance(one, DecisionMade) else one
        for one in outputs
    )
    for one in in_time:
        if isinstance(one, OfATurn):
            found[one.table_id, one.seat].append(one)
    return found


def _bytes(outputs: Iterable[Output]) -> list[bytes]:
    return [one.encoded() for one in outputs]


# -- For a reader


def in_short(steps_: Iterable[Step]) -> list[str]:
    """Return steps as lines that a reader can compare; nothing of them is left out."""
    return [
        f"{in_seconds(s.at)} {s.turn_id} {s.state}"
        + (f" until {in_seconds(s.until)}" if s.until is not None else "")
        + (f" {s.decision} connected: {s.connected}" if s.decision else "")
        + (f" bank {s.bank_used / SECOND}" if s.bank_used is not None else "")
        + (f" advice {s.advice}" if s.advice else "")
        for s in steps_
    ]


def scenario(
    told: Iterable[tuple[Told, int]],
    expected: Iterable[Step],
    room: Mapping[str, Any] | None = None,
) -> str:
    """Write what was told, and what the model expects, as a scenario file."""
    policy = json.dumps(keys_of(room)) if room else "adda52"
    lines = [f"policy: {policy}", "scenarios:", "  - name: found by chance", "    events:"]
    for one, at in told:
        place = {"source": one.source, "table": one.table, "seat": one.seat or 1}
        usual = {"source": "/engine", "table": "t1", "seat": 1}
        data = {**one.data, **{k: v for k, v in place.items() if v != usual[k]}}
        if one.source == "/engine":
            data["source"] = one.source
        if at != one.stamp:
            data["arrives"] = in_seconds(at)
        lines.append(f"      - [{in_seconds(one.stamp)}, {one.type}, {json.dumps(data)}]")
    states = [
        f"[{in_seconds(s.at)}, {s.state}"
        + (f", {in_seconds(s.until)}]" if s.until is not None else "]")
        for s in expected
    ]
    return "\n".join([*lines, f"    states: [{', '.join(states)}]"])


def in_seconds(instant: int) -> float:
    return (instant - START) / SECOND
