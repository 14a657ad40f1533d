"""Fair shares without a coordinator: count the workers, and hand over what is too much.

Each worker consumes from a queue without messages; its consumers are the workers that there are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from actors.broker.topology import WORKERS
from actors.transport import Connection, Delivery
from actors.work.station import Station

EVERY = 1.0
ROUNDS = 2
"""So often in a row a share must have been exceeded: a worker that joins registers step by step."""


class Census:
    """Counts the workers once a second."""

    def __init__(self, connection: Connection, stations: Sequence[Station]) -> None:
        """Of the shards that `stations` own, those beyond this worker's share are released."""
        self._connection = connection
        self._stations = stations
        self.workers = 1

    async def run(self) -> None:
        """Register, and count until cancelled; raises ConnectionLost."""
        await self._connection.consume(WORKERS, _ignore, prefetch=1)
        exceeded = 0
        while True:
            await asyncio.sleep(EVERY)
            survey = await self._connection.survey(WORKERS)
            self.workers = max(1, survey.consumers if survey else 1)
            owned = [station for station in self._stations if station.is_owner]
            share = -(-len(self._stations) // self.workers)
            exceeded = exceeded + 1 if len(owned) > share else 0
            if exceeded >= ROUNDS:
                exceeded = 0
                for station in owned[share:]:
                    station.release()


def _ignore(delivery: Delivery) -> None:
    """Nothing is sent there."""
