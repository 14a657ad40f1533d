"""What a seat knows, and its versioned snapshot.

Plain data: the chart says what happens to it.  Nothing in it is changed in place but by one step of
the kernel, on a copy.  Instants are microseconds since 1970; ids that need not be told to anybody
are kept as digests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from statecharts.lines import State
from statecharts.policy import Policy
from statecharts.presence import Attendance, Session, Sessions, Status

SNAPSHOT_VERSION = 1

MAX_TURNS = 32
MAX_SOURCES = 8
MAX_CHOICES = 16


class Choice(NamedTuple):
    """A card chosen for the discard of a hand; `card` None withdraws what was chosen before."""

    hand: int
    turn: int | None
    card: str | None
    source: int
    stamp: int
    reference: int

    def is_same(self, other: Choice) -> bool:
        """Say whether two are one choice, told twice; when it arrived does not matter."""
        return self[:-1] == other[:-1]


class Departure(NamedTuple):
    """A player's leaving of this seat, as told by a source."""

    player: int
    source: int
    stamp: int


class Turn(NamedTuple):
    """The open turn, or the decided one whose end the engine has not told yet."""

    turn_id: str
    hand_id: str
    player_id: str
    kind: str
    policy: Policy
    source: int
    stamp: int
    """`time` of the start, by its source's clock."""
    started: int
    """Reference time of the start, from which the turn time counts."""
    deadline: int | None
    """When the present state ends; None once decided."""
    told_connected: bool | None = None
    to_call: int | str | None = None
    """As the engine gave it; None for a discard."""
    bet: int = 0
    """`to_call`, `contributed`, `pot` and `big_blind` as integers of one unit."""
    contributed: int = 0
    pot: int = 0
    big_blind: int = 0
    cards: tuple[str, ...] = ()
    choice: Choice | None = None
    bank: int = 0
    """The time bank given with the turn."""
    bank_from: int | None = None
    """When the bank began to run."""
    bank_credit: int = 0
    """Time of an interruption, which is not charged to the bank."""
    bank_used: int = 0
    at_end: tuple[Attendance, ...] = ()
    """Who was there at the turn end, while words about that may still arrive.

    Where an interruption has moved it, at its own instant as well; and where a time bank was to
    begin then, first who was there when it was to begin.
    """
    buffer_end: int | None = None
    grace_end: int | None = None
    has_returned: bool = False


@dataclass(slots=True)
class Seat:
    """One seat of one table."""

    table_id: str
    number: int
    state: State = State.IDLE
    seq: int = 0
    """Counts up with everything published about this seat."""
    turn: Turn | None = None
    sessions: Sessions = ()
    closed_turns: tuple[int, ...] = ()
    latest_starts: tuple[tuple[int, int], ...] = ()
    """The latest start's stamp by source."""
    choices: tuple[Choice, ...] = ()
    """The latest choices of cards, in order of arrival, whatever became of them."""
    choices_from: int = 0
    """Choices whose reference time is not later are of who has left."""
    departures: tuple[Departure, ...] = ()
    uncovered_hand: int | None = None
    """The hand for which `turn.uncovered` has been told."""

    def copy(self) -> Seat:
        """Return a seat that can be changed without changing this one."""
        return Seat(
            self.table_id, self.number, self.state, self.seq, self.turn, self.sessions,
            self.closed_turns, self.latest_starts, self.choices, self.choices_from, self.departures,
            self.uncovered_hand,
        )  # fmt: skip

    def next_seq(self) -> int:
        """Count up, for the next thing that is published about this seat."""
        self.seq += 1
        return self.seq

    @property
    def deadline(self) -> int | None:
        """The one instant at which this seat changes by itself, if any."""
        return self.turn.deadline if self.turn else None


def dump(seat: Seat) -> dict[str, Any]:
    """Return the snapshot of a seat: JSON types only."""
    picture = {name: getattr(seat, name) for name in _SEAT if name not in ("state", "turn")}
    picture |= {"version": SNAPSHOT_VERSION, "state": seat.state.value, "turn": None}
    if seat.turn:
        turn = {name: getattr(seat.turn, name) for name in _TURN}
        picture["turn"] = turn | {"policy": seat.turn.policy.digest}
    plain: dict[str, Any] = _plain(picture)
    return plain


def load(picture: Mapping[str, Any], policies: Mapping[str, Policy]) -> Seat:
    """Return the seat of a snapshot; `policies` by digest must hold that of its open turn.

    Raises SnapshotError for a version or a policy that this program does not know.
    """
    if picture.get("version") != SNAPSHOT_VERSION:
        msg = f"snapshot version {picture.get('version')!r}, this program reads {SNAPSHOT_VERSION}"
        raise SnapshotError(msg)
    values = {name: picture[name] for name in _SEAT}
    values |= {
        "state": State(picture["state"]),
        "sessions": _sessions(picture["sessions"]),
        "closed_turns": tuple(picture["closed_turns"]),
        "latest_starts": tuple((source, stamp) for source, stamp in picture["latest_starts"]),
        "choices": tuple(Choice(*choice) for choice in picture["choices"]),
        "departures": tuple(Departure(*departure) for departure in picture["departures"]),
        "turn": _turn(picture["turn"], policies),
    }
    return Seat(**values)


class SnapshotError(Exception):
    """A snapshot that cannot be read; the message says why."""


def _turn(picture: Mapping[str, Any] | None, policies: Mapping[str, Policy]) -> Turn | None:
    if picture is None:
        return None
    policy = policies.get(picture["policy"])
    if policy is None:
        turn_id, digest = picture["turn_id"], picture["policy"]
        raise SnapshotError(
            f"turn {turn_id!r} began under policy {digest}, which is not known here"
        )
    choice = picture["choice"]
    return Turn(
        **{name: picture[name] for name in _TURN}
        | {
            "policy": policy,
            "cards": tuple(picture["cards"]),
            "choice": None if choice is None else Choice(*choice),
            "at_end": tuple(
                Attendance(at, until, _sessions(sessions))
                for at, until, sessions in picture["at_end"]
            ),
        }
    )


def _sessions(picture: list[list[int]]) -> Sessions:
    return tuple(
        Session(id_, player, source, stamp, since, Status(status))
        for id_, player, source, stamp, since, status in picture
    )


def _plain(value: Any) -> Any:  # noqa: ANN401 - any nesting of tuples, dicts and scalars
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, Status) else value


_SEAT = tuple(each.name for each in fields(Seat))
_TURN = Turn._fields
