"""All tables together: what is sent next, in order of arrival, and whose decision is waited for."""

from __future__ import annotations

import heapq
import random

from actors.demo.deals import Deals
from actors.demo.pace import Pace
from actors.demo.sent import Sent
from actors.demo.table import Awaited, Decision, Table
from statecharts.instants import from_seconds
from statecharts.policy import Policy


class Engine:
    """The made-up backend of many tables.  No clock and no I/O; instants are microseconds."""

    def __init__(
        self,
        deals: Deals,
        *,
        run: str,
        seed: int,
        pace: Pace,
        policy: Policy,
        start: int,
        last_start: int | None = None,
    ) -> None:
        """`run` is part of all ids, which a service must never see twice.

        From `last_start` on no table begins another hand; without it all hands are played.
        """
        starts = [start + number * from_seconds(pace.stagger) for number in range(len(deals))]
        tables = [
            Table(
                f"demo-{run}-{number}",
                hands,
                pace=pace,
                policy=policy,
                chance=random.Random(f"{seed}/{number}"),  # noqa: S311 - it keeps no secrets
                start=starts[number - 1],
                last_start=last_start,
            )
            for number, hands in enumerate(deals, 1)
        ]
        self.table_ids = frozenset(table.id for table in tables)
        self._plays = [table.play() for table in tables]
        # A table is begun only when its time has come, so that many cost no start-up time.
        self._pending: list[Sent | Awaited | None] = [Awaited("", instant) for instant in starts]
        self._agenda = [(instant, index) for index, instant in enumerate(starts)]
        """When which table moves; what has been overtaken by a decision is dropped lazily."""
        self._awaited: dict[str, int] = {}
        self._decided: dict[str, Decision] = {}

    def next(self) -> int | None:
        """Return the instant of the next move, None when all is over.

        A move is an event to send, a table's start, or the end of the patience with a decision.
        """
        while self._agenda:
            instant, index = self._agenda[0]
            pending = self._pending[index]
            if pending is not None and instant == _instant(pending):
                return instant
            heapq.heappop(self._agenda)
        return None

    def move(self) -> Sent | None:
        """Make the next move and return the event to send, if it is one."""
        _, index = heapq.heappop(self._agenda)
        pending = self._pending[index]
        if isinstance(pending, Awaited):
            self._awaited.pop(pending.turn_id, None)
        self._resume(index, None)
        return pending if isinstance(pending, Sent) else None

    def decide(self, decision: Decision) -> None:
        """Take a decision (the data of a `decision.made`); a repeated one changes nothing."""
        turn_id = decision["turn_id"]
        self._decided.setdefault(turn_id, decision)
        index = self._awaited.pop(turn_id, None)
        if index is not None:
            self._resume(index, decision)

    def _resume(self, index: int, decision: Decision | None) -> None:
        """Have a table go on to what it sends next, or to a decision that is not there yet."""
        try:
            pending = self._plays[index].send(decision)
            while isinstance(pending, Awaited) and pending.turn_id in self._decided:
                pending = self._plays[index].send(self._decided[pending.turn_id])
        except StopIteration:
            self._pending[index] = None
            return
        self._pending[index] = pending
        if isinstance(pending, Awaited):
            self._awaited[pending.turn_id] = index
        heapq.heappush(self._agenda, (_instant(pending), index))


def _instant(pending: Sent | Awaited) -> int:
    return pending.arrival if isinstance(pending, Sent) else pending.until
