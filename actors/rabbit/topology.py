"""The port's queues, exchanges and bindings as AMQP has them."""

from aiormq.abc import AbstractChannel
from aiormq.exceptions import AMQPChannelError
from pamqp.common import FieldTable

from actors.rabbit.faults import refused
from actors.transport import Queue, Topology

_UNLIMITED_SINCE = 4
"""From this major version on, a quorum queue drops a message after 20 returns unless told."""


async def declare(channel: AbstractChannel, topology: Topology, version: str) -> None:
    """Declare all of it on a broker of that version.

    Raises TopologyConflict, and TransportError for what else the broker refuses; either closes the
    channel.
    """
    try:
        await _declare(channel, topology, version)
    except AMQPChannelError as error:
        raise refused(error) from None


def queue_arguments(queue: Queue, version: str) -> FieldTable:
    """Return a queue's arguments, which cannot be changed once it exists.

    The delivery limit is never to bite.  Without the argument RabbitMQ 3.x returns a message for
    ever; 4.0 does so with -1, which 3.10 takes for "once".

    >>> queue_arguments(Queue("shard"), "3.10.8")
    {'x-queue-type': 'quorum'}
    >>> queue_arguments(Queue("shard"), "4.0.5")
    {'x-queue-type': 'quorum', 'x-delivery-limit': -1}
    """
    arguments: FieldTable = {}
    if queue.kind == "quorum":
        arguments["x-queue-type"] = "quorum"
        if int(version.partition(".")[0]) >= _UNLIMITED_SINCE:
            arguments["x-delivery-limit"] = -1
    if queue.single_active:
        arguments["x-single-active-consumer"] = True
    if queue.max_length is not None:
        arguments["x-max-length"] = queue.max_length
        arguments["x-overflow"] = "reject-publish"
    return arguments


async def _declare(channel: AbstractChannel, topology: Topology, version: str) -> None:
    for exchange in topology.exchanges:
        await channel.exchange_declare(exchange.name, exchange_type=exchange.kind, durable=True)
    for queue in topology.queues:
        private = queue.kind == "private"
        await channel.queue_declare(
            queue.name,
            durable=not private,
            exclusive=private,
            auto_delete=private,
            arguments=queue_arguments(queue, version),
        )
    for binding in topology.bindings:
        await channel.queue_bind(binding.queue, binding.exchange, binding.key)
