"""The port's queues, exchanges and bindings as AMQP has them."""

from aiormq.abc import AbstractChannel
from pamqp.common import FieldTable

from actors.transport import Exchange, Queue, Topology

_UNLIMITED_SINCE = 4
"""From this major version on, a quorum queue drops a message after 20 returns unless told."""


async def declare(channel: AbstractChannel, topology: Topology, version: str) -> None:
    """Declare all of it on a broker of that version; raises what the library raises."""
    for exchange in topology.exchanges:
        await declare_exchange(channel, exchange)
    for queue in topology.queues:
        await declare_queue(channel, queue, version)
    # Hundreds of round trips would take a second: the answer to the last one is for all of them.
    for binding in topology.bindings[:-1]:
        await channel.queue_bind(binding.queue, binding.exchange, binding.key, nowait=True)
    for binding in topology.bindings[-1:]:
        await channel.queue_bind(binding.queue, binding.exchange, binding.key)


async def declare_exchange(channel: AbstractChannel, exchange: Exchange) -> None:
    """Declare an exchange; raises what the library raises."""
    await channel.exchange_declare(exchange.name, exchange_type=exchange.kind, durable=True)


async def declare_queue(channel: AbstractChannel, queue: Queue, version: str) -> None:
    """Declare a queue on a broker of that version; raises what the library raises."""
    private = queue.kind == "private"
    await channel.queue_declare(
        queue.name,
        durable=not private,
        exclusive=private,
        auto_delete=private,
        arguments=queue_arguments(queue, version),
    )


def queue_arguments(queue: Queue, version: str) -> FieldTable:
    """Return a queue's arguments, which cannot be changed once it exists.

    The delivery limit is never to bite.  Without the argument RabbitMQ 3.x returns a message for
    ever; 4.0 does so with -1, which 3.10 takes for "once".

    >>> queue_arguments(Queue("shard"), "3.10.8")
    {'x-queue-type': 'quorum'}
    >>> queue_arguments(Queue("shard"), "4.0.5")
    {'x-queue-type': 'quorum', 'x-delivery-limit': -1}
    >>> queue_arguments(Queue("journal", kind="stream", max_bytes=10**9, max_days=365), "4.0.5")
    {'x-queue-type': 'stream', 'x-max-length-bytes': 1000000000, 'x-max-age': '365D'}
    """
    arguments: FieldTable = {}
    if queue.kind == "quorum":
        arguments["x-queue-type"] = "quorum"
        if int(version.partition(".")[0]) >= _UNLIMITED_SINCE:
            arguments["x-delivery-limit"] = -1
    elif queue.kind == "stream":
        arguments["x-queue-type"] = "stream"
    if queue.single_active:
        arguments["x-single-active-consumer"] = True
    if queue.max_length is not None:
        arguments["x-max-length"] = queue.max_length
    if queue.max_bytes is not None:
        arguments["x-max-length-bytes"] = queue.max_bytes
    if queue.kind != "stream" and (queue.max_length or queue.max_bytes):
        arguments["x-overflow"] = "reject-publish"
    if queue.max_days is not None:
        arguments["x-max-age"] = f"{queue.max_days}D"
    if queue.segment_bytes is not None:
        arguments["x-stream-max-segment-size-bytes"] = queue.segment_bytes
    return arguments
