"""What the nodes of one cluster share: a folder, a cookie, and Erlang's directory of nodes."""

import os
import secrets
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.broker.guard import Guarded
from tests.broker.installation import Installation
from tests.broker.ports import LOCALHOST, free_ports, is_open

EPMD_SECONDS = 30
RUN_SECONDS = 30

LOOPBACK = "-kernel inet_dist_use_interface {127,0,0,1}"

# Removes the folder when the tests have ended, however they did; nodes that die with the tests may
# still be writing.
_SWEEP = """
read -r _
while [ -e "$0" ]; do rm -rf --one-file-system "$0"; sleep 0.05; done 2>/dev/null
"""


class NodeError(Exception):
    """A node did not start, or did not do what it was told; the message has its words."""


class Home:
    """Where nodes live that may become a cluster."""

    def __init__(self, installation: Installation, data: Path) -> None:
        """Use the empty folder `data`; epmd is started, `close` ends it."""
        self.installation = installation
        self.data = data
        self.inside = installation.inside(data)
        self._port = free_ports(1)[0]
        self.cookie = secrets.token_hex(16)
        file = data / ".erlang.cookie"
        file.write_text(self.cookie)
        file.chmod(0o400)
        # All of the environment: what the user has set for RabbitMQ or Erlang must not reach it.
        self.environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
            "HOME": self.inside,  # where Erlang keeps the cookie
            "ERL_EPMD_ADDRESS": LOCALHOST,
            "ERL_EPMD_PORT": str(self._port),
            "RABBITMQ_CTL_ERL_ARGS": LOOPBACK,
        }
        # In the foreground: Erlang would start a missing one as a daemon that outlives everything.
        with (data / "epmd.log").open("ab") as log:
            self._epmd = Guarded(installation.command(data, "epmd"), self.environment, log, log)
        deadline = time.monotonic() + EPMD_SECONDS
        while not is_open(self._port):
            if self._epmd.status is not None or time.monotonic() > deadline:
                self.close()
                raise NodeError(f"no epmd: {(data / 'epmd.log').read_text(errors='replace')}")
            time.sleep(0.01)

    def close(self) -> None:
        """End epmd."""
        self._epmd.kill()

    def run(self, environment: dict[str, str], *argv: str, told: str = "") -> str:
        """Run a program of the installation and return what it prints; raises NodeError."""
        try:
            done = subprocess.run(
                self.installation.command(self.data, *argv),
                env=environment,
                input=told,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=RUN_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NodeError(f"{' '.join(argv)} took too long") from None
        if done.returncode != 0:
            raise NodeError(f"{' '.join(argv)} ended with {done.returncode}: {done.stdout}")
        return done.stdout.strip()


@contextmanager
def home(installation: Installation) -> Iterator[Home]:
    """Give a place for nodes; afterwards it is gone with all that they have kept there."""
    data = tempfile.mkdtemp(prefix="seatwarden-node-")
    with subprocess.Popen(
        ["/bin/sh", "-c", _SWEEP, data], stdin=subprocess.PIPE, start_new_session=True
    ) as sweeper:
        place = Home(installation, Path(data))
        try:
            yield place
        finally:
            place.close()
            sweeper.communicate()
    assert not os.path.lexists(data)
