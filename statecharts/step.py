"""One step under way: what guards read and effects change.

The machine takes it for its model: its `state` is the seat's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from statecharts import accounts
from statecharts.accounts import Account
from statecharts.decisions import Output
from statecharts.digests import short
from statecharts.events import Event
from statecharts.instants import from_seconds
from statecharts.lines import Line, State, Trigger
from statecharts.policy import Policy
from statecharts.presence import Sessions, is_connected, latest_heard
from statecharts.seat import Choice, Extension, Seat, Turn
from statecharts.statuses import Status
from statecharts.storms import ANY_GATEWAY, held_until
from statecharts.surroundings import Interruption, Surroundings
from statecharts.tables import Table


@dataclass(frozen=True, slots=True)
class WakeUp:
    """The deadline `due` has come; `made` is the instant at which that was noticed."""

    due: int
    made: int
    name: Trigger = Trigger.DEADLINE


@dataclass(frozen=True, slots=True)
class Interrupted:
    """An interruption, told to every seat with a deadline in it."""

    interruption: Interruption
    name: Trigger = Trigger.INTERRUPTION


@dataclass(slots=True)
class Step:
    """A draft of the seat, what happens to it and when; `outputs` in the order of their `seq`."""

    seat: Seat
    event: Event | WakeUp | Interrupted
    at: int
    """When it takes effect: the arrival of an event, the instant of a deadline."""
    reference: int
    """What its time counts from: its `time`, but never later than its arrival."""
    policy: Policy
    """For a turn that this step may open; an open turn has its own."""
    around: Surroundings
    table: Table
    """The table's facts as this step leaves them."""
    word_is_new: bool = False
    """Of a presence word: it has been written down."""
    answers: dict[str, str] = field(default_factory=dict)
    """The questions answered so far; what they read does not change before a line applies."""
    moved_by: Trigger | None = None
    """What has moved a deadline that this step sets, apart from the row's change of state."""
    line: Line | None = None
    outputs: list[Output] = field(default_factory=list)

    @property
    def state(self) -> State:
        """The machine's state, which is the seat's."""
        return self.seat.state

    @state.setter
    def state(self, value: State) -> None:
        self.seat.state = value

    @property
    def turn(self) -> Turn:
        """The seat's turn, where the table has made sure that there is one."""
        assert self.seat.turn is not None  # noqa: S101 - the chart's states guarantee it
        return self.seat.turn

    @property
    def data(self) -> Any:  # noqa: ANN401 - the payload that the trigger names
        """The event's payload."""
        assert isinstance(self.event, Event)  # noqa: S101 - the table's cell guarantees it
        return self.event.data

    @property
    def stamp(self) -> int:
        """The event's `time` by its source's clock."""
        assert isinstance(self.event, Event)  # noqa: S101 - as above
        return self.event.stamp

    @property
    def source(self) -> int:
        """Digest of the event's source."""
        assert isinstance(self.event, Event)  # noqa: S101 - as above
        return short(self.event.source)

    @property
    def account(self) -> Account:
        """The account of the player on turn."""
        return accounts.of(self.table.accounts, short(self.turn.player_id))

    @account.setter
    def account(self, account: Account) -> None:
        self.table = self.table._replace(accounts=accounts.kept(self.table.accounts, account))

    def choice(self, card: str | None) -> Choice:
        """The choice of a card that the event makes; None withdraws."""
        turn_id = getattr(self.data, "turn_id", None)
        return Choice(
            hand=short(self.data.hand_id),
            turn=None if turn_id is None else short(turn_id),
            card=card,
            source=self.source,
            stamp=self.stamp,
            reference=self.reference,
        )

    def extension(self) -> Extension:
        """The extension that the event makes."""
        return Extension(
            short(self.data.turn_id), self.source, self.stamp, from_seconds(self.data.seconds)
        )

    def status(self, player: int, *, away: bool) -> Status:
        """What the event says of whether a player is away."""
        return Status(player, self.source, self.stamp, away)

    def held_until(self) -> int | None:
        """Until when a storm holds what would be decided for the player now; None if none does."""
        turn = self.turn
        heard = latest_heard(self.sessions(), short(turn.player_id))
        gateway = ANY_GATEWAY if heard is None else heard.source
        return held_until(self.around.storms, turn.policy, gateway, self.at)

    def connected(self) -> bool:
        """Whether the player on turn is connected, by all that is known now."""
        turn = self.turn
        return is_connected(self.sessions(), short(turn.player_id), turn.told_connected)

    def sessions(self) -> Sessions:
        """The seat's sessions; at a deadline only those last heard of until then.

        Later words are known when a turn is heard of after its own end.
        """
        if isinstance(self.event, WakeUp):
            return tuple(one for one in self.seat.sessions if one.since <= self.at)
        return self.seat.sessions
