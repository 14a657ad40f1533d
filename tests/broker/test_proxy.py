"""The relay: what clients and servers see of its faults."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from tests.broker.ports import LOCALHOST
from tests.broker.proxy import Proxy

QUIET = 0.2
SOON = 5


class _Server:
    """Echoes lines, and remembers how connections ended."""

    def __init__(self) -> None:
        self.ends: asyncio.Queue[str] = asyncio.Queue()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(line)
            self.ends.put_nowait("closed")
        except ConnectionResetError:
            self.ends.put_nowait("reset")
        finally:
            writer.close()


@dataclass
class _Client:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def echo(self) -> bytes:
        self.writer.write(b"fold\n")
        async with asyncio.timeout(SOON):
            return await self.reader.readline()

    async def hears_nothing(self) -> bool:
        self.writer.write(b"fold\n")
        try:
            async with asyncio.timeout(QUIET):
                await self.reader.readline()
        except TimeoutError:
            return True
        return False


@pytest.fixture
async def server() -> AsyncIterator[_Server]:
    server = _Server()
    listening = await asyncio.start_server(server.serve, LOCALHOST, 0)
    server.port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield server


@pytest.fixture
async def proxy(server: _Server) -> AsyncIterator[Proxy]:
    async with Proxy(server.port) as proxy:
        yield proxy


async def _connect(proxy: Proxy) -> _Client:
    return _Client(*await asyncio.open_connection(LOCALHOST, proxy.port))


async def _end(server: _Server) -> str:
    async with asyncio.timeout(SOON):
        return await server.ends.get()


async def test_it_relays_until_the_client_closes(proxy: Proxy, server: _Server) -> None:
    client = await _connect(proxy)
    assert await client.echo() == b"fold\n"
    client.writer.close()
    assert await _end(server) == "closed"


async def test_a_cut_resets_both_sides_and_lets_new_ones_in(proxy: Proxy, server: _Server) -> None:
    client = await _connect(proxy)
    await client.echo()
    proxy.cut()
    with pytest.raises(ConnectionResetError):
        await client.echo()
    assert await _end(server) == "reset"
    again = await _connect(proxy)
    assert await again.echo() == b"fold\n"
    again.writer.close()


async def test_refused_until_restored_on_the_same_port(proxy: Proxy, server: _Server) -> None:
    client = await _connect(proxy)
    await client.echo()
    await proxy.refuse()
    with pytest.raises(ConnectionResetError):
        await client.echo()
    assert await _end(server) == "reset"
    with pytest.raises(ConnectionRefusedError):
        await _connect(proxy)
    await proxy.restore()
    again = await _connect(proxy)
    assert await again.echo() == b"fold\n"
    again.writer.close()


async def test_what_is_swallowed_never_comes(proxy: Proxy, server: _Server) -> None:
    client, leaving = await _connect(proxy), await _connect(proxy)
    await client.echo()
    await leaving.echo()
    proxy.swallow()
    assert await client.hears_nothing()
    leaving.writer.close()
    late = await _connect(proxy)
    assert await late.hears_nothing()
    await proxy.restore()
    assert await client.hears_nothing()
    assert server.ends.empty()
    again = await _connect(proxy)
    assert await again.echo() == b"fold\n"
    for one in (client, late, again):
        one.writer.close()


async def test_what_is_delayed_comes_late_and_in_order(proxy: Proxy, server: _Server) -> None:
    loop = asyncio.get_running_loop()
    client = await _connect(proxy)
    await client.echo()
    proxy.delay(QUIET)
    began = loop.time()
    for number in range(5):
        client.writer.write(b"%d\n" % number)
        await asyncio.sleep(0.01)
    proxy.delay(0)
    client.writer.write(b"5\n")
    async with asyncio.timeout(SOON):
        assert await client.reader.readexactly(12) == b"0\n1\n2\n3\n4\n5\n"
    assert loop.time() - began >= QUIET
    client.writer.close()
    assert await _end(server) == "closed"


async def test_clients_of_a_server_that_is_away_are_reset() -> None:
    async with Proxy(1) as proxy:
        client = await _connect(proxy)
        with pytest.raises(ConnectionResetError):
            await client.echo()
