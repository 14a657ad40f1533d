"""One or two seats of a table, driven at random and compared with the model after each step."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import note, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from actors.pictures import dump, load
from actors.policies import bundled
from actors.shard import Shard, Verdict
from statecharts.decisions import DecisionMade, OfATurn, Output, SeatChanged
from tests.property.model import SECOND, Heard, Model, Step, Told
from tests.property.telling import START, scenario, steps, tell, told_in_short

POLICIES = bundled()
FOR_EVER = 1 << 62
MAX_TURNS = 16

SEATS = st.sampled_from([1, 1, 1, 2])
HANDS = st.sampled_from(["h1", "h1", "h2", "h3"])
ENGINES = st.sampled_from(["/engine", "/engine", "/engine", "/engine-2"])
# A session lives on one gateway; which one is the first letter of its name.
SESSIONS = st.sampled_from(["a1", "a2", "b1", "b2"])
GATEWAYS = {"a": "/gateway-a", "b": "/gateway-b"}
PLAYERS = st.sampled_from(["p", "p", "p", "q"])
CARDS = ["As", "Kd", "7c"]

# Whole and half seconds, so that stamps, arrivals and deadlines often meet exactly.
LATER = st.sampled_from([0, 0, 0, 0.5, 1, 1, 2, 3, 4, 5, 15, 20, "deadline", "just after"])
LATE = st.sampled_from([0, 0, 0, 0, 0, 0.5, 1, 1, 2, 3, 5, 10, 30, -1, -5, "deadline"])

AMOUNTS = st.sampled_from(
    [
        {"to_call": 0, "contributed": 50, "pots": [150], "big_blind": 100},
        {"to_call": 0, "contributed": 0, "pots": [150], "big_blind": 100},
        {"to_call": 100, "contributed": 0, "pots": [150], "big_blind": 100},
        {"to_call": 100, "contributed": 50, "pots": [499], "big_blind": 100},
        {"to_call": 100, "contributed": 50, "pots": [300, 199], "big_blind": 100},
        {"to_call": 100, "contributed": 50, "pots": [300, 200], "big_blind": 100},
        {"to_call": 100, "contributed": 50, "pots": [5000], "big_blind": 100},
        {"to_call": "0.1", "contributed": "0.05", "pots": ["0.49"], "big_blind": "0.10"},
        {"to_call": "0.1", "contributed": "0.05", "pots": ["0.4", "0.1"], "big_blind": "0.10"},
    ]
)


class SeatMachine(RuleBasedStateMachine):
    """Three shards and the model hear the same.

    `shard` fires its deadlines when they are due; `restarted` does the same and is at times put
    down as JSON and taken up again; `slow` fires them only when an event of the seat forces it to.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.told: list[tuple[Told, int]] = []
        self.heard: list[tuple[Told, int]] = []
        self.outputs: list[Output] = []
        self.slow_outputs: list[Output] = []
        self.turns: dict[int, list[Told]] = {1: [], 2: []}
        self.ids = 0

    @initialize(lag=st.sampled_from([None, None, 2 * SECOND]))
    def begin(self, lag: int | None) -> None:
        self.lag = lag
        self.model = Model(lag)
        self.shard = Shard(POLICIES, max_clock_lag=lag)
        self.restarted = Shard(POLICIES, max_clock_lag=lag)
        self.slow = Shard(POLICIES, max_clock_lag=lag)

    # -- Time

    def _soonest(self) -> int | None:
        """The next instant at which something happens by itself, as the model sees it."""
        ends = [
            last[-1].until
            for seat in (1, 2)
            if (last := self.model.steps("t1", seat, self.now)) and last[-1].until
        ]
        return min(ends, default=None)

    def _wait(self, later: float | str) -> None:
        if isinstance(later, str):
            soonest = self._soonest()
            later_at = self.now if soonest is None else soonest + (later == "just after")
        else:
            later_at = self.now + int(later * SECOND)
        self.now = max(self.now, later_at)
        self._fire(self.now)

    def _fire(self, before: int) -> None:
        fired = self.shard.fire(before)
        assert [o.encoded() for o in fired] == [o.encoded() for o in self.restarted.fire(before)]
        self.outputs += fired

    def _stamp(self, late: float | str) -> int:
        """A stamp before the arrival, or exactly at the end of a turn that is open now."""
        if isinstance(late, str):
            ends = [
                self.model.begins(turn) + int(turn.told.data["turn_seconds"] * SECOND)
                for seat in (1, 2)
                for turn in self.model.opened("t1", seat)
                if self.model.closing(turn) is None
            ]
            return ends[-1] if ends else self.now
        return self.now - int(late * SECOND)

    # -- Telling

    def _tell(self, told: Told) -> None:
        at = self.now
        self.told.append((told, at))
        expected = self.model.hear(told, at)
        applied = tell(self.shard, told, at)
        again = tell(self.restarted, told, at)
        slow = tell(self.slow, told, at)
        assert applied.verdict in Verdict
        assert (applied.verdict, applied.reason) == (again.verdict, again.reason)
        assert (applied.verdict, applied.reason) == (slow.verdict, slow.reason)
        code = applied.refusal.code.value if applied.refusal else None
        assert (applied.verdict is Verdict.REFUSED) == (code is not None)
        assert code == expected
        if code is None:
            self.heard.append((told, at))
        assert [o.encoded() for o in applied.outputs] == [o.encoded() for o in again.outputs]
        self.outputs += applied.outputs
        self.slow_outputs += slow.outputs
        # A start that arrives late may bring deadlines that have passed already.
        self._fire(at)

    def _id(self) -> str:
        self.ids += 1
        return f"e{self.ids}"

    def _say(self, type_: str, late: float | str, source: str, seat: int, **data: Any) -> None:
        self._tell(Told(type_, self._stamp(late), data, "t1", seat, source, self._id()))

    @rule(later=LATER, late=LATE, seat=SEATS, hand=HANDS, player=PLAYERS, source=ENGINES,
          amounts=AMOUNTS, seconds=st.sampled_from([1, 2, 5, 20, 20]),
          bank=st.sampled_from([0, 0, 2, 30]), said=st.sampled_from([None, None, True, False]),
          stack=st.sampled_from([None, 100, 100, 0]),
          format_=st.sampled_from(["cash"] * 5 + ["tournament"]))  # fmt: skip
    def turn_started(self, later: Any, late: Any, seat: int, hand: str, player: str, source: str,
                     amounts: dict[str, Any], seconds: int, bank: int, said: bool | None,
                     stack: int | None, format_: str) -> None:  # fmt: skip
        if stack and isinstance(amounts["big_blind"], str):
            stack = None  # integers and strings are not mixed
        optional = {"connected": said, "time_bank_seconds": bank, "stack": stack}
        self._start(later, late, seat, source, hand_id=hand, player_id=f"{player}{seat}",
                    turn_seconds=seconds, format=format_, **amounts,
                    **{k: v for k, v in optional.items() if v is not None})  # fmt: skip

    @rule(later=LATER, late=LATE, seat=SEATS, hand=HANDS, player=PLAYERS, source=ENGINES,
          seconds=st.sampled_from([1, 5, 20]), chosen=st.sampled_from([None, None, *CARDS]))  # fmt: skip
    def discard_started(self, later: Any, late: Any, seat: int, hand: str, player: str,
                        source: str, seconds: int, chosen: str | None) -> None:  # fmt: skip
        if any(t.data["hand_id"] == hand and "cards" in t.data for t in self.turns[seat]): return
        self._start(later, late, seat, source, hand_id=hand, player_id=f"{player}{seat}",
                    turn_seconds=seconds, format="cash", kind="discard", cards=CARDS,
                    chosen=chosen)  # fmt: skip

    def _start(self, later: Any, late: Any, seat: int, source: str, **data: Any) -> None:
        if len(self.turns[seat]) >= MAX_TURNS:
            return
        self._wait(later)
        turn_id = f"{seat}-{len(self.turns[seat]) + 1}"
        stamp = max(self._stamp(late), self.now - data["turn_seconds"] * SECOND)
        told = Told("turn.started", stamp, {"turn_id": turn_id, **data}, "t1", seat,
                    source, self._id())  # fmt: skip
        self.turns[seat].append(told)
        self._tell(told)

    @rule(later=LATER, late=LATE, seat=SEATS, back=st.sampled_from([0, 0, 0, 0, -1, 1, 2, 3]),
          by=st.sampled_from(["player", "decision", "engine"]), source=ENGINES)  # fmt: skip
    def turn_acted(self, later: Any, late: Any, seat: int, back: int, by: str, source: str) -> None:
        """The present turn, an earlier one, or (-1) one that has not begun."""
        self._wait(later)
        number = max(1, len(self.turns[seat]) - back)
        self._say("turn.acted", late, source, seat, hand_id="h1", turn_id=f"{seat}-{number}", by=by)

    @rule(later=LATER, late=LATE, seat=SEATS, hand=HANDS, source=ENGINES,
          card=st.sampled_from([*CARDS, None, "2h"]))  # fmt: skip
    def card_chosen(self, later: Any, late: Any, seat: int, hand: str, source: str,
                    card: str | None) -> None:  # fmt: skip
        self._wait(later)
        self._say("card.chosen", late, source, seat, hand_id=hand, card=card)

    @rule(later=LATER, late=LATE, seat=SEATS, player=PLAYERS, session=SESSIONS,
          sole=st.sampled_from([False, False, True]))  # fmt: skip
    def connected(self, later: Any, late: Any, seat: int, player: str, session: str,
                  sole: bool) -> None:  # fmt: skip
        self._wait(later)
        self._say("player.connected", late, GATEWAYS[session[0]], seat,
                  player_id=f"{player}{seat}", session_id=session, sole=sole)  # fmt: skip

    @rule(later=LATER, late=LATE, seat=SEATS, player=PLAYERS, session=SESSIONS)
    def disconnected(self, later: Any, late: Any, seat: int, player: str, session: str) -> None:
        self._wait(later)
        self._say("player.disconnected", late, GATEWAYS[session[0]], seat,
                  player_id=f"{player}{seat}", session_id=session)  # fmt: skip

    @rule(later=LATER, late=LATE, gateway=st.sampled_from([*GATEWAYS.values()]))
    def gateway_reset(self, later: Any, late: Any, gateway: str) -> None:
        self._wait(later)
        self._say("gateway.reset", late, gateway, 0, gateway=gateway)

    @rule(later=LATER, late=LATE, seat=SEATS, player=PLAYERS, source=ENGINES)
    def seat_vacated(self, later: Any, late: Any, seat: int, player: str, source: str) -> None:
        self._wait(later)
        if player == "q" and any(t.type == "card.chosen" for t, _ in self.told): return
        self._say("seat.vacated", late, source, seat, player_id=f"{player}{seat}")

    @rule(later=LATER, late=LATE, hand=HANDS, source=ENGINES)
    def hand_ended(self, later: Any, late: Any, hand: str, source: str) -> None:
        self._wait(later)
        self._say("hand.ended", late, source, 0, hand_id=hand)

    @rule(later=LATER, late=LATE, source=ENGINES)
    def table_closed(self, later: Any, late: Any, source: str) -> None:
        self._wait(later)
        self._say("table.closed", late, source, 0)

    @precondition(lambda self: self.told)
    @rule(later=LATER, which=st.integers(0, 10_000), renamed=st.booleans())
    def told_again(self, later: Any, which: int, renamed: bool) -> None:
        self._wait(later)
        told, _ = self.told[which % len(self.told)]
        self._tell(replace(told, id=self._id()) if renamed else told)

    @rule(later=LATER)
    def time_passes(self, later: Any) -> None:
        self._wait(later)

    @rule()
    def restart(self) -> None:
        picture = self.restarted.picture()
        plain = json.loads(json.dumps(dump(picture)))
        again = load(plain, POLICIES.by_digest)
        assert again == picture
        self.restarted = Shard(POLICIES, max_clock_lag=self.lag)
        self.restarted.restore(again)

    # -- What must hold

    @invariant()
    def nothing_has_failed(self) -> None:
        if hasattr(self, "model"):
            assert not self.shard.faults + self.restarted.faults + self.slow.faults

    @invariant()
    def the_model_agrees(self) -> None:
        if hasattr(self, "model"):
            self._compare(self.outputs, self.now)

    def _compare(self, outputs: list[Output], fired: int) -> None:
        found = steps(outputs)
        for seat in (1, 2):
            expected = [replace(s, heard=None) for s in self.model.steps("t1", seat, fired)]
            if found["t1", seat] != expected:
                note(scenario([(t, a) for t, a in self.told], expected))
            assert told_in_short(found["t1", seat]) == told_in_short(expected)

    def teardown(self) -> None:
        if not hasattr(self, "model"):
            return
        self._fire(FOR_EVER)
        self._compare(self.outputs, FOR_EVER)


SeatMachine.TestCase.settings = settings(max_examples=int(__import__('os').environ.get('N','300')), stateful_step_count=30, deadline=None)
test_a_seat_does_what_the_documents_say = SeatMachine.TestCase
