"""Whether many players lose their connection at once: counted per policy, from the seats alone.

What is counted can be counted anew from the seats at any time, so that a restart changes nothing.
Instants are microseconds since 1970, gateways digests of their `source`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

from actors.shards.deadlines import SeatKey
from statecharts.chart import OPEN
from statecharts.decisions import ConnectionStorm, PolicyName
from statecharts.digests import short
from statecharts.events import Event
from statecharts.instants import from_seconds
from statecharts.lines import Trigger
from statecharts.policy import Policy
from statecharts.presence import is_connected, latest_heard
from statecharts.seat import Seat
from statecharts.storms import ANY_GATEWAY, Storm

MAX_STORMS = 64
LOSSES = (Trigger.PLAYER_DISCONNECTED, Trigger.GATEWAY_RESET)
"""Events after which there may be a storm."""


class _Player(NamedTuple):
    """A player with an open turn: by which gateway he plays or has played, and when he was lost."""

    policy: str
    gateway: int
    lost_at: int | None


@dataclass(slots=True)
class _Weather:
    """The players of one policy: with an open turn, and lost of late, by gateway and in all."""

    policy: Policy
    open_turns: Counter[int] = field(default_factory=Counter)
    lost: Counter[int] = field(default_factory=Counter)
    counted: set[SeatKey] = field(default_factory=set)
    """Whose loss is counted."""
    losses: list[tuple[int, SeatKey]] = field(default_factory=list)
    """A heap; some of them may no longer be true."""

    def is_storm(self, whose: int) -> bool:
        """Say whether so many of a gateway's players, or of all, are a storm."""
        rule, lost = self.policy.storm, self.lost[whose]
        return lost >= rule.at_least_players and lost > rule.share * self.open_turns[whose]


class Storms:
    """The players of a shard, and the storms that have come over them."""

    def __init__(self) -> None:
        """Nobody plays yet."""
        self.latest: tuple[Storm, ...] = ()
        self._players: dict[SeatKey, _Player] = {}
        self._weather: dict[str, _Weather] = {}

    def see(self, key: SeatKey, seat: Seat | None) -> None:
        """Take a seat as it is now."""
        now = _player(seat)
        before = self._players.get(key)
        if now == before:
            return
        if before is not None:
            self._count(key, before, -1)
            del self._players[key]
        if now is not None:
            assert seat is not None  # noqa: S101 - a player has one
            assert seat.turn is not None  # noqa: S101 - an open turn
            self._weather.setdefault(now.policy, _Weather(seat.turn.policy))
            self._players[key] = now
            self._count(key, now, 1)

    def may_come(self, at: int) -> bool:
        """Say whether enough were lost, of any gateway, for a storm to begin at an instant."""
        for weather in self._weather.values():
            self._forget(weather, at - from_seconds(weather.policy.storm.within_seconds))
        return any(
            weather.lost[ANY_GATEWAY] >= weather.policy.storm.at_least_players
            for weather in self._weather.values()
        )

    def after(self, event: Event, at: int) -> Iterator[ConnectionStorm]:
        """Yield the storms that begin with a loss that arrived at an instant; see `may_come`."""
        gateway = event.source if event.name is Trigger.PLAYER_DISCONNECTED else event.data.gateway
        for digest, weather in self._weather.items():
            policy = weather.policy
            for whose in (ANY_GATEWAY, short(gateway)):
                if not weather.is_storm(whose):
                    continue
                if any(one.is_now(digest, whose, at) for one in self.latest):
                    continue
                storm = Storm.of(policy, whose, at)
                self.latest = (*self.latest, storm)[-MAX_STORMS:]
                yield ConnectionStorm(
                    at=at,
                    table_id=None,
                    seat=None,
                    policy=PolicyName(name=policy.name, digest=digest),
                    gateway=gateway if whose else None,
                    lost=weather.lost[whose],
                    open_turns=weather.open_turns[whose],
                    within_seconds=policy.storm.within_seconds,
                    held_until=storm.held_until if policy.storm.hold_seconds else None,
                    one_of_them="/".join(map(str, min(weather.counted))),
                )

    def _count(self, key: SeatKey, player: _Player, by: int) -> None:
        weather = self._weather[player.policy]
        for whose in {ANY_GATEWAY, player.gateway}:
            weather.open_turns[whose] += by
        if by < 0:
            self._forgive(weather, key, player)
        elif player.lost_at is not None:
            heappush(weather.losses, (player.lost_at, key))
            weather.counted.add(key)
            weather.lost.update({ANY_GATEWAY, player.gateway})
        if not weather.open_turns[ANY_GATEWAY]:
            del self._weather[player.policy]

    def _forget(self, weather: _Weather, before: int) -> None:
        """No longer count the losses until then."""
        while weather.losses and weather.losses[0][0] <= before:
            lost_at, key = heappop(weather.losses)
            player = self._players.get(key)
            if player is not None and player.lost_at == lost_at:
                self._forgive(weather, key, player)

    @staticmethod
    def _forgive(weather: _Weather, key: SeatKey, player: _Player) -> None:
        if key in weather.counted:
            weather.counted.remove(key)
            weather.lost.subtract({ANY_GATEWAY, player.gateway})


def _player(seat: Seat | None) -> _Player | None:
    if seat is None or seat.turn is None or seat.state not in OPEN:
        return None
    turn, his = seat.turn, short(seat.turn.player_id)
    heard = latest_heard(seat.sessions, his)
    if heard is None:
        return _Player(turn.policy.digest, ANY_GATEWAY, None)
    lost = not is_connected(seat.sessions, his, turn.told_connected)
    return _Player(turn.policy.digest, heard.source, heard.since if lost else None)
