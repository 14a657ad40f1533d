"""Looking at what exists on the broker, changing nothing."""

from aiormq.abc import DeliveredMessage

from actors.rabbit.faults import NotFound
from actors.rabbit.link import Link
from actors.rabbit.topology import declare_exchange, declare_queue
from actors.transport import (
    ConnectionLost,
    Exchange,
    Queue,
    Survey,
    Topology,
    TopologyConflict,
    TransportError,
)


async def survey(link: Link, queue: str) -> Survey | None:
    """Look at a queue; None if there is none.

    Raises ConnectionLost, and TransportError for what the broker has against it.
    """
    try:
        async with link.aside() as channel:
            found = await channel.queue_declare(queue, passive=True)
    except NotFound:
        return None
    return Survey(messages=found.message_count or 0, consumers=found.consumer_count or 0)


async def is_stream(link: Link, queue: str) -> bool:
    """Whether an existing queue is a stream; raises what `survey` does.

    The broker takes an offset to consume from for streams only.
    """
    try:
        async with link.aside() as channel:
            await channel.basic_qos(prefetch_count=1)
            await channel.basic_consume(queue, _ignore, arguments={"x-stream-offset": "next"})
    except TopologyConflict:
        return False
    return True


async def differences(link: Link, topology: Topology) -> list[str]:
    """Say what is missing or other than wanted; raises ConnectionLost."""
    found = [
        *[(f"exchange '{x.name}'", await _fault_in_exchange(link, x)) for x in topology.exchanges],
        *[(f"queue '{x.name}'", await _fault_in_queue(link, x)) for x in topology.queues],
    ]
    return [f"{what}: {fault}" for what, fault in found if fault]


# What is there is declared once more: only so the broker compares its properties.


async def _fault_in_exchange(link: Link, exchange: Exchange) -> str | None:
    try:
        async with link.aside() as channel:
            await channel.exchange_declare(exchange.name, passive=True)
            await declare_exchange(channel, exchange)
    except TransportError as error:
        return _words(error)
    return None


async def _fault_in_queue(link: Link, queue: Queue) -> str | None:
    try:
        async with link.aside() as channel:
            await channel.queue_declare(queue.name, passive=True)
            await declare_queue(channel, queue, link.broker_version)
    except TransportError as error:
        return _words(error)
    return None


def _words(error: TransportError) -> str:
    """Return what the broker says against it; raises ConnectionLost on."""
    if isinstance(error, ConnectionLost):
        raise error
    if isinstance(error, NotFound):
        return "missing"
    return str(error).removeprefix("PRECONDITION_FAILED - ")


async def _ignore(_: DeliveredMessage) -> None:
    pass
