"""TCP ports on loopback."""

import random
import socket

LOCALHOST = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Return ports that nobody uses, below those that the system lends to outgoing connections.

    From the lent ones, a client that keeps trying while its broker is away could be given the
    broker's own port and then talk to itself.
    """
    free: list[int] = []
    while len(free) < count:
        port = random.randrange(20_000, 32_000)
        if port not in free and not is_open(port):
            free.append(port)
    return free


def is_open(port: int) -> bool:
    """Return whether somebody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex((LOCALHOST, port)) == 0
