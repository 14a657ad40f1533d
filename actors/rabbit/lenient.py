"""Reading what publishers may have put into a message besides its body.

RabbitMQ passes on any bytes as a routing key or a property.  The library's decoder ends the
connection over those that are no UTF-8 or no date, and again at each redelivery: one such message
would stop all decisions for ever.  What we live on is the body, so nothing else of a message may
cost more than itself.
"""

import struct
from collections.abc import Callable

from pamqp import decode
from pamqp.commands import Basic


def read_leniently() -> None:
    """Have the library replace what is no UTF-8, and leave out properties that cannot be read."""
    decode.METHODS["shortstr"] = _short_str
    setattr(Basic.Properties, "unmarshal", _lenient(Basic.Properties.unmarshal))  # noqa: B010 - mypy


def _short_str(value: bytes) -> tuple[int, str]:
    try:
        end = struct.unpack_from("B", value)[0] + 1
    except struct.error as error:
        raise ValueError("a short string is cut off") from error
    return end, value[1:end].decode("utf-8", errors="replace")


def _lenient(
    strict: Callable[[Basic.Properties, int, bytes], None],
) -> Callable[[Basic.Properties, int, bytes], None]:
    def unmarshal(properties: Basic.Properties, flags: int, data: bytes) -> None:
        try:
            strict(properties, flags, data)
        except Exception:  # noqa: BLE001 - whatever it is, the message is there
            Basic.Properties.__init__(properties)

    return unmarshal
