"""The command as a child process."""

from urllib.parse import urlsplit

import pytest

from tests.broker.proxy import Proxy
from tests.broker.service import Service, ServiceError
from tests.conftest import Broker


async def test_it_runs_until_it_is_told_to_stop(broker: Broker) -> None:
    async with Service(broker.url) as service:
        connected = await service.wait_for("connected")
        assert connected["broker"] == broker.node.version
        assert await service.stop() == 0
        assert service.log_lines()[-1]["event"] == "stopped"


async def test_it_can_be_killed_and_started_again(broker: Broker) -> None:
    async with Service(broker.url) as service:
        await service.wait_for("connected")
        service.kill()
        seen = len(service.log_lines())
        service.start()
        assert await service.wait_for("connected", after=seen)


async def test_it_can_be_frozen(broker: Broker) -> None:
    async with Service(broker.url) as service:
        await service.wait_for("connected")
        service.freeze()
        with pytest.raises(ServiceError, match="does not log 'stopped' within"):
            await service.wait_for("stopped", 0.1)
        service.thaw()
        assert await service.stop() == 0


async def test_settings_and_flags_reach_it() -> None:
    nowhere = {"SEATWARDEN_GIVE_UP_SECONDS": "0"}
    async with Service("amqp://127.0.0.1:1/", nowhere, ["--log-level", "error"]) as service:
        assert await service.ended() == 1
        (told,) = service.log_lines()
        assert "cannot connect" in told["text"]
        service.start()
        with pytest.raises(ServiceError, match="ended without 'connected'"):
            await service.wait_for("connected")


async def test_it_comes_back_through_a_restored_proxy(broker: Broker) -> None:
    parts = urlsplit(broker.url)
    async with Proxy(parts.port or 0) as proxy:
        url = broker.url.replace(str(parts.port), str(proxy.port))
        async with Service(url) as service:
            await service.wait_for("connected")
            await proxy.refuse()
            await service.wait_for("connection lost")
            await service.wait_for("cannot reach the broker")
            seen = len(service.log_lines())
            await proxy.restore()
            await service.wait_for("connected", after=seen)
            assert await service.stop() == 0
