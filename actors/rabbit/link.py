"""The life of one connection: it ends as a whole, once, with a reason."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import cast

from aio_pika import Connection
from aiormq import Channel
from aiormq.exceptions import AMQPChannelError, ConnectionClosed
from pamqp.constants import REPLY_SUCCESS

from actors.rabbit.faults import is_gone, refused, words
from actors.rabbit.sockets import Sockets
from actors.transport import ConnectionLost

_PATIENCE = 3
"""Seconds for closing in good order. A broker short of memory reads nothing, not even that."""


class Link:
    """A connection of the library, watched.

    Whatever kills it or one of its watched channels ends it: `lost` is set, whoever waits for the
    broker is told, and the rest is closed, so that the broker gives what was not acknowledged to
    others at once.
    """

    def __init__(self, wire: Connection, sockets: Sockets) -> None:
        """Watch a connection that is open."""
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        if wire.transport is None:
            raise ValueError("the connection is not open")
        self._pika = wire
        self._wire = wire.transport.connection
        self._sockets = sockets
        # Not read from `lost`, which is cancelled along with a task that awaits it.
        self._lost_by: str | None = None
        self._waiting: dict[_Wait, None] = {}
        self._closing: asyncio.Task[None] | None = None
        self._wire.closing.add_done_callback(self._ended)

    @property
    def broker_version(self) -> str:
        """The version that the broker announces."""
        return str(self._wire.server_properties["version"])

    @property
    def is_blocked(self) -> bool:
        """Whether the broker has said that it takes no messages now."""
        # The library keeps that to itself, but for one coroutine: it ends at once, or waits.
        ready = self._wire.ready()
        try:
            ready.send(None)
        except StopIteration:
            return False
        ready.close()
        return self._lost_by is None

    async def channel(self, *, publisher_confirms: bool, on_return_raises: bool = False) -> Channel:
        """Open a channel; raises ConnectionLost."""
        with self.using():
            channel = await self._wire.channel(
                publisher_confirms=publisher_confirms, on_return_raises=on_return_raises
            )
        return cast("Channel", channel)

    @asynccontextmanager
    async def aside(self) -> AsyncIterator[Channel]:
        """Use a channel of its own, as the broker closes the one on which it refuses something.

        Raises the port's error for what it refuses, ConnectionLost.
        """
        channel = await self.channel(publisher_confirms=False)
        with self.using():
            try:
                yield channel
            except AMQPChannelError as error:
                raise refused(error) from None
            finally:
                await channel.close()

    def watch(self, channel: Channel, *, unless: Callable[[], bool] | None = None) -> None:
        """End with a channel, unless that is being closed deliberately."""

        def ended(closing: asyncio.Future[None]) -> None:
            if not (unless and unless()):
                self._ended(closing)

        channel.closing.add_done_callback(ended)

    def lose(self, reason: str) -> asyncio.Task[None]:
        """End, for that reason if there was none before; the task is done when all is closed."""
        if self._closing is None:
            self._lost_by = reason
            if not self.lost.done():
                self.lost.set_result(reason)
            for wait in self._waiting:
                wait.end()
            self._closing = asyncio.create_task(self._close(reason))
        return self._closing

    @contextmanager
    def using(self) -> Iterator[None]:
        """Raise ConnectionLost if the connection is lost, before or while the library is used.

        The library's own error is not shown along: its words are the reason, and the rest would be
        five tracebacks through its tasks.  Not to be nested.
        """
        if self._lost_by is not None:
            raise ConnectionLost(self._lost_by)
        wait = _Wait()
        self._waiting[wait] = None
        try:
            try:
                yield
            finally:
                del self._waiting[wait]
                elsewhere = wait.over()
        except asyncio.CancelledError as error:
            if elsewhere:
                raise
            raise ConnectionLost(self._why(error)) from None
        except Exception as error:
            if not is_gone(error):
                raise
            raise ConnectionLost(self._why(error)) from None
        if elsewhere:  # the library has swallowed it, as its `Channel.close` does (aiormq 7.2)
            raise asyncio.CancelledError

    def _why(self, error: BaseException) -> str:
        if self._lost_by is None:
            self.lose(words(error))
        return str(self._lost_by)

    def _ended(self, closing: asyncio.Future[None]) -> None:
        cancelled = closing.cancelled()
        self.lose(words(asyncio.CancelledError() if cancelled else closing.exception()))

    async def _close(self, reason: str) -> None:
        closing = asyncio.ensure_future(self._pika.close(ConnectionClosed(REPLY_SUCCESS, reason)))
        done, _ = await asyncio.wait({closing}, timeout=_PATIENCE)
        if not done:
            self._sockets.abort()
        await closing


class _Wait:
    """A task that uses the library, to be told when the connection is lost.

    The library cannot be relied on for that: whoever waits for room in its queue to the socket is
    forgotten (aiormq 7.2).  So it is done in the manner of `asyncio.timeout`, by cancelling.
    """

    def __init__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("the transport is used within tasks only")
        self._task = task
        self._cancelling = task.cancelling()
        self._ended = False

    def end(self) -> None:
        """Interrupt it, as the connection is lost."""
        self._ended = True
        self._task.cancel()

    def over(self) -> bool:
        """Take its own cancellation back; return whether the task is cancelled by others too.

        The library cancels its callers as well, for a connection that it closed itself, but without
        counting it as one.
        """
        left = self._task.uncancel() if self._ended else self._task.cancelling()
        return left > self._cancelling
