"""What is to be published: kept until it is confirmed, and sent again by whoever comes after.

Messages go out when the record that holds them is committed, behind the journal: nothing waits for
them.  A message keeps its number, its id and its bytes however often it is sent, so that a consumer
who drops ids that he has seen sees it once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, takewhile

from structlog.typing import FilteringBoundLogger

from actors.journal import Outgoing
from actors.topology import AUDIT, DECISIONS
from actors.transport import Connection, Message, Published
from statecharts.decisions import DecisionMade

FIRST_RETRY = 0.2
MAX_RETRY = 5.0
MAX_TRIES = 20
"""What a full queue keeps refusing is given up after so many tries, about a minute and a half."""
MAX_UNSENT = 10_000
"""So many unsent messages at the most; then the shard waits for room before it goes on."""
AT_ONCE = 500


class Outbox:
    """The unconfirmed messages of one shard, in order of their numbers."""

    def __init__(self, log: FilteringBoundLogger) -> None:
        """Begin empty."""
        self._log = log
        self._last = 0
        self._committed = 0
        self._unsent: dict[int, Message] = {}
        self._refused: dict[int, int] = {}
        """Numbers that a full queue has refused, with how often."""
        self._is_refused = asyncio.Event()
        self._to_send = asyncio.Event()
        self._answered = asyncio.Condition()
        self.unrouted = 0
        """Decisions that no queue has taken."""
        self.unaudited = 0
        """Messages that the audit stream has not taken."""

    def restore(self, entries: Iterable[Outgoing], sent_through: int) -> None:
        """Take over what an earlier owner of the shard had not got confirmed."""
        self._unsent = dict(entries)
        self._last = max((sent_through, *self._unsent))
        self.committed()

    @property
    def sent_through(self) -> int:
        """All up to this number is confirmed, or given up."""
        return next(iter(self._unsent)) - 1 if self._unsent else self._last

    def add(self, messages: Iterable[Message]) -> tuple[Outgoing, ...]:
        """Take messages to be sent once committed; returns them with their numbers."""
        entries = tuple(
            Outgoing(number, message) for number, message in enumerate(messages, self._last + 1)
        )
        self._unsent.update(entries)
        self._last += len(entries)
        return entries

    def committed(self) -> None:
        """All that was added is in the journal: it may be sent."""
        self._committed = self._last
        self._to_send.set()

    async def room(self) -> None:
        """Wait until there is room for more."""
        async with self._answered:
            await self._answered.wait_for(lambda: len(self._unsent) < MAX_UNSENT)

    async def empty(self) -> None:
        """Wait until all that was committed has been answered for."""
        async with self._answered:
            await self._answered.wait_for(lambda: not any(self._sendable()))

    async def run(self, connection: Connection, check: Callable[[], None]) -> None:
        """Send what is committed, in order, until cancelled.

        `check` is asked before anything is sent, and raises if nothing may be.  Raises that, and
        ConnectionLost.
        """
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._send(connection, check))
            tasks.create_task(self._resend(connection, check))

    async def _send(self, connection: Connection, check: Callable[[], None]) -> None:
        while True:
            await self._to_send.wait()
            self._to_send.clear()
            while numbers := [*islice(self._sendable(), AT_ONCE)]:
                check()
                await self._publish(connection, numbers)

    async def _resend(self, connection: Connection, check: Callable[[], None]) -> None:
        """Send what full queues have refused again, with back-off."""
        delay = FIRST_RETRY
        while True:
            await self._is_refused.wait()
            await asyncio.sleep(delay)
            check()
            await self._publish(connection, list(self._refused))
            delay = min(2 * delay, MAX_RETRY) if self._refused else FIRST_RETRY

    async def _publish(self, connection: Connection, numbers: list[int]) -> None:
        """Publish messages, with their copies for the audit; returns when all are answered for."""
        messages = [self._unsent[number] for number in numbers]
        copies = [copy for message in messages for copy in _copies(message)]
        told = await asyncio.gather(
            *(connection.publish(message) for message in (*messages, *copies)),
            return_exceptions=True,
        )
        answers = [_answer(one) for one in told]
        for number, message, answer in zip(numbers, messages, answers, strict=False):
            if answer is Published.NACKED and self._tries_again(number, message):
                continue
            self._note(message, answer)
            del self._unsent[number]
            self._refused.pop(number, None)
        self._note_audit(answers[len(messages) :])
        if not self._refused:
            self._is_refused.clear()
        async with self._answered:
            self._answered.notify_all()

    def _sendable(self) -> Iterator[int]:
        committed = takewhile(lambda number: number <= self._committed, self._unsent)
        return (number for number in committed if number not in self._refused)

    def _tries_again(self, number: int, message: Message) -> bool:
        tries = self._refused.get(number, 0) + 1
        if tries >= MAX_TRIES:
            self._log.error(
                "message given up: a full queue keeps refusing it", key=message.routing_key
            )
            return False
        if tries == 1:
            self._log.warning("a full queue refuses our messages", key=message.routing_key)
        self._refused[number] = tries
        self._is_refused.set()
        return True

    def _note(self, message: Message, answer: Published) -> None:
        if answer is Published.RETURNED and message.routing_key.startswith(_A_DECISION):
            self.unrouted += 1
            self._log.error(
                "no queue takes our decisions: bind one to the exchange",
                exchange=DECISIONS,
                key=message.routing_key,
            )

    def _note_audit(self, answers: Iterable[Published]) -> None:
        lost = sum(answer is not Published.CONFIRMED for answer in answers)
        if lost and not self.unaudited:
            self._log.error("the audit stream does not take our messages", stream=AUDIT)
        self.unaudited += lost


_A_DECISION = f"{DecisionMade.name}."


def _copies(message: Message) -> Iterator[Message]:
    """Yield the copy of an output for the audit.

    A binding would do it too, but hide that no backend listens.
    """
    if message.exchange == DECISIONS:
        yield Message("", AUDIT, message.body, message.content_type, id=message.id)


def _answer(told: Published | BaseException) -> Published:
    if isinstance(told, BaseException):
        raise told
    return told
