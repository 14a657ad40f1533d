"""The made-up players of a table, and their connections."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from actors.demo.records import MAX_SEATS

NAMES = (
    "Ada", "Aki", "Amir", "Ana", "Ben", "Bao", "Cleo", "Chidi", "Dana", "Dov", "Edna", "Emre",
    "Fay", "Finn", "Gita", "Hana", "Hugo", "Ines", "Ivan", "Jude", "Kemi", "Kofi", "Lars", "Lena",
    "Mads", "Mina", "Nils", "Noor", "Omar", "Otto", "Pia", "Quin", "Ravi", "Rosa", "Sami", "Suda",
    "Tara", "Udo", "Vera", "Wim", "Xenia", "Yuri", "Zoe",
)  # fmt: skip


@dataclass(slots=True)
class Player:
    """One player, in one seat for the whole demo."""

    name: str
    id: str
    seat: int
    gateway: str
    live: list[str] = field(default_factory=list)
    """His sessions that are up, the oldest first."""
    sockets: int = 0

    def connect(self) -> str:
        """Open a connection, and return its session."""
        self.sockets += 1
        session = f"{self.id}-{self.sockets}"
        self.live.append(session)
        return session


def seated(table_id: str, chance: random.Random) -> dict[int, Player]:
    """Return players for all the seats of a table, by seat; they share its two gateways."""
    return {
        seat: Player(
            name=name,
            id=f"{name.lower()}@{table_id}",
            seat=seat,
            gateway=f"/gateways/{table_id}-{'ab'[seat % 2]}",
        )
        for seat, name in enumerate(chance.sample(NAMES, MAX_SEATS), 1)
    }
