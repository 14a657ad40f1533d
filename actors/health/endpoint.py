"""Where the worker is asked how it is: the address, and the socket that listens there."""

from __future__ import annotations

import errno
import socket
from importlib.util import find_spec

NEEDS = ("prometheus_client", "starlette", "uvicorn")
"""What the extra `http` brings."""
BACKLOG = 64
MAX_PORT = 65_535


class HealthError(Exception):
    """Nobody can listen where the worker is to be asked; the message says where and why."""


def is_installed() -> bool:
    """Say whether what the extra brings is there."""
    return all(find_spec(name) is not None for name in NEEDS)


def endpoint(text: str) -> tuple[str, int]:
    """Return host and port of an address; raises ValueError, with what is wrong.

    >>> endpoint("127.0.0.1:8641"), endpoint("[::1]:8641")
    (('127.0.0.1', 8641), ('::1', 8641))
    >>> endpoint("8641")
    Traceback (most recent call last):
    ValueError: must be host:port, like 127.0.0.1:8641, [::1]:8641 or, for all to see, 0.0.0.0:8641

    Port 0 is any that is free; the log has it.
    """
    host, _, port = text.rpartition(":")
    is_number = port.isascii() and port.isdecimal() and int(port) <= MAX_PORT
    in_brackets = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if in_brackets else host
    if not is_number or not host or (":" in host) != in_brackets or set(host) & set("/@[] "):
        raise ValueError(
            "must be host:port, like 127.0.0.1:8641, [::1]:8641 or, for all to see, 0.0.0.0:8641"
        )
    return host, int(port)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raises HealthError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        is_taken = error.errno == errno.EADDRINUSE
        why = "another program listens there" if is_taken else error.strerror or str(error)
        raise HealthError(f"SEATWARDEN_HEALTH: cannot listen on {host}:{port}: {why}") from error
