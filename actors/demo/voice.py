"""What a table's engine and gateways say: CloudEvents, with ids and facts that never vary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from actors.demo.game import BettingTurn, Game, Turn
from actors.demo.players import Player
from actors.demo.sent import Scene, Sent
from statecharts.instants import to_rfc3339
from statecharts.lines import Trigger

ENGINE = "/engines/demo"


@dataclass(slots=True)
class Voice:
    """Makes the events of one hand at a table."""

    table_id: str
    players: Mapping[int, Player]
    game: Game
    ids: Iterator[int]
    """Numbers that the table has not used."""

    def say(
        self,
        name: Trigger,
        at: int,
        data: Mapping[str, Any],
        *,
        source: str = ENGINE,
        seat: int | None = None,
        stamp: int | None = None,
    ) -> Sent:
        """Make an event that arrives at `at` and is stamped so too, or with `stamp`."""
        time = at if stamp is None else stamp
        event = {
            "specversion": "1.0",
            "id": f"{self.table_id}-{next(self.ids)}",
            "source": source,
            "type": f"seatwarden.{name}.v1",
            "time": to_rfc3339(time),
            **({} if name is Trigger.GATEWAY_RESET else {"subject": self._subject(seat)}),
            "data": dict(data),
        }
        return Sent(name, self.table_id, time, at, event, self._scene())

    def connected(self, player: Player, at: int, *, sole: bool = False) -> Sent:
        """Have a player open a connection."""
        data = {"player_id": player.id, "session_id": player.connect()}
        return self._of_gateway(
            Trigger.PLAYER_CONNECTED, player, at, {**data, **({"sole": True} if sole else {})}
        )

    def disconnected(self, player: Player, at: int, stamp: int) -> Sent:
        """Have a player's oldest connection end; `stamp` is its last sign of life."""
        data = {"player_id": player.id, "session_id": player.live.pop(0), "reason": "ping-timeout"}
        return self._of_gateway(Trigger.PLAYER_DISCONNECTED, player, at, data, stamp)

    def chosen(self, player: Player, at: int, data: Mapping[str, Any]) -> Sent:
        """Have a player choose a card to discard."""
        return self._of_gateway(Trigger.CARD_CHOSEN, player, at, data)

    def reset(self, gateway: str, at: int) -> Sent:
        """Have a gateway say that it has lost all its connections."""
        return self.say(Trigger.GATEWAY_RESET, at, {"gateway": gateway}, source=gateway)

    def _of_gateway(
        self,
        name: Trigger,
        player: Player,
        at: int,
        data: Mapping[str, Any],
        stamp: int | None = None,
    ) -> Sent:
        return self.say(name, at, data, source=player.gateway, seat=player.seat, stamp=stamp)

    def _subject(self, seat: int | None) -> str:
        return self.table_id if seat is None else f"{self.table_id}/{seat}"

    def _scene(self) -> Scene:
        game = self.game
        return Scene(
            table_id=self.table_id,
            hand=game.record.name,
            variant=game.record.variant,
            street=game.street,
            board=game.board,
            pot=f"{sum(game.pots) / game.big_blind:.1f}",
            seats={
                seat: (self.players[seat].name, self._standing(player, seat))
                for player, seat in enumerate(game.record.seats)
            },
        )

    def _standing(self, player: int, seat: int) -> str:
        if not self.game.is_in(player):
            return "folded"
        return "here" if self.players[seat].live else "away"


def facts(turn: Turn) -> dict[str, Any]:
    """Return what `turn.started` says of the game, all amounts as decimal strings."""
    if not isinstance(turn, BettingTurn):
        return {"kind": "discard", "street": turn.street, "cards": list(turn.cards)}
    return {
        "kind": "betting",
        "street": turn.street,
        "to_call": _text(turn.to_call),
        "contributed": _text(turn.contributed),
        "pots": [_text(pot) for pot in turn.pots],
        "big_blind": _text(turn.big_blind),
        **({} if turn.stack is None else {"stack": _text(turn.stack)}),
    }


def _text(amount: Decimal) -> str:
    return f"{amount:f}"
