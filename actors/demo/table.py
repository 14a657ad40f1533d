"""One table: hand after hand, as a generator of events that is told the decisions it waits for.

No clock and no I/O.  Every stamp follows from the stamps before it and from the deadlines of the
decisions, so that a seed always gives the same events.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any

from actors.demo import script
from actors.demo.deals import Deal
from actors.demo.game import BettingTurn, DiscardTurn, Turn
from actors.demo.pace import Pace
from actors.demo.players import Player, seated
from actors.demo.script import MIDDLE, Do, Plan, Span, Step, Timeline
from actors.demo.sent import Sent
from actors.demo.voice import Voice, facts
from statecharts.instants import MILLISECOND, SECOND, from_rfc3339, from_seconds
from statecharts.lines import Trigger
from statecharts.policy import Policy

_BEFORE_DISCARD = 2 * SECOND
_BETWEEN_WORDS = 20 * MILLISECOND
_BACK_AFTER_TURN = 0.4
_BACK_FOR_HAND = 0.8


@dataclass(frozen=True, slots=True)
class Awaited:
    """The decision of a turn is waited for; at `until` the engine acts itself."""

    turn_id: str
    until: int


Decision = Mapping[str, Any]
"""The data of a `decision.made`."""
Play = Generator[Sent | Awaited, Decision | None, None]


@dataclass(slots=True)
class _Open:
    """An open turn, and what is going to happen during it."""

    turn: Turn
    turn_id: str
    player: Player
    seconds: float
    bank: float
    line: Timeline
    plan: Plan
    is_closed: bool = False


class Table:
    """A table.  Instants are microseconds since 1970."""

    def __init__(
        self,
        table_id: str,
        deals: Sequence[Deal],
        *,
        pace: Pace,
        policy: Policy,
        chance: random.Random,
        start: int,
        last_start: int | None = None,
    ) -> None:
        """`deals` are its hands, not none; `last_start` is when the last of them may begin."""
        self.id = table_id
        self._deals = deals
        self._pace = pace
        self._policy = policy
        self._chance = chance
        self._now = start
        self._last_start = last_start
        self._players = seated(table_id, chance)
        self._ids = count(1)
        self._voice: Voice
        """Made anew for each hand."""
        self._deal = deals[0]
        self._hand = ""
        self._turns = 0

    def play(self) -> Play:
        """Play all the hands."""
        for number, deal in enumerate(self._deals, 1):
            if self._last_start is not None and self._now > self._last_start:
                break
            self._hand = f"{self.id}-{number}"
            self._turns = 0
            self._deal = deal
            self._voice = Voice(self.id, self._players, deal.game(), self._ids)
            yield from self._gather(self._needed(), is_first=number == 1)
            moments = 0
            while moments != deal.moments and (turns := self._voice.game.next()):
                yield from self._moment(turns)
                moments += 1
            self._pause()
            yield self._voice.say(Trigger.HAND_ENDED, self._now, {"hand_id": self._hand})
        yield self._voice.say(Trigger.TABLE_CLOSED, self._now, {})

    def _needed(self) -> list[Player]:
        """Return who takes part: of a hand that is shown in part, only whose turn it is."""
        game = self._voice.game
        seats = game.record.seats
        if self._deal.is_partial:
            seats = tuple(seats[turn.player] for turn in game.next())
        return [self._players[seat] for seat in seats]

    def _gather(self, players: Sequence[Player], *, is_first: bool) -> Iterator[Sent]:
        """Have those who are away come back for a new hand, most of them."""
        self._pause()
        for player in players:
            if not player.live and (is_first or self._chance.random() < _BACK_FOR_HAND):
                self._now += _BETWEEN_WORDS
                yield self._voice.connected(player, self._now)

    # -- Turns

    def _moment(self, turns: Sequence[Turn]) -> Play:
        """Have one player bet, or all let a card go at once: steps in order, then decisions."""
        self._pause()
        start = self._now + (_BEFORE_DISCARD if isinstance(turns[0], DiscardTurn) else 0)
        opened = [self._opened(turn, start) for turn in turns]
        steps = [(start, one, None) for one in opened] + [
            (self._arrival(step, one), one, step) for one in opened for step in one.plan.steps
        ]
        for arrival, one, step in sorted(steps, key=lambda each: each[0]):
            self._now = arrival
            yield from self._do(step, one) if step else [self._started(one)]
        for one in opened:
            if not one.is_closed:
                yield self._close(one, (yield self._awaited(one)))
        for one in opened:
            if not one.player.live and self._chance.random() < _BACK_AFTER_TURN:
                self._pause()
                yield self._voice.connected(one.player, self._now)

    def _opened(self, turn: Turn, start: int) -> _Open:
        self._turns += 1
        player = self._players[self._voice.game.record.seats[turn.player]]
        known = {"connected" if player.live else "away"}
        seconds, bank, grace = self._pace.discard, 0.0, 0
        if isinstance(turn, BettingTurn):
            seconds = self._chance.choice(self._pace.turn)
            bank = self._chance.choice(self._pace.bank)
            if turn.to_call and turn.contributed:
                known.add("grace")
                size = Fraction(turn.pot) / Fraction(turn.big_blind)
                grace = self._policy.grace_for(
                    size.numerator, size.denominator, from_seconds(seconds)
                )
            if bank:
                known.add("bank")
        known.add("betting" if isinstance(turn, BettingTurn) else "discard")
        line = script.timeline(
            start,
            before=_BEFORE_DISCARD,
            turn=from_seconds(seconds),
            bank=from_seconds(bank),
            buffer=self._policy.buffer,
            grace=grace,
        )
        plan = script.choose(frozenset(known), self._chance, is_eventful=self._deal.is_partial)
        return _Open(turn, f"{self._hand}-{self._turns}", player, seconds, bank, line, plan)

    def _started(self, one: _Open) -> Sent:
        data = {
            "hand_id": self._hand,
            "turn_id": one.turn_id,
            "player_id": one.player.id,
            "format": "cash",
            "variant": self._voice.game.record.variant,
            "policy": self._policy.name,
            "connected": bool(one.player.live),
            "turn_seconds": one.seconds,
            **({"time_bank_seconds": one.bank} if one.bank else {}),
            **facts(one.turn),
        }
        return self._voice.say(Trigger.TURN_STARTED, self._now, data, seat=one.player.seat)

    def _awaited(self, one: _Open) -> Awaited:
        _, last = one.line.spans[Span.GRACE]
        return Awaited(one.turn_id, last + from_seconds(self._pace.patience))

    def _close(self, one: _Open, decision: Decision | None) -> Sent:
        """Play what was decided; without a decision the engine acts as it thinks right."""
        if decision is None:
            self._now = max(self._now, self._awaited(one).until)
            done = self._voice.game.decide(one.turn, "check")
            return self._acted(one, done, "engine")
        due = from_rfc3339(decision["deadline"]) + from_seconds(self._pace.reaction)
        self._now = max(self._now, due)
        done = self._voice.game.decide(one.turn, decision["action"])
        return self._acted(one, done, "decision")

    def _acted(self, one: _Open, action: str, by: str) -> Sent:
        one.is_closed = True
        data = {"hand_id": self._hand, "turn_id": one.turn_id, "action": action, "by": by}
        return self._voice.say(Trigger.TURN_ACTED, self._now, data, seat=one.player.seat)

    # -- Steps

    def _arrival(self, step: Step, one: _Open) -> int:
        if step.told_in:
            return one.line.within(step.told_in, MIDDLE, self._chance)
        return one.line.within(step.span, step.window, self._chance)

    def _do(self, step: Step, one: _Open) -> Iterator[Sent]:
        player, voice, now = one.player, self._voice, self._now
        match step.do:
            case Do.ACT:
                yield self._acted(one, voice.game.play_record(one.turn), "player")
            case Do.BACK | Do.TAB | Do.REPLACE:
                yield voice.connected(player, now, sole=step.do is Do.REPLACE)
            case Do.LOSE:
                stamp = one.line.within(step.span, step.window, self._chance)
                while player.live:
                    yield voice.disconnected(player, now, stamp if step.told_in else now)
            case Do.CLOSE:
                yield voice.disconnected(player, now, now)
            case Do.CHOOSE | Do.WITHDRAW:
                yield voice.chosen(player, now, self._choice(step, one))
            case Do.RESET:
                yield from self._reset(player)

    def _choice(self, step: Step, one: _Open) -> dict[str, Any]:
        cards = one.turn.cards if isinstance(one.turn, DiscardTurn) else ()
        card = self._chance.choice(cards) if step.do is Do.CHOOSE else None
        turn = {} if step.span is Span.BEFORE else {"turn_id": one.turn_id}
        return {"hand_id": self._hand, "card": card, **turn}

    def _reset(self, player: Player) -> Iterator[Sent]:
        """Have a gateway restart: all who were on it come back at once, but for the one player."""
        others = [
            other
            for other in self._players.values()
            if other.gateway == player.gateway and other.live and other is not player
        ]
        for each in (*others, player):
            each.live.clear()
        yield self._voice.reset(player.gateway, self._now)
        for other in others:
            self._now += _BETWEEN_WORDS
            yield self._voice.connected(other, self._now)

    def _pause(self) -> None:
        seconds = self._chance.uniform(*self._pace.pause)
        self._now += round(seconds * SECOND / MILLISECOND) * MILLISECOND
