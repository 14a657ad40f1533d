"""How much waits for the worker: asked of the broker now and then, so that no page waits for it."""

from __future__ import annotations

import asyncio

from actors.transport import TransportError
from actors.work.worker import Worker

EVERY = 10.0
SOON = 1.0
"""Seconds after which to ask again while nothing is known: there may be shards by then."""
OLD_AFTER = 60.0


class Backlogs:
    """The messages that wait for each shard that is the worker's."""

    def __init__(self, worker: Worker) -> None:
        """Nothing is known before `run`."""
        self._worker = worker
        self._found: dict[int, int] = {}
        self._at = 0.0

    @property
    def known(self) -> dict[int, int]:
        """Messages by shard; none if the broker has not told for a minute."""
        is_old = asyncio.get_running_loop().time() - self._at > OLD_AFTER
        return {} if is_old else self._found

    async def run(self) -> None:
        """Ask every ten seconds once there is something to know, until cancelled."""
        while True:
            await self.ask()
            await asyncio.sleep(EVERY if self._found else SOON)

    async def ask(self) -> None:
        """Ask once; while there is no broker to be asked nothing is known."""
        try:
            self._found = await self._worker.backlogs()
        except TransportError:  # the worker tells of it
            self._found = {}
        self._at = asyncio.get_running_loop().time()
