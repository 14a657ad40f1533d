"""Seats of a table, driven at random and compared with the model after each step.

The number of examples is that of the profile, `ci` or `long`: see `conftest.py`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.property.model import SECOND, Told, seconds
from tests.property.rooms import ROOMS, asks_for_the_loss
from tests.property.world import World

MAX_TURNS = 16
"""So many turns of a seat are remembered at the least, and so many extensions."""
CARDS = ["As", "Kd", "7c"]

SEATS = st.sampled_from([1, 1, 1, 1, 2])
HANDS = st.sampled_from(["h1", "h1", "h2", "h3"])
ENGINES = st.sampled_from(["/engine", "/engine", "/engine", "/engine-2"])
# A session lives on one gateway; which one is the first letter of its name.
SESSIONS = st.sampled_from(["a1", "a1", "a2", "b1"])
GATEWAYS = {"a": "/gateway-a", "b": "/gateway-b"}
REASONS: list[dict[str, str]] = [{}, {"reason": "closed"}, {"reason": "ping-timeout"}]
PLAYERS = st.sampled_from(["p", "p", "p", "p", "p", "q"])

# Whole and half seconds, so that stamps, arrivals and deadlines often meet exactly.
LATER = st.sampled_from([0, 0, 0.5, 1, 1, 2, 3, 4, 5, 15, 20, "deadline", "deadline", "just after"])
LATE = st.sampled_from([0, 0, 0, 0, 0, 0, 0.5, 1, 1, 2, 3, 5, 10, 30, -1, -5, "turn end"])

# In the last six there is a bet to call with money in the pot, at and around five big blinds.
AMOUNTS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"to_call": 0, "contributed": 50, "pots": [150], "big_blind": 100},
        {"to_call": 0, "contributed": 0, "pots": [150], "big_blind": 100},
        {"to_call": 100, "contributed": 0, "pots": [150], "big_blind": 100},
        {"to_call": 100, "contributed": 50, "pots": [499], "big_blind": 100},
        {"to_call": 100, "contributed": 50, "pots": [300, 199], "big_blind": 100},
        {"to_call": 100, "contributed": 50, "pots": [300, 200], "big_blind": 100},
        {"to_call": 100, "contributed": 50, "contributed_voluntarily": 0, "pots": [499, 1]}
        | {"big_blind": 100},
        {"to_call": "0.1", "contributed": "0.05", "pots": ["0.49"], "big_blind": "0.10"},
        {"to_call": "0.1", "contributed": "0.05", "pots": ["0.4", "0.1"], "big_blind": "0.10"},
    ]
)
OPTIONS = st.sampled_from(
    [
        *[{}] * 6,
        {"connected": True},
        {"connected": False},
        {"time_bank_seconds": 2},
        {"time_bank_seconds": 30},
        {"time_bank_seconds": 2, "connected": False},
        {"time_bank_seconds": 0, "stack": 0},
        {"format": "tournament"},
        {"protection_left": 0},
        {"protection_left": 1},
    ]
)


def is_left_out(world: World, told: Told) -> bool:
    """Whether this is a start that comes after its own end: known to be settled by last words.

    A session's earlier words are not kept, so that who was there at that end is told from the last
    word before it only where nothing has been heard of the session since.  Or an action of his own
    in no open turn: what that is to the advice stands in `test_found_words.yaml`.
    """
    if told.type == "turn.acted":
        return _is_elsewhere(world, told)
    if told.type != "turn.started":
        return False
    known = any(one.data.get("turn_id") == told.data["turn_id"] for one, _ in world.told)
    if not known and world.now > told.stamp and world.room.get("away_status"):
        return True  # it is to be answered at its start, which is over: the same
    return not known and world.now > told.stamp + seconds(told.data["turn_seconds"])


def _is_elsewhere(world: World, told: Told) -> bool:
    if not world.room.get("advice") or told.data.get("by", "player") != "player":
        return False
    model = world.model
    opened = model.opened(told.table, told.seat)
    its = [turn for turn in opened if turn.told.data["turn_id"] == told.data["turn_id"]]
    return all(model.closing(turn) is not None for turn in its)


def _is_discard_of(hand: str, told: Told) -> bool:
    return told.data["hand_id"] == hand and "cards" in told.data


def _counts_by_hand(room: Mapping[str, Any]) -> bool:
    return bool(room.get("grace_uses_per_hand") or room.get("budget") or room.get("advice"))


class SeatMachine(RuleBasedStateMachine):
    """Everything that gateways and engines can say, late, twice and out of order."""

    world: World | None = None

    @initialize(
        lag=st.sampled_from([None, None, 2 * SECOND]), room=st.one_of(st.just({}), ROOMS, ROOMS)
    )
    def begin(self, lag: int | None, room: dict[str, Any]) -> None:
        self.world = World(lag, room)
        self.turns: dict[int, list[Told]] = {1: [], 2: []}
        self.extensions = {1: 0, 2: 0}
        # A table's closing tells nothing to a seat that nobody has named yet.
        for seat in self.turns:
            turn = {"hand_id": "h0", "turn_id": f"{seat}-0"}
            self.world.tell(Told("turn.acted", self.world.now, turn, seat=seat))

    @property
    def here(self) -> World:
        assert self.world is not None
        return self.world

    # -- When, and by whose clock

    def _wait(self, later: float | str) -> None:
        world = self.here
        if isinstance(later, str):
            last = [world.model.steps("t1", seat, world.now)[-1:] for seat in (1, 2)]
            soonest = min((s.until for one in last for s in one if s.until), default=world.now)
            world.wait(soonest + (later == "just after"))
        else:
            world.wait(world.now + seconds(later))

    def _stamp(self, late: float | str, seat: int) -> int:
        if isinstance(late, str):
            turns = [*self.here.model.opened("t1", seat or 1)]
            ends = [
                self.here.model.begins(turn) + seconds(turn.told.data["turn_seconds"])
                for turn in turns
            ]
            return ends[-1] if ends else self.here.now
        return self.here.now - seconds(late)

    def _say(self, type_: str, late: float | str, source: str, seat: int, **data: Any) -> None:
        self._tell(Told(type_, self._stamp(late, seat), data, "t1", seat, source))

    def _tell(self, told: Told) -> None:
        if not is_left_out(self.here, told):
            self.here.tell(told)

    # -- Turns

    @rule(later=LATER, late=LATE, seat=SEATS, hand=HANDS, player=PLAYERS, source=ENGINES,
          amounts=AMOUNTS, turn=st.sampled_from([1, 5, 20, 20]), options=OPTIONS)  # fmt: skip
    def turn_started(
        self, later: Any, late: Any, seat: int, hand: str, player: str, source: str,
        amounts: dict[str, Any], turn: int, options: dict[str, Any],
    ) -> None:  # fmt: skip
        self._start(later, late, seat, source, hand_id=hand, player_id=f"{player}{seat}",
                    turn_seconds=turn, **{"format": "cash"} | amounts | options)  # fmt: skip

    @rule(later=LATER, late=LATE, seat=SEATS, hand=HANDS, source=ENGINES,
          turn=st.sampled_from([1, 5, 20]), chosen=st.sampled_from([None, *CARDS]))  # fmt: skip
    def discard_started(self, later: Any, late: Any, seat: int, hand: str, source: str, turn: int,
                        chosen: str | None) -> None:  # fmt: skip
        # A hand has one discard. The engine may open it anew while it is not decided.
        self._wait(later)
        first = {t.data["turn_id"]: t for t in self.turns[seat] if _is_discard_of(hand, t)}
        steps = self.here.model.steps("t1", seat, self.here.now)
        decided = any(step.decision for step in steps if step.turn_id in first)
        if not decided and not any(t.data["chosen"] for t in first.values()):
            self._start(0, late, seat, source, hand_id=hand, player_id=f"p{seat}",
                        turn_seconds=turn, format="cash", kind="discard", cards=CARDS,
                        chosen=chosen)  # fmt: skip

    @rule(later=LATER, late=LATE, seat=SEATS, hand=HANDS, player=PLAYERS, source=ENGINES,
          turn=st.sampled_from([1, 5, 20]), kind=st.sampled_from(["bring_in", "draw"]),
          options=OPTIONS)  # fmt: skip
    def plain_turn_started(
        self, later: Any, late: Any, seat: int, hand: str, player: str, source: str,
        turn: int, kind: str, options: dict[str, Any],
    ) -> None:  # fmt: skip
        self._start(later, late, seat, source, hand_id=hand, player_id=f"{player}{seat}",
                    turn_seconds=turn, kind=kind, **{"format": "cash"} | options)  # fmt: skip

    def _start(self, later: Any, late: Any, seat: int, source: str, **data: Any) -> None:
        if len(self.turns[seat]) >= MAX_TURNS:
            return
        self._wait(later)
        if _counts_by_hand(self.here.room):  # of a table's hands one follows the other
            data["hand_id"] = max([data["hand_id"], *(t.data["hand_id"] for t in self.turns[seat])])
        turn_id = f"{seat}-{len(self.turns[seat]) + 1}"
        stamp = self._stamp(late, seat)
        told = Told("turn.started", stamp, {"turn_id": turn_id, **data}, "t1", seat, source)
        self.turns[seat].append(told)
        self._tell(told)

    @rule(later=LATER, late=LATE, seat=SEATS, back=st.sampled_from([0, 0, 0, 0, -1, 1, 2, 3]),
          by=st.sampled_from(["player", "player", "decision", "engine", "called off"]),
          source=ENGINES)  # fmt: skip
    def turn_acted(self, later: Any, late: Any, seat: int, back: int, by: str, source: str) -> None:
        self._wait(later)
        turn = {"hand_id": "h1", "turn_id": self._turn_id(seat, back)}
        if by == "called off":
            self._say("turn.cancelled", late, source, seat, **turn)
        else:
            self._say("turn.acted", late, source, seat, **turn, by=by)

    def _turn_id(self, seat: int, back: int) -> str:
        """The present turn, an earlier one, or (-1) one that has not begun."""
        return f"{seat}-{max(1, len(self.turns[seat]) - back)}"

    # -- The clock

    @rule(later=LATER, late=LATE, seat=SEATS, back=st.sampled_from([0, 0, 0, -1, 1]),
          longer=st.sampled_from([1, 5, 30]), source=ENGINES)  # fmt: skip
    def turn_extended(self, later: Any, late: Any, seat: int, back: int, longer: int,
                      source: str) -> None:  # fmt: skip
        self._wait(later)
        self.extensions[seat] += 1
        if self.extensions[seat] <= MAX_TURNS:
            turn_id = self._turn_id(seat, back)
            self._say("turn.extended", late, source, seat, turn_id=turn_id, seconds=longer)

    @rule(what=st.sampled_from(["table.paused", "table.resumed", "table.resumed"]), later=LATER,
          late=LATE, source=ENGINES)  # fmt: skip
    def clock_stopped_or_started(self, what: str, later: Any, late: Any, source: str) -> None:
        self._wait(later)
        self._say(what, late, source, 0)

    # -- What a player says of himself

    @precondition(lambda self: self.here.room.get("away_status"))
    @rule(what=st.sampled_from(["player.away", "player.back"]), later=LATER, late=LATE, seat=SEATS,
          player=PLAYERS, source=ENGINES)  # fmt: skip
    def said(self, what: str, later: Any, late: Any, seat: int, player: str, source: str) -> None:
        self._wait(later)
        self._say(what, late, source, seat, player_id=f"{player}{seat}")

    @rule(later=LATER, late=LATE, seat=SEATS, hand=HANDS, source=ENGINES,
          card=st.sampled_from([*CARDS, None, "2h"]))  # fmt: skip
    def card_chosen(self, later: Any, late: Any, seat: int, hand: str, source: str,
                    card: str | None) -> None:  # fmt: skip
        self._wait(later)
        self._say("card.chosen", late, source, seat, hand_id=hand, card=card)

    # -- Presence

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
        stamp = self._stamp(late, seat)
        # Losses of one instant have one reason.
        reason = REASONS[min(stamp, self.here.now) // SECOND % len(REASONS)]
        word = {"player_id": f"{player}{seat}", "session_id": session, **reason}
        self._tell(Told("player.disconnected", stamp, word, "t1", seat, GATEWAYS[session[0]]))

    # -- Ends. One rule for all of them, so that most turns live long enough to be decided.

    @rule(what=st.sampled_from(["reset", "reset", "hand", "vacated", "closed", "protection"]),
          later=LATER, late=LATE, seat=SEATS, player=PLAYERS, hand=HANDS, source=ENGINES,
          players=st.sampled_from([None, ["p1", "q1"], ["p2"]]),
          gateway=st.sampled_from([*GATEWAYS.values()]))  # fmt: skip
    def ended(self, what: str, later: Any, late: Any, seat: int, player: str, hand: str,
              source: str, players: list[str] | None, gateway: str) -> None:  # fmt: skip
        self._wait(later)
        if what == "reset":
            if not asks_for_the_loss(self.here.room):
                self._say("gateway.reset", late, gateway, 0, gateway=gateway)
        elif what == "hand":
            played = {} if players is None else {"players": players}
            self._say("hand.ended", late, source, 0, hand_id=hand, **played)
        elif what == "protection":
            whose = {} if players is None else {"player_id": players[0]}
            self._say("protection.reset", late, source, 0, **whose)
        elif what == "vacated":
            self._say("seat.vacated", late, source, seat, player_id=f"{player}{seat}")
        else:
            self._say("table.closed", late, source, 0)

    # -- Faults of the network, and of ours

    @precondition(lambda self: self.here.told)
    @rule(later=LATER, which=st.integers(0, 50), renamed=st.booleans())
    def told_again(self, later: Any, which: int, renamed: bool) -> None:
        self._wait(later)
        told, _ = self.here.told[-1 - which % len(self.here.told)]
        self._tell(replace(told, id="") if renamed else told)

    @rule(later=LATER)
    def time_passes(self, later: Any) -> None:
        self._wait(later)

    @rule()
    def restarted(self) -> None:
        self.here.restart()

    @invariant()
    def the_model_agrees(self) -> None:
        if self.world is not None:
            self.world.check()

    def teardown(self) -> None:
        if self.world is not None and not self.world.disagreed:
            self.world.end()


test_seats_do_what_the_documents_say = SeatMachine.TestCase


# One turn, and many words on the player's presence: the buffer, the grace and the returns in it.

WORDS = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 0.5, 1, 1, 2, 2, 3, 5, 14, 15]),  # later
        st.sampled_from([0, 0, 0, 0.5, 1, 1, 1.5, 2, 3, 4, -1]),  # late
        st.sampled_from(["lost", "lost", "up", "up", "sole", "reset", "restart", "acted"]),
        st.sampled_from(["a1", "a1", "a2", "b1"]),
    ),
    max_size=14,
)


def _word(what: str, session: str, stamp: int) -> Told:
    gateway = GATEWAYS[session[0]]
    word = {"player_id": "p1", "session_id": session}
    match what:
        case "acted":
            return Told("turn.acted", stamp, {"hand_id": "h1", "turn_id": "1-1"}, seat=1)
        case "reset":
            return Told("gateway.reset", stamp, {"gateway": gateway}, source=gateway)
        case "lost":
            return Told("player.disconnected", stamp, word, seat=1, source=gateway)
    back = {**word, "sole": what == "sole"}
    return Told("player.connected", stamp, back, seat=1, source=gateway)


@given(
    words=WORDS,
    before=st.integers(0, 4),
    late=st.sampled_from([0, 0, 1]),
    amounts=AMOUNTS,
    room=st.one_of(st.just({}), ROOMS),
    bank=st.sampled_from([0, 0, 2]),
    said=st.sampled_from([{}, {}, {"connected": True}, {"connected": False}]),
)
def test_the_buffer_and_the_grace_are_given_by_the_words_of_presence(
    words: list[tuple[float, float, str, str]],
    before: int,
    late: float,
    amounts: dict[str, Any],
    room: dict[str, Any],
    bank: int,
    said: dict[str, bool],
) -> None:
    world = World(room=room)
    data = {"hand_id": "h1", "turn_id": "1-1", "player_id": "p1", "turn_seconds": 2,
            "format": "cash", "time_bank_seconds": bank, **said, **amounts}  # fmt: skip
    for number, (later, word_late, what, session) in enumerate(words):
        if number == before:
            world.tell(Told("turn.started", world.now - seconds(late), data, seat=1))
            world.check()
        world.wait(world.now + seconds(later))
        if what == "restart":
            world.restart()
            continue
        told = _word(what, session, world.now - seconds(word_late))
        # An action is for one session in three only, because nothing happens after it.
        if not is_left_out(world, told) and (what != "acted" or session == "b1"):
            world.tell(told)
        world.check()
    world.end()
