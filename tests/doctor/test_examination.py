"""Broken set-ups on real brokers: the doctor names each, and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import aio_pika
import pytest
from typer.testing import CliRunner, Result

from actors import policies
from actors.broker import layout
from actors.broker.topology import DEAD, WORKERS, Layout
from actors.cli import app
from actors.clock import SystemClock
from actors.doctor import examination
from actors.doctor.examination import examine
from actors.doctor.finding import Finding, Level, Patient
from actors.rabbit import RabbitConnection, RabbitTransport
from actors.settings import Settings
from actors.transport import Message, Queue, Topology
from statecharts.instants import SECOND
from tests.broker.service import Service
from tests.conftest import Broker

SETTINGS = Settings(shards=2)


class WrongClock(SystemClock):
    """A clock that is so many seconds ahead."""

    def __init__(self, ahead: float) -> None:
        super().__init__()
        self._ahead = round(ahead * SECOND)

    def now(self) -> int:
        return super().now() + self._ahead


class Announcing(RabbitTransport):
    """The way to a broker that announces another version."""

    version = ""

    async def connect(self) -> RabbitConnection:
        connection = await super().connect()
        connection.broker_version = self.version
        return connection


def stamps(broker: Broker) -> bool:
    """Say whether the node stamps: it has been told to, where it can."""
    return broker.node.version.startswith("4.")


async def found(
    broker: Broker | str, settings: Settings = SETTINGS, *, ahead: float = 0, announced: str = ""
) -> dict[str, list[Finding]]:
    """Return what is found, by check."""
    transport = RabbitTransport(broker if isinstance(broker, str) else broker.url)
    if announced and isinstance(broker, Broker):
        transport = Announcing(broker.url)
        transport.version = announced
    by_check: dict[str, list[Finding]] = {}
    async for finding in examine(
        transport, Patient(settings, policies.bundled(), WrongClock(ahead))
    ):
        by_check.setdefault(finding.check, []).append(finding)
    return by_check


async def furnish(broker: Broker) -> None:
    connection = await RabbitTransport(broker.url).connect()
    await layout.find_or_begin(connection, 2, SETTINGS.audit_days, SystemClock().now())
    await connection.close()


async def delete(broker: Broker, queue: str) -> None:
    async with await aio_pika.connect(broker.url) as connection:
        channel = await connection.channel()
        await channel.queue_delete(queue)


def levels(findings: dict[str, list[Finding]], *checks: str) -> set[Level]:
    return {one.level for check in checks for one in findings[check]}


def permit(broker: Broker, configure: str, write: str, read: str) -> None:
    vhost = broker.url.rpartition("/")[2]
    patterns = ", ".join(f'<<"{one}">>' for one in (configure, write, read))
    broker.node.eval(
        f'ok = rabbit_auth_backend_internal:set_permissions(<<"guest">>, <<"{vhost}">>,'
        f' {patterns}, <<"tests">>)'
    )


async def test_a_broker_without_us_has_no_fault(broker: Broker) -> None:
    told = await found(broker)
    assert {one.level for ones in told.values() for one in ones} <= {Level.OK, Level.WARNING}
    [topology] = told["topology"]
    assert (topology.level, "topology apply" in topology.to_do) == (Level.WARNING, True)


async def test_a_broker_that_is_down_is_the_only_fault_told() -> None:
    told = await found("amqp://guest:guest@127.0.0.1:1/")
    assert list(told) == ["broker"]
    assert levels(told, "broker") == {Level.FAULT}


async def test_a_wrong_password_is_a_fault_of_the_credentials(broker: Broker) -> None:
    told = await found(broker.url.replace(":guest@", ":hush@"))
    assert levels(told, "broker") == {Level.OK}
    [fault] = told["credentials"]
    assert (fault.level, "hush" in fault.told) == (Level.FAULT, False)
    assert list(told) == ["broker", "credentials"]


async def test_a_missing_virtual_host_is_a_fault_of_its_own(broker: Broker) -> None:
    told = await found(broker.url + "-missing")
    assert levels(told, "broker", "credentials") == {Level.OK}
    [fault] = told["virtual host"]
    assert (fault.level, "rabbitmqctl add_vhost" in fault.to_do) == (Level.FAULT, True)


@pytest.mark.parametrize(
    ("permissions", "missing"),
    [
        (("^$", ".*", ".*"), "may not configure"),
        ((".*", "^seatwarden", ".*"), "may not write to amq.default"),
        ((".*", ".*", "^$"), "may not read"),
        ((".*", "^amq.default$", ".*"), "may not write to seatwarden.events"),
    ],
)
async def test_a_missing_permission_is_named(
    broker: Broker, permissions: tuple[str, str, str], missing: str
) -> None:
    await furnish(broker)
    permit(broker, *permissions)
    told = await found(broker)
    [fault] = told["permissions"]
    assert fault.level is Level.FAULT
    assert missing in fault.told
    assert "rabbitmqctl set_permissions" in fault.to_do
    assert set(told) >= set(examination.CHECKS), "whatever one comes to, the rest is looked at"


async def test_the_permissions_that_are_documented_are_enough(broker: Broker) -> None:
    await furnish(broker)
    permit(broker, *[r"^(seatwarden\\..*|amq\\.default)$"] * 3)
    told = await found(broker)
    assert levels(told, "permissions", "topology", "journals") == {Level.OK}


async def test_a_topology_that_was_altered_is_a_fault(broker: Broker) -> None:
    await furnish(broker)
    assert levels(await found(broker), "topology", "journals") == {Level.OK}
    await delete(broker, Layout(1, 2).queue(1))
    await delete(broker, WORKERS)
    connection = await RabbitTransport(broker.url).connect()
    await connection.declare(Topology(queues=(Queue(WORKERS, max_length=5),)))
    await connection.close()
    told = [one for one in (await found(broker))["topology"] if one.level is Level.FAULT]
    missing = [one for one in told if "seatwarden.shard.1.1': missing" in one.told]
    assert ["topology apply" in one.to_do for one in missing] == [True]
    assert any("x-max-length" in one.told and "delete it" in one.to_do for one in told)
    assert any("no queue takes events with the key 128.#" in one.told for one in told)


async def test_other_settings_than_the_broker_has_are_a_warning(broker: Broker) -> None:
    await furnish(broker)
    [warning] = (await found(broker, Settings(shards=8)))["topology"]
    assert (warning.level, "SEATWARDEN_SHARDS=2" in warning.to_do) == (Level.WARNING, True)


async def test_a_journal_without_its_first_record_is_a_fault(broker: Broker) -> None:
    await furnish(broker)
    journal = Layout(1, 2).journal(1)
    await delete(broker, journal)
    connection = await RabbitTransport(broker.url).connect()
    await connection.declare(Layout(1, 2).journals().only(journal))
    await connection.close()
    told = await found(broker)
    assert levels(told, "topology") == {Level.OK}
    [fault] = told["journals"]
    assert (fault.level, fault.told) == (
        Level.FAULT,
        f"the journal {journal} has no first record",
    )
    assert "--begin-anew" in fault.to_do


@pytest.mark.parametrize("ahead", [60, -60])
async def test_a_clock_that_is_off_by_a_minute_is_a_fault_where_the_broker_has_one(
    broker: Broker, ahead: int
) -> None:
    [clock] = (await found(broker, ahead=ahead))["clock"]
    if stamps(broker):
        assert clock.level is Level.FAULT
        assert ("ahead of" in clock.told) == (ahead > 0)
        assert "60.0 s" in clock.told or "59.9 s" in clock.told
        assert levels(await found(broker), "clock") == {Level.OK}
    else:
        assert (clock.level, "cannot be told" in clock.told) == (Level.WARNING, True)


async def test_stamps_and_the_setting_have_to_agree(broker: Broker) -> None:
    [unset] = (await found(broker))["stamps"]
    [set_] = (await found(broker, Settings(shards=2, broker_stamps=True)))["stamps"]
    assert unset.level is Level.WARNING
    assert "the same events give the same decisions" in unset.told
    if stamps(broker):
        assert set_.level is Level.OK
        assert "SEATWARDEN_BROKER_STAMPS=true" in unset.to_do
    else:
        assert (set_.level, "anybody's is believed" in set_.told) == (Level.FAULT, True)
        assert "upgrade to RabbitMQ 3.12" in unset.to_do


async def test_a_rabbitmq_before_3_10_is_a_fault(broker: Broker) -> None:
    [fault] = (await found(broker, announced="3.9.27"))["version"]
    assert (fault.level, "needs 3.10" in fault.told) == (Level.FAULT, True)
    [strange] = (await found(broker, announced="edge"))["version"]
    assert strange.level is Level.WARNING
    assert levels(await found(broker), "version") == {Level.OK}


async def test_a_broker_short_of_memory_is_called_that(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(examination, "CHECKS", {"resources": examination.CHECKS["resources"]})
    with broker.node.alarm():
        [fault] = (await found(broker))["resources"]
    assert (fault.level, "short of memory" in fault.told) == (Level.FAULT, True)


async def test_dead_letters_are_counted(broker: Broker) -> None:
    await furnish(broker)
    assert levels(await found(broker), "dead letters") == {Level.OK}
    connection = await RabbitTransport(broker.url).connect()
    for _ in range(3):
        await connection.publish(Message(DEAD, "failed", b""))
    await connection.close()
    [warning] = (await found(broker))["dead letters"]
    assert (warning.level, "3 messages" in warning.told) == (Level.WARNING, True)


async def test_without_a_worker_nothing_is_decided_and_with_one_all_is_well(
    broker: Broker,
) -> None:
    await furnish(broker)
    [nobody] = (await found(broker))["workers"]
    assert (nobody.level, "nothing is decided" in nobody.told) == (Level.FAULT, True)
    async with Service(broker.url, {"SEATWARDEN_SHARDS": "2"}) as service:
        await service.wait_for("ready")
        settings = Settings(shards=2, broker_stamps=stamps(broker))
        told = await found(broker, settings)
        assert levels(told, "workers") == {Level.OK}
        if stamps(broker):
            assert {one.level for ones in told.values() for one in ones} == {Level.OK}
        assert await service.stop() == 0


def call(*arguments: str, **settings: str) -> Result:
    return CliRunner().invoke(
        app, ["doctor", *arguments], env={"SEATWARDEN_SHARDS": "2"} | settings
    )


def test_each_finding_is_a_line_and_the_status_tells_of_faults(broker: Broker) -> None:
    well = call("--amqp", broker.url)
    assert well.exit_code == 0
    lines = well.stdout.splitlines()
    assert {one.split()[0] for one in lines[:-1]} == {"ok", "warning"}
    assert lines[-1].startswith("faults: 0, warnings: ")
    ill = call("--amqp", broker.url + "-missing", "--json")
    assert ill.exit_code == 1
    told = json.loads(ill.stdout)
    assert told["faults"] == 1
    assert told["findings"][-1]["check"] == "virtual host"


def test_settings_and_policies_that_cannot_be_used_are_told_apart(
    broker: Broker, tmp_path: Path
) -> None:
    unusable = call("--amqp", "http://broker/")
    assert (unusable.exit_code, unusable.stdout.split()[:2]) == (2, ["fault", "settings"])
    policy = tmp_path / "house.yaml"
    policy.write_text("name: house\ngrace: soon\n")
    unusable = call("--amqp", broker.url, SEATWARDEN_POLICY=str(policy))
    assert unusable.exit_code == 2
    assert "fault    policies" in unusable.stdout
    assert "ok       broker" in unusable.stdout, "the broker is examined all the same"
