"""`seatwarden dead-letters` on real brokers."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterable
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner, Result

from actors.broker.topology import DEAD_LETTERS, Layout
from actors.cli import app
from actors.letters.holding import hold
from actors.letters.redriving import redrive
from actors.letters.wanted import Wanted
from actors.rabbit import RabbitTransport
from actors.transport import Connection, ConnectionLost, Delivery, Message
from actors.work.messages import REDRIVEN
from statecharts.refusals import Code
from tests.broker.proxy import Proxy
from tests.conftest import Broker
from tests.letters.letters import event, furnish, letter


def call(broker: Broker, *arguments: str, told: str | None = None) -> Result:
    command = ["dead-letters", *arguments, "--amqp", broker.url]
    return CliRunner().invoke(app, command, input=told)


def bury(broker: Broker, letters: Iterable[Message]) -> None:
    async def act() -> None:
        connection = await RabbitTransport(broker.url).connect()
        await furnish(connection, letters)
        await connection.close()

    asyncio.run(act())


def lying(broker: Broker, queue: str = DEAD_LETTERS) -> list[Delivery]:
    """Return what a queue holds, as it holds it, without a command."""

    async def act() -> list[Delivery]:
        connection = await RabbitTransport(broker.url).connect()
        found = await taken(connection, queue)
        await connection.close()
        return found

    return asyncio.run(act())


async def taken(connection: Connection, queue: str) -> list[Delivery]:
    survey = await connection.survey(queue)
    assert survey is not None
    arrived: asyncio.Queue[Delivery] = asyncio.Queue()
    await connection.consume(queue, arrived.put_nowait, prefetch=65_535)
    return [await arrived.get() for _ in range(survey.messages)]


BODIES = [event(id_=f"e{number}") for number in range(30)]


def test_whatever_is_looked_at_lies_in_its_order_afterwards(broker: Broker) -> None:
    bury(broker, [letter(body) for body in BODIES])
    for number in range(25):  # oftener than the limit that RabbitMQ 4 would have
        looked = call(broker, *(("list",) if number % 2 else ("show", "--id", "e3")))
        assert looked.exit_code == 0
    found = lying(broker)
    assert [one.body for one in found] == BODIES
    assert {one.headers["x-delivery-count"] for one in found} == {25}


async def test_who_is_cut_off_while_he_looks_has_changed_nothing(broker: Broker) -> None:
    direct = await RabbitTransport(broker.url).connect()
    await furnish(direct, [letter(body) for body in BODIES])
    async with Proxy(broker.node.port) as proxy:
        way = urlsplit(broker.url)._replace(netloc=f"guest:guest@127.0.0.1:{proxy.port}").geturl()
        for _ in range(3):
            looking = await RabbitTransport(way).connect()
            async with hold(looking, Wanted()) as held:
                assert [one.body for one in held.letters] == BODIES
                proxy.cut()
                await looking.lost
            await looking.close()
            await returned(direct)
    assert [one.body for one in await taken(direct, DEAD_LETTERS)] == BODIES
    await direct.close()


class Deadly:
    """A consumer of whom nothing is heard again as soon as he acknowledges."""

    def __init__(self, proxy: Proxy, connection: Connection) -> None:
        self._proxy = proxy
        self._connection = connection

    async def acknowledge(self, _: int, *, multiple: bool = False) -> None:
        assert not multiple
        self._proxy.cut()
        raise ConnectionLost(await self._connection.lost)

    async def close(self) -> None:
        raise AssertionError("the dead do not close")


async def test_who_is_cut_off_between_publishing_and_acknowledging_leaves_both(
    broker: Broker,
) -> None:
    direct = await RabbitTransport(broker.url).connect()
    await furnish(direct, [letter(body) for body in BODIES])
    async with Proxy(broker.node.port) as proxy:
        way = urlsplit(broker.url)._replace(netloc=f"guest:guest@127.0.0.1:{proxy.port}").geturl()
        connection = await RabbitTransport(way).connect()
        async with hold(connection, Wanted()) as held:
            with pytest.raises(ConnectionLost):
                await redrive(connection, Deadly(proxy, connection), held.letters)
        await connection.close()
    await returned(direct)
    async with hold(direct, Wanted()) as held:
        assert [one.body for one in held.letters] == BODIES
        assert await redrive(direct, held.consumer, held.letters) == len(BODIES)
    shard = Layout(1, 2).queue(0)  # that of t1
    assert [one.body for one in await taken(direct, shard)] == [BODIES[0], *BODIES]
    assert await taken(direct, DEAD_LETTERS) == []
    await direct.close()


async def returned(connection: Connection) -> None:
    """Wait until the broker has noticed that a connection is gone."""
    for _ in range(400):
        survey = await connection.survey(DEAD_LETTERS)
        if survey and survey.messages == len(BODIES) and not survey.consumers:
            return
        await asyncio.sleep(0.05)
    pytest.fail("the letters do not come back")


def test_they_are_listed_by_code_with_what_to_do(broker: Broker) -> None:
    bury(
        broker,
        [
            letter(event(id_="e1"), Code.FAILED, 0),
            letter(event(id_="e2"), Code.FAILED, 60, redriven=1),
            letter(b"\xff\x1b[31m", Code.MALFORMED, 30),
        ],
    )
    listed = call(broker, "list")
    assert listed.exit_code == 0
    assert listed.stdout.splitlines()[:5] == [
        "3 dead letters",
        "",
        "failed: 2, 1 redriven before",
        "  refused  2026-03-01T20:15:00.000000Z to 2026-03-01T20:16:00.000000Z",
        "  from     /engines/ring-3 (2)",
    ]
    assert "redrive after the upgrade that mends it" in listed.stdout
    told = json.loads(call(broker, "list", "--json").stdout)
    assert (told["letters"], told["not_looked_at"]) == (3, 0)
    failed, malformed = told["codes"]
    assert (failed["code"], failed["letters"], failed["redriven"]) == ("failed", 2, 1)
    assert failed["oldest"] == "2026-03-01T20:15:00.000000Z"
    assert failed["newest"] == "2026-03-01T20:16:00.000000Z"
    assert malformed["sources"] == {"unreadable": 1}
    assert json.loads(call(broker, "list", "--json", "--code", "stale").stdout)["letters"] == 0
    assert "no dead letters of that kind" in call(broker, "list", "--code", "stale").stdout


def test_they_are_shown_in_full_and_cannot_act_on_a_terminal(broker: Broker) -> None:
    bury(broker, [letter(event(id_="e1")), letter(b"\xff\x1b[31m", Code.MALFORMED)])
    shown = call(broker, "show")
    assert shown.exit_code == 0
    for part in ("the detail of failed", '"player_id": "p1"', "/engines/ring-3", r"\\xff\x1b[31m"):
        assert part.replace(r"\\", "\\") in shown.stdout
    assert "\x1b" not in shown.stdout
    first, second = map(json.loads, call(broker, "show", "--json").stdout.splitlines())
    assert (first["id"], first["body"]) == ("e1", json.loads(event(id_="e1")))
    assert base64.b64decode(second["base64"]) == b"\xff\x1b[31m"
    only = call(broker, "show", "--json", "--id", second["letter"])
    assert json.loads(only.stdout) == second
    limited = call(broker, "show", "--limit", "1")
    assert (limited.stdout.count("letter "), "1 more" in limited.stderr) == (1, True)
    assert call(broker, "show", "--id", "e9").exit_code == 1


def test_they_are_redriven_once_with_a_word_on_what_will_not_help(broker: Broker) -> None:
    bury(
        broker,
        [letter(body) for body in BODIES[:3]]
        + [letter(event(id_="again"), redriven=1), letter(b"no event", Code.MALFORMED)],
    )
    tried = call(broker, "redrive", "--dry-run")
    assert (tried.exit_code, tried.stdout) == (0, "3 would be redriven\n")
    assert len(lying(broker)) == 5
    done = call(broker, "redrive")
    assert (done.exit_code, done.stdout) == (0, "3 redriven\n")
    assert "1 skipped: redriven once already: --again" in done.stderr
    assert "1 skipped: malformed does not get better by itself" in done.stderr
    on_shards = [one for shard in range(2) for one in lying(broker, Layout(1, 2).queue(shard))]
    assert [one.body for one in on_shards] == BODIES[:3]
    assert {one.headers[REDRIVEN] for one in on_shards} == {1}
    assert len(lying(broker)) == 2
    told = call(broker, "redrive", "--code", "malformed", "--json")
    assert json.loads(told.stdout)["redriven"] == 1
    again = call(broker, "redrive", "--again")
    assert (again.exit_code, again.stdout) == (0, "1 redriven\n")
    nothing = call(broker, "redrive")
    assert (nothing.exit_code, "no dead letters" in nothing.stderr) == (1, True)


def test_they_are_dropped_by_who_says_which_and_means_it(broker: Broker) -> None:
    bury(broker, [letter(body) for body in BODIES[:4]] + [letter(b"no event", Code.MALFORMED)])
    refused = call(broker, "drop")
    assert (refused.exit_code, "or --all" in refused.stderr) == (2, True)
    doubtful = call(broker, "drop", "--code", "malformed", told="n\n")
    assert (doubtful.exit_code, "no type without id" in doubtful.stderr) == (1, True)
    assert len(lying(broker)) == 5
    meant = call(broker, "drop", "--code", "malformed", told="y\n")
    assert (meant.exit_code, meant.stdout.endswith("1 dropped\n")) == (0, True)
    assert call(broker, "drop", "--id", "e1", "--yes", "--json").stdout == '{"dropped": 1}\n'
    assert [one.body for one in lying(broker)] == [BODIES[0], BODIES[2], BODIES[3]]
    assert call(broker, "drop", "--all", "--yes").stdout == "3 dropped\n"
    assert call(broker, "list").stdout == "no dead letters\n"


def test_a_queue_from_before_an_upgrade_is_not_looked_at_until_its_limit_is_lifted(
    broker: Broker,
) -> None:
    if not broker.node.version.startswith("4."):
        pytest.skip("RabbitMQ has a limit from 4.0 on")

    async def as_3_10_made_it() -> None:
        connection = await RabbitTransport(broker.url).connect()
        connection.broker_version = "3.10.8"
        await furnish(connection, [letter(body) for body in BODIES])
        await connection.close()

    asyncio.run(as_3_10_made_it())
    refused = call(broker, "list")
    assert refused.exit_code == 1
    assert "x-delivery-limit" in refused.stderr
    assert "rabbitmqctl set_policy" in refused.stderr
    vhost = broker.url.rpartition("/")[2]
    what = ("seatwarden-dead-letters", r"^seatwarden\.dead-letters$", '{"delivery-limit": -1}')
    broker.node.ctl("set_policy", "-p", vhost, "--apply-to", "queues", *what)
    for _ in range(25):
        assert call(broker, "list", "--limit-lifted").exit_code == 0
    assert [one.body for one in lying(broker)] == BODIES


@pytest.mark.parametrize("command", [("list",), ("show",), ("redrive",), ("drop", "--all")])
def test_a_broker_that_is_not_there_is_told_in_one_line(command: tuple[str, ...]) -> None:
    url = "amqp://guest:hush@127.0.0.1:1/"
    result = CliRunner().invoke(app, ["dead-letters", *command, "--amqp", url])
    assert result.exit_code == 1
    assert result.stderr.startswith("seatwarden: cannot connect to amqp://guest:***@127.0.0.1:1/")
    assert result.stderr.count("\n") == 1


def test_a_stamp_that_is_none_is_unusable() -> None:
    result = CliRunner().invoke(app, ["dead-letters", "list", "--since", "yesterday"])
    assert (result.exit_code, "--since: must be an RFC 3339" in result.stderr) == (2, True)
