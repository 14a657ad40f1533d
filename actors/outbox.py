"""What is to be published: kept until it is confirmed, and sent again after a lost connection.

A message keeps its number, its id and its bytes however often it is sent, so that a consumer who
drops ids that he has seen sees it once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from structlog.typing import FilteringBoundLogger

from actors.journal import Outgoing
from actors.topology import DECISIONS
from actors.transport import Connection, Message, Published
from statecharts.decisions import DecisionMade

FIRST_RETRY = 0.2
MAX_RETRY = 5.0
MAX_TRIES = 20
"""What a full queue keeps refusing is given up after so many tries, about a minute and a half."""


class Outbox:
    """The unconfirmed messages of one shard, in order of their numbers."""

    def __init__(self, log: FilteringBoundLogger) -> None:
        """Begin empty."""
        self._log = log
        self._last = 0
        self._unsent: dict[int, Message] = {}
        self._refused: dict[int, int] = {}
        """Numbers that a full queue has refused, with how often."""
        self._is_refused = asyncio.Event()
        self.unrouted = 0
        """Decisions that no queue has taken."""

    def restore(self, entries: Iterable[Outgoing], sent_through: int) -> None:
        """Take over what another life of this shard had not got confirmed."""
        self._unsent = dict(entries)
        self._last = max((sent_through, *self._unsent))

    @property
    def sent_through(self) -> int:
        """All up to this number is confirmed, or given up."""
        return next(iter(self._unsent)) - 1 if self._unsent else self._last

    def add(self, messages: Iterable[Message]) -> tuple[Outgoing, ...]:
        """Take messages to be sent, and return them with their numbers, for the journal."""
        entries = tuple(
            Outgoing(number, message) for number, message in enumerate(messages, self._last + 1)
        )
        self._unsent.update(entries)
        self._last += len(entries)
        return entries

    async def send(self, connection: Connection) -> None:
        """Send all that is not confirmed, in order; return when the broker has answered for each.

        What a full queue refuses is left to `resend` and holds nobody behind it.  Raises
        ConnectionLost; what was not confirmed then is sent on the next connection.
        """
        numbers = [number for number in self._unsent if number not in self._refused]
        answers = await asyncio.gather(
            *(connection.publish(self._unsent[number]) for number in numbers),
            return_exceptions=True,
        )
        for number, answer in zip(numbers, answers, strict=True):
            if isinstance(answer, Published):
                self._answered(number, answer)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer

    async def resend(self, connection: Connection) -> None:
        """Send what full queues have refused again, with back-off, until cancelled or lost."""
        delay = FIRST_RETRY
        while True:
            await self._is_refused.wait()
            await asyncio.sleep(delay)
            for number in list(self._refused):
                self._answered(number, await connection.publish(self._unsent[number]))
            delay = min(2 * delay, MAX_RETRY) if self._refused else FIRST_RETRY

    def _answered(self, number: int, answer: Published) -> None:
        message = self._unsent[number]
        if answer is Published.NACKED:
            tries = self._refused.get(number, 0) + 1
            self._refused[number] = tries
            self._is_refused.set()
            if tries == 1:
                self._log.warning("a full queue refuses our messages", key=message.routing_key)
            if tries < MAX_TRIES:
                return
            self._log.error(
                "message given up: a full queue keeps refusing it", key=message.routing_key
            )
        if answer is Published.RETURNED and _is_decision(message):
            self.unrouted += 1
            self._log.error(
                "no queue takes our decisions: bind one to the exchange",
                exchange=DECISIONS,
                key=message.routing_key,
            )
        del self._unsent[number]
        self._refused.pop(number, None)
        if not self._refused:
            self._is_refused.clear()


def _is_decision(message: Message) -> bool:
    return message.exchange == DECISIONS and message.routing_key.startswith(DecisionMade.name)
