"""What happens in the turns that a crowd plays: a seeded mix of all that the policy tells apart."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

POLICY = Path(__file__).with_name("policy.yaml")
BUFFER = 1.0
GRACE = {150: 1.5, 900: 2.5}
"""By the pot; the big blind is 100."""
LARGE_POT = 6000
"""With a grace of ten seconds."""


class Word(NamedTuple):
    """An event to be published `at` seconds after the start of the crowd; that is its `time`."""

    at: float
    name: str
    data: Mapping[str, Any]
    if_undecided: bool = False
    """Left out when the backend has been told a decision before."""


@dataclass(frozen=True)
class Plan:
    """One turn, on a table of its own."""

    table: str
    seat: int
    turn: str
    kind: str
    words: tuple[Word, ...]

    @property
    def acts(self) -> bool:
        """Whether the player ends the turn himself, if nobody decides before."""
        return any(word.name == "turn.acted" for word in self.words)


def mixed(
    turns: int,
    seconds: float,
    seed: int = 1,
    name: str = "t",
    turn_seconds: float | None = None,
) -> list[Plan]:
    """Return so many turns of all kinds that begin within so many seconds."""
    chance = Random(seed)
    kinds = list(_MIXED)
    return [
        one(
            f"{name}{number}",
            kinds[number % len(kinds)],
            chance.uniform(0, seconds),
            chance,
            turn_seconds,
        )
        for number in range(turns)
    ]


def graces(turns: int, back: tuple[float, float], seed: int = 1) -> list[Plan]:
    """Return turns whose players are lost, all in their grace from 3.8 to 13.5 seconds.

    Every other one is back between two instants, and acts; the rest stay away.
    """
    chance = Random(seed)
    return [
        one(f"g{number}", "away", chance.uniform(0, 0.3), chance, 2)
        if number % 2
        else returning(f"g{number}", chance.uniform(0, 0.3), chance.uniform(*back), chance)
        for number in range(turns)
    ]


def returning(table: str, begins: float, back: float, chance: Random) -> Plan:
    """Return the turn of a player who is lost, and acts when he is back, if he still may."""
    turn = _Turn(table, begins + 0.5, chance, 2)
    _away(turn)
    turn.back(back)
    turn.acts(back + 0.2, if_undecided=True)
    return Plan(table, turn.seat, turn.turn, "returning", tuple(turn.words))


def one(
    table: str, kind: str, begins: float, chance: Random, turn_seconds: float | None = None
) -> Plan:
    """Return one turn of a kind, by name one of those below."""
    turn = _Turn(table, begins + 0.5, chance, turn_seconds)
    _KINDS[kind](turn)
    words = sorted(turn.words, key=lambda word: word.at)
    twice = [copy for word in words for copy in [word] * chance.choice([1, 1, 1, 1, 2])]
    return Plan(table, turn.seat, turn.turn, kind, tuple(twice))


class _Turn:
    def __init__(
        self, table: str, begins: float, chance: Random, turn_seconds: float | None
    ) -> None:
        self.seat = chance.randint(1, 10)
        self.turn = f"{table}-1"
        self.begins = begins
        self.seconds = turn_seconds or chance.choice([1.5, 2, 2.5])
        self.ends = begins + self.seconds
        self.pot = chance.choice(list(GRACE))
        self.grace_ends = self.ends + BUFFER + GRACE[self.pot]
        self.words: list[Word] = []

    def start(self, *, to_call: int = 100, contributed: int = 50) -> None:
        data = {
            "hand_id": "h1",
            "turn_id": self.turn,
            "player_id": "p1",
            "turn_seconds": self.seconds,
            "format": "cash",
            "to_call": to_call,
            "contributed": contributed,
            "pots": [self.pot],
            "big_blind": 100,
        }
        self.words.append(Word(self.begins, "turn.started", data))

    def lost(self, at: float, session: str = "s1") -> None:
        data = {"player_id": "p1", "session_id": session}
        self.words.append(Word(at, "player.disconnected", data))

    def back(self, at: float, session: str = "s2") -> None:
        data = {"player_id": "p1", "session_id": session}
        self.words.append(Word(at, "player.connected", data))

    def acts(self, at: float, *, if_undecided: bool = False) -> None:
        data = {"hand_id": "h1", "turn_id": self.turn, "action": "call", "by": "player"}
        self.words.append(Word(at, "turn.acted", data, if_undecided))


def _acts_in_time(turn: _Turn) -> None:
    turn.start()
    turn.acts(turn.begins + turn.seconds / 2)


def _is_silent(turn: _Turn) -> None:
    turn.start()


def _lost_before(turn: _Turn) -> None:
    turn.lost(turn.begins - 0.4)
    turn.start()


def _lost_at_the_start(turn: _Turn) -> None:
    turn.start()
    turn.lost(turn.begins)


def _lost_after(turn: _Turn) -> None:
    turn.start()
    turn.lost(turn.begins + turn.seconds / 2)


def _away(turn: _Turn) -> None:
    turn.pot = LARGE_POT
    _lost_after(turn)


def _back_in_the_grace(turn: _Turn) -> None:
    _lost_after(turn)
    turn.back(turn.ends + 1.4)
    turn.acts(turn.ends + 1.9)


def _back_late(turn: _Turn) -> None:
    _lost_after(turn)
    turn.back(turn.grace_ends + 0.7)
    turn.acts(turn.grace_ends + 1.0, if_undecided=True)


def _back_before_the_end(turn: _Turn) -> None:
    turn.start()
    turn.lost(turn.begins + 0.3)
    turn.back(turn.begins + 0.7)


def _lost_again(turn: _Turn) -> None:
    _lost_after(turn)
    turn.back(turn.ends + 0.6)
    turn.lost(turn.ends + 1.0, "s2")


def _check_is_free(turn: _Turn) -> None:
    turn.start(to_call=0)
    turn.lost(turn.begins + turn.seconds / 2)


def _nothing_in_pot(turn: _Turn) -> None:
    turn.start(contributed=0)
    turn.lost(turn.begins + turn.seconds / 2)


_MIXED: Mapping[str, Callable[[_Turn], None]] = {
    "acts in time": _acts_in_time,
    "silent": _is_silent,
    "lost before": _lost_before,
    "lost at the start": _lost_at_the_start,
    "lost after": _lost_after,
    "back in the grace": _back_in_the_grace,
    "back late": _back_late,
    "back before the end": _back_before_the_end,
    "lost again": _lost_again,
    "check is free": _check_is_free,
    "nothing in pot": _nothing_in_pot,
}
_KINDS = {**_MIXED, "away": _away}
