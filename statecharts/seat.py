"""What a seat knows, and its versioned snapshot.

Plain data: the chart says what happens to it.  Nothing in it is changed in place but by one step of
the kernel, on a copy.  Instants are microseconds since 1970; ids that need not be told to anybody
are kept as digests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from statecharts import presence
from statecharts.lines import State, Trigger
from statecharts.policy import Policy
from statecharts.presence import Attendance, Session, Sessions
from statecharts.statuses import Status, Statuses

SNAPSHOT_VERSION = 2

MAX_TURNS = 32
MAX_SOURCES = 8
MAX_CHOICES = 16
MAX_EXTENSIONS = 64
MAX_PAUSES = 16


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


class Extension(NamedTuple):
    """A turn's time made longer by `seconds` (microseconds), as told by a source."""

    turn: int
    source: int
    stamp: int
    seconds: int


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
    """What counts as his money in the pot under the policy."""
    pot: int = 0
    """The pot that counts under the policy."""
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
    turn_time: int = 0
    """The time that the turn was given, in microseconds."""
    has_grace: bool = False
    """The grace of this turn has begun."""
    grace_uses: int = 0
    """How often he was away in it."""
    charged_from: int | None = None
    """From when on the grace is taken from his budget."""
    protection_left: int | None = None
    """How often all-in protection is left, where the engine tells it."""
    is_held: bool = False
    """A storm has held what would have been decided."""
    answer_at: int | None = None
    """When it is answered for him, since he has said that he is away."""
    paused_at: int | None = None
    """Since when the table is paused; what was to come then is later by the length of the pause."""

    pauses: tuple[tuple[int, int], ...] = ()
    """When its clock stood still: the latest pauses of the table, from and to."""

    @property
    def runs_until(self) -> int | None:
        """When the seat changes by itself; None once decided, and while the table is paused."""
        if self.paused_at is not None:
            return None
        return self.deadline if self.answer_at is None else self.answer_at


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
    player: int = 0
    """Digest of the player of the latest start; 0 before there was one."""
    extensions: tuple[Extension, ...] = ()
    """The latest extensions of turns, in order of arrival, whatever became of them."""
    statuses: Statuses = ()
    """The latest word of each player and source on whether he is away."""

    def copy(self) -> Seat:
        """Return a seat that can be changed without changing this one."""
        return Seat(
            self.table_id, self.number, self.state, self.seq, self.turn, self.sessions,
            self.closed_turns, self.latest_starts, self.choices, self.choices_from, self.departures,
            self.uncovered_hand, self.player, self.extensions, self.statuses,
        )  # fmt: skip

    def next_seq(self) -> int:
        """Count up, for the next thing that is published about this seat."""
        self.seq += 1
        return self.seq

    @property
    def whose(self) -> int:
        """Digest of the player who was heard of last in this seat; 0 if none was."""
        if self.player or not self.statuses:
            return self.player
        return self.statuses[-1].player

    @property
    def wakes_for(self) -> Trigger:
        """What the seat is woken for when its deadline is due."""
        if self.turn is None or self.turn.answer_at is None:
            return Trigger.DEADLINE
        return Trigger.ANSWER

    @property
    def deadline(self) -> int | None:
        """The one instant at which this seat changes by itself, if any."""
        return self.turn.runs_until if self.turn else None


def dump(seat: Seat) -> tuple[Any, ...]:
    """Return the snapshot of a seat: its version, then its fields in order, fit for JSON."""
    turn = seat.turn
    return (
        SNAPSHOT_VERSION, seat.table_id, seat.number, seat.state.value, seat.seq,
        None if turn is None else (*turn[:_POLICY], turn.policy.digest, *turn[_POLICY + 1 :]),
        seat.sessions, seat.closed_turns, seat.latest_starts, seat.choices, seat.choices_from,
        seat.departures, seat.uncovered_hand, seat.player, seat.extensions,
        seat.statuses,
    )  # fmt: skip


def load(snapshot: Sequence[Any], policies: Mapping[str, Policy]) -> Seat:
    """Return the seat of a snapshot; `policies` by digest must hold that of its open turn.

    Raises SnapshotError for a version or a policy that this program does not know, and for what is
    no snapshot at all.
    """
    version, *values = snapshot
    if version != SNAPSHOT_VERSION:
        raise SnapshotError(f"snapshot version {version!r}, this program reads {SNAPSHOT_VERSION}")
    try:
        (
            table_id, number, state, seq, turn, sessions, closed_turns, latest_starts, choices,
            choices_from, departures, uncovered_hand, player, extensions, statuses,
        ) = values  # fmt: skip
        return Seat(
            table_id, number, State(state), seq,
            None if turn is None else _turn(turn, policies),
            _sessions(sessions), tuple(closed_turns),
            tuple([(source, stamp) for source, stamp in latest_starts]),
            tuple([Choice(*choice) for choice in choices]), choices_from,
            tuple([Departure(*departure) for departure in departures]), uncovered_hand, player,
            tuple([Extension(*extension) for extension in extensions]),
            tuple([Status(*status) for status in statuses]),
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        raise SnapshotError(f"a snapshot that cannot be read: {error}") from None


class SnapshotError(Exception):
    """A snapshot that cannot be read; the message says why."""


def _turn(snapshot: Sequence[Any], policies: Mapping[str, Policy]) -> Turn:
    turn = Turn(*snapshot)
    policy = policies.get(str(turn.policy))
    if policy is None:
        raise SnapshotError(
            f"turn {turn.turn_id!r} began under policy {turn.policy}, which is not known here"
        )
    return turn._replace(
        policy=policy,
        cards=tuple(turn.cards),
        pauses=tuple([(start, end) for start, end in turn.pauses]),
        choice=None if turn.choice is None else Choice(*turn.choice),
        at_end=tuple(
            [Attendance(at, until, _sessions(sessions)) for at, until, sessions in turn.at_end]
        ),
    )


def _sessions(snapshot: Sequence[Sequence[Any]]) -> Sessions:
    return tuple(
        [
            Session(id_, player, source, stamp, since, presence.Status(status), reason)
            for id_, player, source, stamp, since, status, reason in snapshot
        ]
    )


_POLICY = Turn._fields.index("policy")
