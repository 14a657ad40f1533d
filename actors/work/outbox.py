"""What is to be published: kept until it is confirmed, and sent again by whoever comes after.

Messages go out when the record that holds them is committed, behind the journal: nothing waits for
them.  A message keeps its number, its id and its bytes however often it is sent, so that a consumer
who drops ids that he has seen sees it once.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, takewhile

from structlog.typing import FilteringBoundLogger

from actors.broker.topology import AUDIT, DECISIONS
from actors.clock import Clock
from actors.journal import Outgoing
from actors.observing.figures import Figures, Total
from actors.transport import Connection, Message, Published
from statecharts.decisions import DecisionMade
from statecharts.instants import SECOND, from_rfc3339

FIRST_RETRY = 0.2
MAX_RETRY = 5.0
MAX_TRIES = 20
"""What is not taken, as by a full queue, is given up after so many tries, in some 90 seconds."""
MAX_UNSENT = 10_000
"""So many unsent messages at the most; then the shard waits for room before it goes on."""
MAX_REFUSED = 10_000
"""So many may wait to be sent again; what else is refused then is given up at once."""
AT_ONCE = 500
BATCH = "application/cloudevents-batch+json"
OUTPUTS = "seatwarden.outputs"
"""Kind of an audit message with a copy of what was published."""


class Outbox:
    """The unconfirmed messages of one shard, in order of their numbers."""

    def __init__(self, log: FilteringBoundLogger, figures: Figures, clock: Clock) -> None:
        """Begin empty."""
        self._log = log
        self._figures = figures
        self._clock = clock
        self._last = 0
        self._committed = 0
        self._unsent: dict[int, Message] = {}
        self._taken: set[int] = set()
        """Numbers of outputs that were taken, but not yet by the audit."""
        self._refused: dict[int, int] = {}
        """Numbers that were not taken, with how often."""
        self._is_refused = asyncio.Event()
        self._to_send = asyncio.Event()
        self._answered = asyncio.Condition()

    def __len__(self) -> int:
        """The number of messages that are not confirmed yet."""
        return len(self._unsent)

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
            await self._answered.wait_for(
                lambda: len(self._unsent) - len(self._refused) < MAX_UNSENT
            )

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
        """Send again what was not taken, with back-off."""
        delay = FIRST_RETRY
        while True:
            await self._is_refused.wait()
            await asyncio.sleep(delay)
            refused = list(self._refused)
            for start in range(0, len(refused), AT_ONCE):
                check()
                await self._publish(connection, refused[start : start + AT_ONCE])
            delay = min(2 * delay, MAX_RETRY) if self._refused else FIRST_RETRY

    async def _publish(self, connection: Connection, numbers: list[int]) -> None:
        """Publish messages, and the outputs among them for the audit; returns when all is answered.

        What is not taken stays, to be sent again.
        """
        direct = [number for number in numbers if number not in self._taken]
        outputs = [number for number in numbers if self._unsent[number].exchange == DECISIONS]
        messages = [self._unsent[number] for number in direct]
        copies = _copies(self._unsent[number] for number in outputs)
        told = await asyncio.gather(
            *(self._published(connection, message) for message in (*messages, *copies)),
            return_exceptions=True,
        )
        answers = [_answer(one) for one in told]
        self._taken.update(
            number
            for number, message, answer in zip(direct, messages, answers, strict=False)
            if self._is_taken(message, answer)
        )
        is_copied = answers[len(direct) :] == [Published.CONFIRMED] * len(copies)
        for number in numbers:
            if number in self._taken and (is_copied or number not in outputs):
                self._forget(number)
            else:
                self._try_again(number)
        if not self._refused:
            self._is_refused.clear()
        async with self._answered:
            self._answered.notify_all()

    async def _published(self, connection: Connection, message: Message) -> Published:
        """Publish one message, and see how long that takes."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        answer = await connection.publish(message)
        if answer is Published.CONFIRMED:
            self._figures.confirms.observe(loop.time() - began)
            if message.exchange == DECISIONS and message.routing_key.startswith(_A_DECISION):
                # The message itself says when it was due, whoever has made it.
                due = from_rfc3339(json.loads(message.body)["time"])
                self._figures.confirmed.observe((self._clock.now() - due) / SECOND)
        return answer

    def _sendable(self) -> Iterator[int]:
        committed = takewhile(lambda number: number <= self._committed, self._unsent)
        return (number for number in committed if number not in self._refused)

    def _is_taken(self, message: Message, answer: Published) -> bool:
        """Say whether that is the end of it.

        An output that no queue wants is the backend's affair; a stream that does not answer, as
        while a broker starts, is asked again.
        """
        if answer is Published.RETURNED and message.exchange:
            if message.routing_key.startswith(_A_DECISION):
                self._figures.totals[Total.UNROUTED] += 1
                self._log.error(
                    "no queue takes our decisions: bind one to the exchange",
                    exchange=DECISIONS,
                    key=message.routing_key,
                )
            return True
        return answer is Published.CONFIRMED

    def _try_again(self, number: int) -> None:
        key = self._unsent[number].routing_key
        where = AUDIT if number in self._taken else key
        tries = self._refused[number] = self._refused.get(number, 0) + 1
        self._is_refused.set()
        if tries == 1:
            self._log.warning("a message of ours is not taken", key=key, by=where)
        if tries >= MAX_TRIES or len(self._refused) > MAX_REFUSED:
            self._log.error("a message given up: it is not taken", key=key, by=where)
            self._figures.totals[Total.GIVEN_UP] += 1
            self._forget(number)

    def _forget(self, number: int) -> None:
        del self._unsent[number]
        self._refused.pop(number, None)
        self._taken.discard(number)


_A_DECISION = f"{DecisionMade.name}."


def _copies(messages: Iterable[Message]) -> list[Message]:
    """Return a batch with all outputs among the messages, for the audit; none if there are none.

    A binding would copy them too, but hide that no backend listens.
    """
    outputs = [message.body for message in messages if message.exchange == DECISIONS]
    body = b"[" + b",".join(outputs) + b"]"
    return [Message("", AUDIT, body, BATCH, OUTPUTS)] if outputs else []


def _answer(told: Published | BaseException) -> Published:
    if isinstance(told, BaseException):
        raise told
    return told
