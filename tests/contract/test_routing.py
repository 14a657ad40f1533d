"""Which messages reach which queue, and what can be declared."""

import pytest

from actors.transport import (
    Binding,
    Connection,
    Exchange,
    Message,
    Published,
    Queue,
    Topology,
    TopologyConflict,
    TransportError,
)
from tests.contract.site import Inbox, Site, eventually

SHARD = Topology(
    exchanges=(Exchange("events"),),
    queues=(Queue("shard", single_active=True),),
    bindings=(Binding("shard", "events", "4.#"), Binding("shard", "events", "all")),
)


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("4.#", ["4", "4.a", "4.a.b", "4."], ["44", "5.4", "", "all", "44.a"]),
        ("all", ["all"], ["al", "all.a", "", "a.all"]),
        ("#", ["", "a", "a.b.c"], []),
        ("*", ["a"], ["a.b"]),
        ("decision.made.#", ["decision.made.t1.3", "decision.made"], ["decision.changed.t1.3"]),
        ("*.*.3", ["seat.t1.3"], ["seat.t1.4", "seat.3", "seat.t.1.3"]),
        ("#.3", ["3", "a.3", "a.b.3"], ["3.a"]),
        ("a.#.z", ["a.z", "a.b.z", "a.b.c.z", "a.z.z"], ["a", "z", "a.z.y"]),
        ("#.b.#", ["b", "a.b", "b.c", "a.b.c"], ["a.c", "bb"]),
        ("", [""], ["a"]),
    ],
)
async def test_a_pattern_takes_what_matches(
    site: Site, pattern: str, matching: list[str], others: list[str]
) -> None:
    connection = await site.connect()
    await connection.declare(
        Topology(
            exchanges=(Exchange("events"),),
            queues=(Queue("mine", kind="private"),),
            bindings=(Binding("mine", "events", pattern),),
        )
    )
    keys = matching + others
    published = {key: await connection.publish(Message("events", key, b"")) for key in keys}
    assert [key for key in keys if published[key] is Published.CONFIRMED] == matching


async def test_several_bindings_bring_one_copy(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    await connection.declare(Topology(bindings=(Binding("shard", "events", "*.t1"),)))
    await connection.publish(Message("events", "4.t1", b"both"))
    await connection.publish(Message("events", "all", b"one"))
    inbox = Inbox(site)
    await connection.consume("shard", inbox, prefetch=0)
    assert await inbox.bodies(2) == [b"both", b"one"]
    assert await inbox.stays_empty()


async def test_a_fanout_reaches_every_queue_whatever_the_key(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(
        Topology(
            exchanges=(Exchange("dead", "fanout"),),
            queues=(Queue("one", kind="private"), Queue("two", kind="private")),
            bindings=(Binding("one", "dead"), Binding("two", "dead", "never.mind")),
        )
    )
    await connection.publish(Message("dead", "any.key", b"refused"))
    for name in ("one", "two"):
        inbox = Inbox(site)
        await connection.consume(name, inbox, prefetch=0)
        (delivery,) = await inbox.take()
        assert (delivery.exchange, delivery.routing_key) == ("dead", "any.key")


async def test_the_default_exchange_takes_a_queue_by_its_name(site: Site) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    assert await connection.publish(Message("", "shard", b"tick")) is Published.CONFIRMED
    inbox = Inbox(site)
    await connection.consume("shard", inbox, prefetch=1)
    (delivery,) = await inbox.take()
    assert (delivery.exchange, delivery.routing_key) == ("", "shard")


async def test_declaring_twice_is_declaring_once(site: Site) -> None:
    connection, other = await site.connect(), await site.connect()
    await connection.declare(SHARD)
    await connection.publish(Message("events", "4.t", b"kept"))
    await connection.declare(SHARD)
    await other.declare(SHARD)
    inbox = Inbox(site)
    await connection.consume("shard", inbox, prefetch=0)
    assert await inbox.bodies(1) == [b"kept"]
    assert await inbox.stays_empty()


@pytest.mark.parametrize(
    "otherwise",
    [
        Topology(queues=(Queue("shard"),)),
        Topology(queues=(Queue("shard", single_active=True, max_length=9),)),
        Topology(queues=(Queue("shard", kind="private", single_active=True),)),
        Topology(exchanges=(Exchange("events", "fanout"),)),
    ],
    ids=["line", "length", "kind", "exchange"],
)
async def test_nothing_can_be_declared_otherwise_and_the_connection_stays_usable(
    site: Site, otherwise: Topology
) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    with pytest.raises(TopologyConflict):
        await connection.declare(otherwise)
    await connection.declare(SHARD)
    assert await connection.publish(Message("events", "4.t", b"")) is Published.CONFIRMED


@pytest.mark.parametrize("missing", [Binding("nowhere", "events"), Binding("shard", "nowhere")])
async def test_what_does_not_exist_cannot_be_bound_and_the_connection_stays_usable(
    site: Site, missing: Binding
) -> None:
    connection = await site.connect()
    await connection.declare(SHARD)
    with pytest.raises(TransportError, match=r"NOT_FOUND.*nowhere"):
        await connection.declare(Topology(bindings=(missing,)))
    assert await connection.publish(Message("events", "4.t", b"")) is Published.CONFIRMED


async def test_a_private_queue_cannot_be_declared_by_another(site: Site) -> None:
    mine, other = await site.connect(), await site.connect()
    private = Topology(queues=(Queue("mine", kind="private"),))
    await mine.declare(private)
    await mine.declare(private)
    with pytest.raises(TopologyConflict, match="RESOURCE_LOCKED"):
        await other.declare(private)
    await other.declare(SHARD)


@pytest.mark.parametrize("end", ["closed", "cut"])
async def test_a_private_queue_goes_with_its_connection(site: Site, end: str) -> None:
    mine, other = await site.connect(), await site.connect()
    await mine.declare(
        Topology(
            exchanges=(Exchange("events"),),
            queues=(Queue("mine", kind="private"),),
            bindings=(Binding("mine", "events"),),
        )
    )
    assert await other.publish(Message("events", "any", b"")) is Published.CONFIRMED
    if end == "closed":
        await mine.close()
    else:
        site.cut(mine)
    await eventually(lambda: _is_returned(other))


async def _is_returned(connection: Connection) -> bool:
    return await connection.publish(Message("events", "any", b"")) is Published.RETURNED
