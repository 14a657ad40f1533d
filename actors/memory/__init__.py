"""A broker in this process: no network, no disk, no chance and no time but the clock it is given.

It behaves as RabbitMQ does with durable quorum queues, redelivery and refusals included, and passes
the same contract tests (`tests/contract`).  Tests make it misbehave with the levers of
`MemoryBroker`.
"""

from actors.memory.broker import MemoryBroker
from actors.memory.client import MemoryConnection, MemoryTransport
from actors.memory.consumer import MemoryConsumer

__all__ = ["MemoryBroker", "MemoryConnection", "MemoryConsumer", "MemoryTransport"]
