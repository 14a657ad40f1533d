"""A relay between client and broker that can be cut, silenced, slowed down and closed."""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections import deque
from types import TracebackType
from typing import Self

from tests.broker.ports import LOCALHOST, free_ports

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class Proxy:
    """Relays TCP connections on loopback to a port, until told otherwise.

    With a TLS context it is TLS that clients have to speak to it.
    """

    def __init__(self, port: int, tls: ssl.SSLContext | None = None) -> None:
        self.port = free_ports(1)[0]
        """Where to connect to; it stays the same while nobody listens."""
        self.seconds = 0.0
        """How long everything is on its way, in each direction."""
        self._target = port
        self._tls = tls
        self._silent = False
        self._sides: list[_Side] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        await self.restore()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.refuse()
        await asyncio.gather(*self._tasks)

    def cut(self) -> None:
        """Reset all connections, on both sides; new ones are relayed as before."""
        for side in self._sides:
            side.reset()
        self._sides.clear()

    def swallow(self) -> None:
        """Pass nothing on any more, not even an end; connections stay open, new ones are made."""
        self._silent = True
        for side in self._sides:
            side.silence()

    def delay(self, seconds: float) -> None:
        """Let everything that arrives from now on take so long, in each direction."""
        self.seconds = seconds

    async def refuse(self) -> None:
        """Reset all connections and let nobody connect."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        self.cut()
        if server is not None:
            await server.wait_closed()

    async def restore(self) -> None:
        """Relay new connections, at once; what was swallowed is lost, and its connections hang."""
        self._silent = False
        self.seconds = 0.0
        if self._server is None:
            self._server = await asyncio.get_running_loop().create_server(
                lambda: _NearSide(self), LOCALHOST, self.port, ssl=self._tls
            )

    def accepted(self, near: "_NearSide") -> None:
        """Reach out to the target for a client that has arrived."""
        self._sides.append(near)
        if self._silent:
            near.silence()
            return
        task = asyncio.create_task(self._reach_out(near))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reach_out(self, near: "_NearSide") -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: near.other, LOCALHOST, self._target)
        except OSError:
            near.reset()  # as good as refused: the client is connected already
            return
        if near.transport.is_closing():
            near.other.reset()
            return
        self._sides.append(near.other)
        if near.silent:
            near.other.silence()
        else:
            near.transport.resume_reading()


class _Side(asyncio.Protocol):
    """One end of a relayed connection."""

    transport: asyncio.Transport
    other: "_Side"

    def __init__(self, proxy: Proxy) -> None:
        self.silent = False
        self._proxy = proxy
        self._coming: deque[bytes | None] = deque()  # what is on its way to here; None is the end
        self._due = 0.0  # when the last of it arrives

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._socket = transport.get_extra_info("socket")

    def data_received(self, data: bytes) -> None:
        self.other.bring(data)

    def connection_lost(self, _: Exception | None) -> None:
        if hasattr(self.other, "transport"):
            self.other.bring(None)

    def bring(self, data: bytes | None) -> None:
        """Write what the other side has received, when it is due."""
        loop = asyncio.get_running_loop()
        self._due = max(self._due, loop.time() + self._proxy.seconds)
        self._coming.append(data)
        if len(self._coming) > 1 or self._proxy.seconds:
            loop.call_at(self._due, self._arrive)
        else:
            self._arrive()

    def _arrive(self) -> None:
        data = self._coming.popleft()
        if self.silent:
            return
        if data is None:
            self.transport.close()
        else:
            self.transport.write(data)

    def silence(self) -> None:
        """Read and write nothing any more; so the end of a connection is not noticed either."""
        self.silent = True
        self.transport.pause_reading()

    def reset(self) -> None:
        """End the connection with a reset, without waiting for anything."""
        with contextlib.suppress(OSError):  # it may be closed already
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.transport.abort()


class _NearSide(_Side):
    """The end towards the client."""

    def __init__(self, proxy: Proxy) -> None:
        super().__init__(proxy)
        self.other = _Side(proxy)
        self.other.other = self

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.transport.pause_reading()
        self._proxy.accepted(self)
