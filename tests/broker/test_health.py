"""What a real worker tells of itself before, while and after its broker is away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from actors.broker.slots import routing_key
from actors.broker.topology import DECISIONS, EVENTS
from actors.rabbit import RabbitTransport
from actors.transport import Binding, Message, Published, Queue, Topology
from tests.broker.nodes import Node
from tests.broker.ports import LOCALHOST
from tests.broker.service import Service
from tests.health.asking import Answer, ask, samples
from tests.unit.test_cli import TURN

ENVIRONMENT = {"SEATWARDEN_HEALTH": f"{LOCALHOST}:0", "SEATWARDEN_SHARDS": "2"}
A_WHILE = 60
"""Seconds, of which an idle machine needs a few: it waits for what comes."""


async def test_it_tells_how_it_is_before_while_and_after_its_broker_is_away(own_node: Node) -> None:
    async with Service(own_node.url, ENVIRONMENT) as service:
        await service.wait_for("ready")
        assert await service.stop() == 0
        # RabbitMQ 4.0 may not find streams again when it is killed in the second in which they were
        # made; an orderly restart is the end of that.
        await asyncio.to_thread(own_node.restart)
        seen = len(service.log_lines())
        service.start()
        listening = "answers /live, /ready and /metrics"
        port = (await service.wait_for(listening, after=seen))["port"]
        ready = await until(port, "/ready", lambda answer: answer.status == 200)
        assert ready.json == {**ready.json, "ready": True, "reason": "", "shards": []}
        await publish(own_node.url, TURN.replace("2026-01-01T00:00:00Z", "2026-01-01T00:00:00"))

        page = await until(port, "/metrics", knows_backlogs)
        assert page.value("seatwarden_ready") == 1
        assert page.value("seatwarden_shards", standing="live") == 2
        assert page.value("seatwarden_events_total", type="unread", verdict="refused") == 1
        assert page.value("seatwarden_refusals_total", code="invalid") == 1
        assert page.value("seatwarden_journal_bytes_total") > 0

        await asyncio.to_thread(own_node.kill)
        away = await until(port, "/ready", lambda answer: answer.status == 503)
        assert away.json["ready"] is False
        assert away.json["since"] > ready.json["since"]
        assert away.json["reason"]
        assert (await ask(port, "/live")).status == 200
        page = await until(
            port, "/metrics", lambda answer: answer.value("seatwarden_connected") == 0
        )
        assert page.value("seatwarden_ready") == 0
        assert page.value("seatwarden_shards", standing="live") == 0
        assert page.value("seatwarden_leases_lost_total", reason="connection") == 2
        assert page.value("seatwarden_refusals_total", code="invalid") == 1, "it is kept"

        await asyncio.to_thread(own_node.start)
        again = await until(port, "/ready", lambda answer: answer.status == 200)
        assert again.json["since"] > away.json["since"]
        page = await ask(port, "/metrics")
        assert page.value("seatwarden_connected") == 1
        assert page.value("seatwarden_shards", standing="live") == 2
        assert page.value("seatwarden_restore_seconds_count") >= 4
        assert await service.stop() == 0


def knows_backlogs(page: Answer) -> bool:
    found = {name for name, _ in samples(page.body)}
    return "seatwarden_backlog_messages" in found


async def until(port: int, path: str, holds: Callable[[Answer], bool]) -> Answer:
    """Ask until the answer is as it should be; raises TimeoutError."""
    async with asyncio.timeout(A_WHILE):
        while True:
            answer = await ask(port, path)
            if holds(answer):
                return answer
            await asyncio.sleep(0.05)


async def publish(url: str, event: str) -> None:
    """Publish an event, and wait until the service has told what it makes of it."""
    connection = await RabbitTransport(url).connect()
    heard = asyncio.Event()
    queue = Queue("backend", kind="private")
    await connection.declare(
        Topology(queues=(queue,), bindings=(Binding(queue.name, DECISIONS, "#"),))
    )
    await connection.consume(queue.name, lambda _: heard.set(), prefetch=10)
    message = Message(EVENTS, routing_key("t1"), event.encode())
    assert await connection.publish(message) is Published.CONFIRMED
    async with asyncio.timeout(A_WHILE):
        await heard.wait()
    await connection.close()
