"""A relay between client and broker that can be cut, or swallow everything."""

import asyncio
import ssl
from types import TracebackType
from typing import Self


class Proxy:
    """Relays TCP connections on loopback to a port, until told otherwise.

    With a TLS context it is TLS that clients have to speak to it.
    """

    def __init__(self, port: int, tls: ssl.SSLContext | None = None) -> None:
        self._target = port
        self._tls = tls
        self._sides: list[_Side] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server

    @property
    def port(self) -> int:
        """Where to connect to."""
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _NearSide(self), "127.0.0.1", 0, ssl=self._tls
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cut()
        self._server.close()
        await self._server.wait_closed()
        await asyncio.gather(*self._tasks)

    def cut(self) -> None:
        """Reset all connections, on both sides."""
        for side in self._sides:
            side.transport.abort()

    def swallow(self) -> None:
        """Pass nothing on any more, and keep the connections open."""
        for side in self._sides:
            side.transport.pause_reading()

    def accepted(self, near: "_Side") -> None:
        """Reach out to the target for a client that has arrived."""
        self._sides.append(near)
        self._tasks.add(asyncio.create_task(self._reach_out(near)))

    async def _reach_out(self, near: "_Side") -> None:
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: near.other, "127.0.0.1", self._target)
        self._sides.append(near.other)
        near.transport.resume_reading()


class _Side(asyncio.Protocol):
    """One end of a relayed connection."""

    transport: asyncio.Transport
    other: "_Side"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.other.transport.write(data)

    def connection_lost(self, _: Exception | None) -> None:
        if hasattr(self.other, "transport"):
            self.other.transport.close()


class _NearSide(_Side):
    """The end towards the client."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self.other = _Side()
        self.other.other = self

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.transport.pause_reading()
        self._proxy.accepted(self)
