"""The pages over HTTP, of a worker on the embedded broker."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import structlog

from actors.health.endpoint import listen
from actors.health.server import answering
from tests.broker.ports import LOCALHOST
from tests.health.asking import ask, samples
from tests.worker.house import JOURNAL, House, a_house, settle


@asynccontextmanager
async def asked(house: House) -> AsyncIterator[int]:
    """Have the house's worker answer; gives the port."""
    listener = listen(LOCALHOST, 0)
    log = structlog.wrap_logger(structlog.ReturnLogger())
    async with answering(listener, house.worker, log):
        yield listener.getsockname()[1]


async def test_who_is_ready_says_so() -> None:
    async with a_house() as house, asked(house) as port:
        answer = await ask(port, "/ready")
        assert answer.status == 200
        assert answer.json == {
            "ready": True, "since": "2026-03-01T12:00:00.000000Z", "reason": "", "shards": [],
        }  # fmt: skip
        assert (await ask(port, "/ready", "HEAD")).status == 200
        assert (await ask(port, "/live")).status == 200


async def test_who_is_not_ready_says_why_and_since_when_and_lives() -> None:
    async with a_house() as house, asked(house) as port:
        await house.pass_time(5)
        house.broker.stop()
        await settle()
        answer = await ask(port, "/ready")
        assert answer.status == 503
        assert answer.json["since"] == "2026-03-01T12:00:05.000000Z"
        assert "stopped" in answer.json["reason"]
        assert (await ask(port, "/live")).status == 200
        house.broker.start()
        await house.worker.ready.wait()
        assert (await ask(port, "/ready")).status == 200


async def test_a_shard_that_cannot_be_served_is_named() -> None:
    async with a_house() as house, asked(house) as port:
        house.broker.delete(JOURNAL)
        house.cut_worker("gone")
        await house.pass_time(1)
        answer = await ask(port, "/ready")
        assert answer.status == 503
        [trouble] = answer.json["shards"]
        assert (trouble["shard"], trouble["standing"]) == (0, "failing")
        assert f"the journal {JOURNAL} is missing" in trouble["fault"]
        assert trouble["since"] >= answer.json["since"]
        assert trouble["fault"] in answer.json["reason"]
        metrics = await ask(port, "/metrics")
        assert metrics.value("seatwarden_leases_lost_total", reason="journal") == 1
        assert metrics.value("seatwarden_shards", standing="failing") == 1


async def test_metrics_are_text_for_prometheus() -> None:
    async with a_house() as house, asked(house) as port:
        answer = await ask(port, "/metrics")
        assert "content-type: text/plain; version=0.0.4" in answer.headers
        assert answer.value("seatwarden_ready") == 1
        assert answer.value("seatwarden_shards", standing="live") == 1


@pytest.mark.parametrize(("path", "method", "status"), [("/", "GET", 404), ("/ready", "POST", 405)])
async def test_nothing_else_is_there(path: str, method: str, status: int) -> None:
    async with a_house() as house, asked(house) as port:
        assert (await ask(port, path, method)).status == status


async def test_the_port_is_free_when_the_worker_has_ended_and_signals_stay_as_they_were() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    async with a_house() as house:
        async with asked(house) as port:
            during = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
            assert (await ask(port, "/live")).status == 200
            reader, writer = await asyncio.open_connection(LOCALHOST, port)
        assert await reader.read() == b"", "who is still connected does not keep it"
        writer.close()
        with pytest.raises(ConnectionError):
            await ask(port, "/live")
    assert during == before


async def test_what_the_server_stumbles_over_does_not_end_the_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with a_house() as house, asked(house) as port:
        monkeypatch.setattr("actors.health.exposition.PREFIX", None)
        assert (await ask(port, "/metrics")).status == 500
        monkeypatch.undo()
        assert samples((await ask(port, "/metrics")).body)
