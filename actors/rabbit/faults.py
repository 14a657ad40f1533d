"""The client library's errors in the words of the port."""

import asyncio
import errno
import socket
import ssl

from aiormq.exceptions import (
    AMQPError,
    AuthenticationError,
    ChannelAccessRefused,
    ChannelLockedResource,
    ChannelNotFoundEntity,
    ChannelPreconditionFailed,
    InvalidFrameError,
    ProbableAuthenticationError,
)

from actors.transport import (
    CannotConnect,
    NoEntry,
    NotLetIn,
    TopologyConflict,
    TransportError,
)

GONE = (AMQPError, OSError, RuntimeError)
"""What the library raises when a connection or channel is gone; see also `is_gone`."""

_REFUSED = "connection refused, nobody listens there"
_HUNG_UP = "it hung up; is that a RabbitMQ?"
# The library keeps the broker's words to itself.
_NO_ENTRY = (
    "the broker does not let this user into the virtual host: it is unknown, or not permitted, or"
    " full; the broker's log says which"
)

_WHY: tuple[tuple[type[BaseException], str], ...] = (
    (TimeoutError, "no answer in time"),
    (ProbableAuthenticationError, "wrong user name or password ({})"),
    (AuthenticationError, "the broker and this client share no way to log in ({})"),
    (InvalidFrameError, _NO_ENTRY),
    (socket.gaierror, "the host's name was not found ({})"),
    (ssl.SSLCertVerificationError, "TLS: the broker's certificate is not accepted ({})"),
    (ssl.SSLError, "TLS failed, does that port speak it? ({})"),
    (FileNotFoundError, "a file that the address names is missing: cafile, certfile or keyfile"),
    (ConnectionRefusedError, _REFUSED),
    (ConnectionResetError, _HUNG_UP),
    (asyncio.IncompleteReadError, _HUNG_UP),
)


class NotFound(TransportError):
    """The broker has no such queue or exchange (AMQP 404)."""


def is_gone(error: Exception) -> bool:
    """Whether an error says that the connection or channel is gone.

    A connection that the broker ended without a word fails what waits with a bare Exception
    (aiormq 7.2, `FutureStore.reject_all`).
    """
    return isinstance(error, GONE) or type(error) is Exception


def words(error: BaseException | None) -> str:
    """Return what an error says of the end of a connection or channel."""
    if isinstance(error, asyncio.CancelledError):
        return "the broker gave no sign of life"
    said = [part for part in error.args if isinstance(part, str)] if error else []
    return " ".join(said) or "the broker ended the connection without a word"


def why_not_connected(error: BaseException) -> str:
    """Return why no connection came about, for whoever has to put it right."""
    cause = error.__cause__
    if f"[Errno {errno.ECONNREFUSED}]" in str(cause):  # of each address that a name stands for
        return _REFUSED
    for one in (error, cause):
        for kind, why in _WHY:
            if isinstance(one, kind):
                return why.format(words(one))
    return words(error)


def not_connected(error: BaseException, where: str) -> CannotConnect:
    """Return the port's error for a connection to `where` that did not come about."""
    kind = CannotConnect
    for one in (error, error.__cause__):
        if isinstance(one, AuthenticationError | ProbableAuthenticationError):
            kind = NotLetIn
        elif isinstance(one, InvalidFrameError):
            kind = NoEntry
    return kind(f"cannot connect to {where}: {why_not_connected(error)}")


def refused(error: AMQPError) -> TransportError:
    """Return the port's error for what the broker refused."""
    # What exists but cannot be used now, as in the second after a node's start, is called so too.
    if isinstance(error, ChannelNotFoundEntity) and words(error).startswith("NOT_FOUND - no "):
        return NotFound(words(error))
    if isinstance(error, ChannelPreconditionFailed | ChannelLockedResource):
        return TopologyConflict(words(error))
    if isinstance(error, ChannelAccessRefused):
        return TransportError(f"{words(error)}; the user lacks a permission")
    return TransportError(words(error))
