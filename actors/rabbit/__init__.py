"""The port `actors.transport` on RabbitMQ 3.10 to 4.x: the only package that speaks AMQP."""

import logging

from actors.rabbit.connection import RabbitConnection, RabbitTransport
from actors.rabbit.lenient import read_leniently

__all__ = ["RabbitConnection", "RabbitTransport"]

read_leniently()
# What goes wrong is raised, in our words; the library's own lines would stand between those of the
# log, tracebacks included.
logging.getLogger("aiormq").addHandler(logging.NullHandler())
logging.getLogger("aio_pika").addHandler(logging.NullHandler())
