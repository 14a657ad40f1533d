"""The socket beneath the library."""

import asyncio
from typing import Any

from aiormq.connection import TCPTransportFactory, TLSTransportFactory, TransportFactory
from yarl import URL


class Sockets(TransportFactory):
    """The library's own ways to open a connection; it can abort the one that it opened."""

    _writer: asyncio.StreamWriter

    async def create(
        self,
        url: URL,
        **options: Any,  # noqa: ANN401 - what the library passes on
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a TCP connection, with TLS for amqps; raises what the library raises."""
        encrypted = url.scheme == "amqps"
        factory = TLSTransportFactory() if encrypted else TCPTransportFactory()
        reader, self._writer = await factory.create(url, **options)
        return reader, self._writer

    def abort(self) -> None:
        """Close at once, unsent bytes or not."""
        self._writer.transport.abort()
