"""Where the worker may be asked how it is, and what is said where it may not."""

from __future__ import annotations

import socket

import pytest

from actors.health.endpoint import HealthError, listen
from actors.settings import SettingsError, effective
from tests.broker.ports import LOCALHOST
from tests.broker.service import Service
from tests.unit.test_cli import call

NOWHERE = "amqp://127.0.0.1:1/"


@pytest.mark.parametrize(
    "text",
    [
        "8641",
        ":8641",
        "localhost",
        "localhost:",
        "localhost:x",
        "a:70000",
        "::1:8641",
        "[a]:1",
        "http://localhost:8641",
        "user@localhost:8641",
        "local host:1",
        "localhost:-1",
        "a:²",
    ],
)
def test_what_is_no_host_and_port_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"SEATWARDEN_HEALTH: .*must be host:port"):
        effective(health=text)


@pytest.mark.parametrize("text", ["127.0.0.1:8641", "[::1]:8641", "localhost:0", "a.b:65535"])
def test_host_and_port_are_taken(text: str) -> None:
    assert effective(health=text).health == text


def test_it_is_off_unless_asked_for() -> None:
    assert effective().health is None
    assert effective(health="").health is None


def test_a_taken_port_is_told() -> None:
    with socket.create_server((LOCALHOST, 0)) as taken:
        port = taken.getsockname()[1]
        told = f"SEATWARDEN_HEALTH: cannot listen on {LOCALHOST}:{port}: another program"
        with pytest.raises(HealthError, match=told):
            listen(LOCALHOST, port)


def test_a_host_that_is_not_ours_is_told() -> None:
    with pytest.raises(HealthError, match=r"cannot listen on 192\.0\.2\.1:1234"):
        listen("192.0.2.1", 1234)


async def test_the_service_does_not_start_where_the_port_is_taken() -> None:
    with socket.create_server((LOCALHOST, 0)) as taken:
        health = f"{LOCALHOST}:{taken.getsockname()[1]}"
        async with Service(NOWHERE, {"SEATWARDEN_HEALTH": health}) as service:
            assert await service.ended() == 1
            (told,) = service.log_lines()
            assert told["text"] == (
                f"seatwarden: SEATWARDEN_HEALTH: cannot listen on {health}: another program listens"
                " there"
            )


def test_the_extra_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.health.endpoint.NEEDS", ("starlette", "seatwarden_without"))
    result = call("config", SEATWARDEN_HEALTH="127.0.0.1:8641")
    assert result.exit_code == 2
    assert "pip install 'seatwarden[http]'" in result.stderr
    assert call("config").exit_code == 0
