"""The payloads of the events that gateways and engines publish.

Unknown fields are ignored, since a sender may be newer than we are; missing and ill-typed ones are
refused.  Nothing is coerced: `true` is no amount and `"5"` no number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    model_validator,
)

from statecharts import money
from statecharts.lines import Trigger

MAX_STRING = 256

MAX_TURN_SECONDS = 600

Id = Annotated[str, Field(min_length=1, max_length=MAX_STRING)]
Amount = Annotated[int | str, PlainValidator(money.check)]
Card = Annotated[str, Field(min_length=1, max_length=8)]
Seconds = Annotated[float, Field(gt=0, le=MAX_TURN_SECONDS, allow_inf_nan=False)]
Bank = Annotated[float, Field(ge=0, le=10**9, allow_inf_nan=False)]


class Data(BaseModel):
    """A payload.  `hand_id`, `turn_id` and `player_id` identify it in answers and logs."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class TurnStarted(Data):
    """A seat has to act: `turn_seconds` (seconds) from the event's reference time."""

    hand_id: Id
    turn_id: Id
    player_id: Id
    turn_seconds: Seconds
    format: Literal["cash", "tournament"]
    kind: Literal["betting", "discard", "bring_in", "draw"] = "betting"
    variant: Id | None = None
    street: Id | None = None
    policy: Id | None = None
    connected: bool | None = None
    stack: Amount | None = None


class Amounts(NamedTuple):
    """The money of a turn, as integers of the finest unit given."""

    to_call: int
    contributed: int
    pot: int
    main_pot: int
    big_blind: int
    voluntarily: int | None
    """Of `contributed`, without forced bets; None where the engine does not tell it."""


class BettingTurn(TurnStarted):
    """Amounts of one unit: all integers in minor units, or all decimal strings."""

    kind: Literal["betting"] = "betting"
    to_call: Amount
    contributed: Amount
    pots: Annotated[tuple[Amount, ...], Field(min_length=1, strict=False)]
    big_blind: Amount
    contributed_voluntarily: Amount | None = None
    time_bank_seconds: Bank = 0
    protection_left: Annotated[int, Field(ge=0, le=1_000_000)] | None = None

    @model_validator(mode="after")
    def _amounts_agree(self) -> Self:
        optional = (self.stack, self.contributed_voluntarily)
        amounts = [self.to_call, self.contributed, *self.pots, self.big_blind]
        amounts += [amount for amount in optional if amount is not None]
        money.check_one_unit(amounts)
        scale = money.scale_of(amounts)
        if money.scaled(self.big_blind, scale) == 0:
            msg = "big_blind must be above 0"
            raise ValueError(msg)
        if money.scaled(self.contributed, scale) > sum(
            money.scaled(pot, scale) for pot in self.pots
        ):
            msg = "contributed is above the sum of pots, which holds everything that was put in"
            raise ValueError(msg)
        return self

    def in_one_unit(self) -> Amounts:
        """Return the money as integers of the finest unit given."""
        of_his_own = self.contributed_voluntarily
        told = [self.to_call, self.contributed, *self.pots, self.big_blind]
        scale = money.scale_of(told if of_his_own is None else [*told, of_his_own])
        pots = [money.scaled(pot, scale) for pot in self.pots]
        return Amounts(
            to_call=money.scaled(self.to_call, scale),
            contributed=money.scaled(self.contributed, scale),
            pot=sum(pots),
            main_pot=pots[0],
            big_blind=money.scaled(self.big_blind, scale),
            voluntarily=None if of_his_own is None else money.scaled(of_his_own, scale),
        )


def _distinct(cards: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(cards)) < len(cards):
        msg = "must be distinct"
        raise ValueError(msg)
    return cards


class DiscardTurn(TurnStarted):
    """Cards stand left to right as the player sees them."""

    kind: Literal["discard"]
    cards: Annotated[
        tuple[Card, ...],
        Field(min_length=2, max_length=5, strict=False),
        AfterValidator(_distinct),
    ]
    chosen: Card | None = None


class BringInTurn(TurnStarted):
    """The bring-in is his to post; there is nothing to choose but the amount."""

    kind: Literal["bring_in"]
    time_bank_seconds: Bank = 0


class DrawTurn(TurnStarted):
    """He may draw cards, or stand pat."""

    kind: Literal["draw"]
    time_bank_seconds: Bank = 0


class TurnActed(Data):
    """The engine has closed the turn."""

    hand_id: Id
    turn_id: Id
    action: Id | None = None
    by: Literal["player", "decision", "engine"] = "player"


class TurnCancelled(Data):
    """The engine has called the turn off; nothing is to be done."""

    turn_id: Id
    hand_id: Id | None = None


class TurnExtended(Data):
    """The turn lasts `seconds` longer, such as when the player has started his time bank."""

    turn_id: Id
    seconds: Seconds
    hand_id: Id | None = None


class CardChosen(Data):
    """A card to discard, chosen ahead or on time; null withdraws."""

    hand_id: Id
    card: Card | None
    turn_id: Id | None = None


class PlayerConnected(Data):
    """A socket is up.  `sole`: every other session of this player in this seat is dead."""

    player_id: Id
    session_id: Id
    sole: bool = False


class PlayerDisconnected(Data):
    """A socket is lost; the event's `time` is that of its last sign of life."""

    player_id: Id
    session_id: Id
    reason: Id | None = None


class PlayerAway(Data):
    """The player has said that he is away: he will not act."""

    player_id: Id


class PlayerBack(Data):
    """He is there again."""

    player_id: Id


class SeatVacated(Data):
    """The player has left the seat."""

    player_id: Id


class HandEnded(Data):
    """Every open turn of the hand is off."""

    hand_id: Id
    players: Annotated[tuple[Id, ...], Field(strict=False)] | None = None


class TableClosed(Data):
    """Every open turn of the table is off."""


class TablePaused(Data):
    """The clocks of the table's open turns stand still."""


class TableResumed(Data):
    """They go on where they stood."""


class ProtectionReset(Data):
    """The player's all-in protection is whole again; without a player, everybody's at the table."""

    player_id: Id | None = None


class GatewayReset(Data):
    """Every session of that source whose last word is older than this event is dead."""

    gateway: Id


TURNS: Mapping[str, type[TurnStarted]] = {
    "betting": BettingTurn,
    "discard": DiscardTurn,
    "bring_in": BringInTurn,
    "draw": DrawTurn,
}
"""The payload of `turn.started` by its `kind`."""

PAYLOADS: Mapping[Trigger, type[Data]] = {
    Trigger.TURN_ACTED: TurnActed,
    Trigger.TURN_CANCELLED: TurnCancelled,
    Trigger.TURN_EXTENDED: TurnExtended,
    Trigger.CARD_CHOSEN: CardChosen,
    Trigger.PLAYER_CONNECTED: PlayerConnected,
    Trigger.PLAYER_DISCONNECTED: PlayerDisconnected,
    Trigger.PLAYER_AWAY: PlayerAway,
    Trigger.PLAYER_BACK: PlayerBack,
    Trigger.SEAT_VACATED: SeatVacated,
    Trigger.HAND_ENDED: HandEnded,
    Trigger.TABLE_CLOSED: TableClosed,
    Trigger.TABLE_PAUSED: TablePaused,
    Trigger.TABLE_RESUMED: TableResumed,
    Trigger.PROTECTION_RESET: ProtectionReset,
    Trigger.GATEWAY_RESET: GatewayReset,
}

OF_A_TABLE = (
    Trigger.HAND_ENDED,
    Trigger.TABLE_CLOSED,
    Trigger.TABLE_PAUSED,
    Trigger.TABLE_RESUMED,
    Trigger.PROTECTION_RESET,
)
"""Events whose subject is a table."""
