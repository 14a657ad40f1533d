"""The port `actors.transport` on RabbitMQ 3.10 to 4.x: the only package that speaks AMQP."""

from actors.rabbit.address import redacted
from actors.rabbit.connection import RabbitConnection, RabbitTransport

__all__ = ["RabbitConnection", "RabbitTransport", "redacted"]
