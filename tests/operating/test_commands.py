"""The commands for operators, on real brokers."""

from __future__ import annotations

import asyncio
import json

import pytest
from typer.testing import CliRunner, Result

from actors.cli import app
from tests.broker.service import Service
from tests.conftest import Broker


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("actors.operating.resharding.WATCH_SECONDS", 0.2)


def call(broker: Broker, *arguments: str, shards: int = 4) -> Result:
    environment = {"SEATWARDEN_SHARDS": f"{shards}"}
    return CliRunner().invoke(app, [*arguments, "--amqp", broker.url], env=environment)


def test_a_topology_is_shown_applied_and_checked(broker: Broker) -> None:
    shown = call(broker, "topology", "show")
    assert (shown.exit_code, shown.stdout.count("seatwarden.journal.1.")) == (0, 4)
    assert "not applied yet" in shown.stdout
    assert call(broker, "topology", "check").exit_code == 1
    assert call(broker, "topology", "apply").stdout == "made generation 1 with 4 shards\n"
    assert call(broker, "topology", "apply").stdout == "all is there\n"
    checked = call(broker, "topology", "check")
    assert (checked.exit_code, checked.stdout) == (0, "all is as it should be\n")


def test_what_differs_on_the_broker_is_told_in_its_own_words(broker: Broker) -> None:
    call(broker, "topology", "apply")
    told = call(broker, "topology", "check", shards=8)
    assert told.exit_code == 1
    assert "4 shards, the setting says 8" in told.stdout
    environment = {"SEATWARDEN_AUDIT_DAYS": "30", "SEATWARDEN_SHARDS": "4"}
    arguments = ["topology", "check", "--amqp", broker.url]
    told = CliRunner().invoke(app, arguments, env=environment)
    assert told.exit_code == 1
    assert "seatwarden.audit" in told.stdout
    assert "x-max-age" in told.stdout


async def test_shards_are_listed_with_their_owners_and_resharded_when_nobody_works(
    broker: Broker,
) -> None:
    async with Service(broker.url, {"SEATWARDEN_SHARDS": "4"}) as service:
        await service.wait_for("ready", after=1)
        await asyncio.sleep(1.5)
        listed = await asyncio.to_thread(call, broker, "shards", "--json")
        told = json.loads(listed.stdout)
        assert told["workers"] == 1
        assert [one["slots"] for one in told["shards"]] == ["0-63", "64-127", "128-191", "192-255"]
        assert len({one["owner"] for one in told["shards"]}) == 1
        assert all(one["lag_seconds"] < 5 for one in told["shards"])
        assert "owner" in (await asyncio.to_thread(call, broker, "shards")).stdout
        refused = await asyncio.to_thread(call, broker, "reshard", "2")
        assert refused.exit_code == 1
        assert "1 workers are at work" in refused.stderr
        assert await service.stop() == 0
    done = await asyncio.to_thread(call, broker, "reshard", "2")
    assert (done.exit_code, "generation 2 with 2 shards is in force" in done.stdout) == (0, True)
    checked = await asyncio.to_thread(call, broker, "topology", "check", shards=2)
    assert checked.stdout == "all is as it should be\n"


@pytest.mark.parametrize(
    "arguments", [("topology", "show"), ("topology", "check"), ("shards",), ("reshard", "2")]
)
def test_a_broker_that_is_not_there_is_told_in_one_line(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [*arguments, "--amqp", "amqp://guest:hush@127.0.0.1:1/"])
    assert result.exit_code == 1
    assert result.stderr.startswith("seatwarden: cannot connect to amqp://guest:***@127.0.0.1:1/")
    assert result.stderr.count("\n") == 1


def test_without_a_topology_there_is_nothing_to_list_or_to_divide(broker: Broker) -> None:
    for arguments in (("shards",), ("reshard", "2")):
        result = call(broker, *arguments)
        assert result.exit_code == 1
        assert "seatwarden topology apply" in result.stderr
