"""The port's messages as AMQP has them."""

from aiormq.abc import DeliveredMessage
from pamqp.commands import Basic

from actors.transport import Delivery, Message

_PERSISTENT = 2
_OFFSET = "x-stream-offset"


def properties(message: Message) -> Basic.Properties:
    """Return the properties to publish a message with."""
    return Basic.Properties(
        content_type=message.content_type,
        delivery_mode=_PERSISTENT,
        expiration=None if message.expires is None else str(round(message.expires * 1_000)),
        headers=dict(message.headers),
        message_id=message.id,
        message_type=message.kind,
    )


def delivery(received: DeliveredMessage) -> Delivery:
    """Return what was received; headers that are neither text nor numbers are left out."""
    sent_with = received.header.properties
    headers = dict(sent_with.headers or {})
    offset = headers.pop(_OFFSET, None)
    return Delivery(
        tag=received.delivery_tag or 0,
        exchange=received.exchange or "",
        routing_key=received.routing_key or "",
        body=received.body,
        redelivered=bool(received.redelivered),
        kind=sent_with.message_type,
        headers={name: value for name, value in headers.items() if isinstance(value, str | int)},
        offset=offset if isinstance(offset, int) else None,
    )
