"""SIGHUP to the running service: policies change under it, and what is open is not disturbed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from actors import policies
from actors.broker.slots import routing_key
from actors.broker.topology import DECISIONS, EVENTS, common
from actors.clock import SystemClock
from actors.rabbit import RabbitTransport
from actors.transport import Binding, Connection, Delivery, Message, Published, Queue, Topology
from statecharts.instants import to_rfc3339
from tests.broker.service import Service
from tests.conftest import Broker

FIRST, SECOND = (f"name: house\ngrace: [{{seconds: {grace}}}]\n" for grace in (20, 30))
OTHER = "name: other\ngrace: []\n"
TABLE = "t1"


def digest(text: str) -> str:
    return policies.parse(text, "").digest


class Backend:
    """Starts turns, and hears what comes of each."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._told: dict[tuple[str, str], asyncio.Future[dict[str, Any]]] = {}

    async def listen(self) -> None:
        queue = Queue("backend")
        bindings = (Binding(queue.name, DECISIONS),)
        await self._connection.declare(Topology(common().exchanges, (queue,), bindings))
        await self._connection.consume(queue.name, self._hear, prefetch=1000)

    async def turn(self, turn: str, seat: int, policy: str, seconds: float) -> None:
        """Start a turn that is checked at its end, whoever is there."""
        now = to_rfc3339(SystemClock().now())
        event = {
            "specversion": "1.0",
            "id": turn,
            "source": "/engine",
            "type": "seatwarden.turn.started.v1",
            "time": now,
            "subject": f"{TABLE}/{seat}",
            "data": {
                "hand_id": "h1",
                "turn_id": turn,
                "player_id": f"p{seat}",
                "turn_seconds": seconds,
                "format": "cash",
                "to_call": 0,
                "contributed": 50,
                "pots": [450],
                "big_blind": 100,
                "policy": policy,
            },
        }
        message = Message(EVENTS, routing_key(TABLE), json.dumps(event).encode())
        assert await self._connection.publish(message) is Published.CONFIRMED

    async def told(self, kind: str, turn: str) -> dict[str, Any]:
        """Return what is said of a turn, when it is said."""
        return await asyncio.wait_for(self._future(kind, turn), 30)

    async def policy_of(self, turn: str) -> tuple[str, str]:
        """Return name and digest of the policy by which a turn is decided, when it is."""
        policy = (await self.told("made", turn))["policy"]
        return policy["name"], policy["digest"]

    def _hear(self, delivery: Delivery) -> None:
        event = json.loads(delivery.body)
        future = self._future(event["type"].split(".")[-2], str(event["data"].get("turn_id")))
        if not future.done():
            future.set_result(event["data"])

    def _future(self, kind: str, turn: str) -> asyncio.Future[dict[str, Any]]:
        future = asyncio.get_running_loop().create_future()
        return self._told.setdefault((kind, turn), future)


@pytest.fixture
async def backend(broker: Broker) -> AsyncIterator[Backend]:
    connection = await RabbitTransport(broker.url).connect()
    backend = Backend(connection)
    await backend.listen()
    yield backend
    await connection.close()


@pytest.fixture
async def service(broker: Broker, tmp_path: Path) -> AsyncIterator[Service]:
    """The service with a folder that has one policy, `house`."""
    (tmp_path / "house.yaml").write_text(FIRST)
    settings = {"SEATWARDEN_POLICIES": str(tmp_path), "SEATWARDEN_SHARDS": "2"}
    async with Service(broker.url, settings) as service:
        assert (await service.wait_for("starting"))["own"] == {"house": digest(FIRST)}
        await service.wait_for("ready")
        yield service


async def test_a_hangup_brings_new_policies_and_an_open_turn_keeps_its_own(
    service: Service, backend: Backend, tmp_path: Path
) -> None:
    await backend.turn("open", 1, "house", 10)
    await backend.turn("before", 2, "house", 1)
    assert await backend.policy_of("before") == ("house", digest(FIRST))
    (tmp_path / "house.yaml").write_text(SECOND)
    (tmp_path / "other.yaml").write_text(OTHER)
    service.reload()
    reloaded = await service.wait_for("policies reloaded")
    assert reloaded["added"] == {"other": digest(OTHER)}
    assert reloaded["changed"] == {"house": f"{digest(FIRST)} -> {digest(SECOND)}"}
    assert reloaded["removed"] == {}
    await backend.turn("after", 2, "house", 1)
    await backend.turn("other", 3, "other", 1)
    assert await backend.policy_of("after") == ("house", digest(SECOND))
    assert await backend.policy_of("other") == ("other", digest(OTHER))

    # Nor does a new process need the file: the journal has what the open turn began with.
    (tmp_path / "house.yaml").unlink()
    seen = len(service.log_lines())
    service.kill()
    service.start()
    await service.wait_for("ready", after=seen)
    assert await backend.policy_of("open") == ("house", digest(FIRST))
    await backend.turn("late", 2, "house", 1)
    refused = await backend.told("refused", "late")
    assert refused["code"] == "invalid"
    assert "there is no policy 'house'; there are: adda52, " in refused["detail"]
    assert ", other, " in refused["detail"]


async def test_a_hangup_over_a_faulty_file_changes_nothing(
    service: Service, backend: Backend, tmp_path: Path
) -> None:
    house = tmp_path / "house.yaml"
    house.write_text(f"{SECOND}colour: red\n")
    (tmp_path / "other.yaml").write_text(OTHER)
    service.reload()
    fault = await service.wait_for("a fault of the policies")
    assert (fault["file"], fault["line"], fault["key"]) == (str(house), 3, "colour")
    assert (fault["level"], "there is no such key" in fault["reason"]) == ("error", True)
    await service.wait_for("policies not reloaded: all stay as they were")
    await backend.turn("still", 1, "house", 1)
    await backend.turn("unknown", 2, "other", 1)
    assert await backend.policy_of("still") == ("house", digest(FIRST))
    refused = await backend.told("refused", "unknown")
    assert "there is no policy 'other'; there are: adda52, " in refused["detail"]
    assert ", house, " in refused["detail"]
    house.write_text(SECOND)
    service.reload()
    await service.wait_for("policies reloaded")
    await backend.turn("mended", 1, "house", 1)
    assert await backend.policy_of("mended") == ("house", digest(SECOND))
    assert await service.stop() == 0
