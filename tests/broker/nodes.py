"""Private RabbitMQ nodes: started for tests, on loopback, gone without a trace afterwards.

A node may be killed, restarted and looked into; nothing else on the machine notices. Two versions
are tested: 3.10 as Debian 12 ships it, and 4.x, which is either installed or runs from the folder
that ``tests/setup.sh`` prepared with Debian 13's packages.
"""

import itertools
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pamqp.commands
import pamqp.frame

FLAVOURS = ("3.10", "4.x")
START_SECONDS = 90  # 6 on an idle machine; a busy one gets its time
STOP_SECONDS = 30

_PREFIX = {"3.10": "3.10.", "4.x": "4."}
_SCRIPTS = "/usr/lib/rabbitmq/bin"  # Debian's wrappers in /usr/sbin would become another user
_LOCALHOST = "127.0.0.1"

# First, a watchdog: its pipe closes when the tests end, however they end, and it takes the group
# along. Then epmd, Erlang's directory of nodes, in the foreground: Erlang would start a missing one
# as a daemon, which outlives everything.
_BOOT = f"""
exec 3<&0 </dev/null
{{ read -r _ <&3; kill -KILL 0; }} &
epmd &
until epmd -names >/dev/null 2>&1; do sleep 0.05; done
exec {_SCRIPTS}/rabbitmq-server
"""

# The mounts belong to a namespace of their own and vanish with its last process, so none can be
# left behind for somebody's `rm -rf` to follow.
_ENTER = """
mount --bind /proc "$0/proc"
mount --bind /dev "$0/dev"
mount --bind "$1" "$0/mnt"
shift
exec chroot "$0" "$@"
"""

_CONFIG = """
disk_free_limit.absolute = 50MB
log.file = false
log.console = true
log.console.level = warning
"""

# What operators are told to set: the broker, not the publisher, says when a message arrived.
_CONFIG_4 = "message_interceptors.incoming.set_header_timestamp.overwrite = true\n"


class BrokerMissingError(Exception):
    """The machine has no RabbitMQ of the wanted version; the message says how to get it."""


class NodeError(Exception):
    """The node did not start, or did not do what it was told; the message has its words."""


@dataclass(frozen=True)
class Installation:
    """A RabbitMQ on this machine, in ``/`` or in a folder that holds another system."""

    flavour: str
    root: Path

    def command(self, data: Path, *argv: str) -> list[str]:
        """Return the command line for a program of this installation that works on ``data``."""
        if self.root == Path("/"):
            return list(argv)
        return ["unshare", "--mount", "sh", "-ec", _ENTER, str(self.root), str(data), *argv]

    def inside(self, data: Path) -> str:
        """Return the path by which the installation's programs know ``data``."""
        return str(data) if self.root == Path("/") else "/mnt"


def find(flavour: str) -> Installation:
    """Return the installation of that flavour.

    Raises BrokerMissingError when there is none, or none that may be used by this user.
    """
    default = Path.home() / ".cache" / "seatwarden"
    folder = Path(os.environ.get("SEATWARDEN_TEST_CACHE") or default) / "rabbitmq-4"
    for root in (Path("/"), folder):
        if any(root.glob(f"usr/lib/rabbitmq/lib/rabbitmq_server-{_PREFIX[flavour]}*")):
            if root == folder and (os.geteuid() != 0 or not shutil.which("unshare")):
                msg = f"RabbitMQ {flavour} in {folder} needs root and unshare (util-linux)"
                raise BrokerMissingError(msg)
            return Installation(flavour, root)
    msg = f"no RabbitMQ {flavour} on this machine; as root on Debian, tests/setup.sh brings it"
    raise BrokerMissingError(msg)


@contextmanager
def running(installation: Installation) -> Iterator["Node"]:
    """Give a started node with empty data; afterwards both are gone."""
    with tempfile.TemporaryDirectory(prefix="seatwarden-node-") as data:
        node = Node(installation, Path(data))
        try:
            node.start()
            yield node
        finally:
            node.kill()


class Node:
    """One RabbitMQ node. The methods block: in an async test, call the slow ones in a thread."""

    def __init__(self, installation: Installation, data: Path) -> None:
        """Prepare a node that keeps everything in ``data``; its ports stay the same for life."""
        self.installation = installation
        self.version = ""
        self._data = data
        self._port, distribution, epmd = _free_ports(3)
        self._process: subprocess.Popen[bytes] | None = None
        self._vhosts = itertools.count(1)

        config = _CONFIG + (_CONFIG_4 if installation.flavour == "4.x" else "")
        (data / "rabbitmq.conf").write_text(config)
        (data / "enabled_plugins").write_text("[].\n")
        inside = installation.inside(data)
        loopback = "-kernel inet_dist_use_interface {127,0,0,1}"
        # All of the environment: what the user has set for RabbitMQ or Erlang must not reach it.
        self._environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
            "HOME": inside,  # where Erlang keeps the cookie
            "ERL_EPMD_ADDRESS": _LOCALHOST,
            "ERL_EPMD_PORT": str(epmd),
            "RABBITMQ_NODENAME": "rabbit@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": _LOCALHOST,
            "RABBITMQ_NODE_PORT": str(self._port),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": loopback,
            "RABBITMQ_CTL_ERL_ARGS": loopback,
            "RABBITMQ_MNESIA_BASE": f"{inside}/mnesia",
            "RABBITMQ_LOG_BASE": f"{inside}/log",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{inside}/enabled_plugins",
            "RABBITMQ_CONFIG_FILE": f"{inside}/rabbitmq.conf",
            "RABBITMQ_ADVANCED_CONFIG_FILE": f"{inside}/none.config",
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
        }

    @property
    def url(self) -> str:
        """The address of the node's default virtual host."""
        return f"amqp://guest:guest@{_LOCALHOST}:{self._port}/"

    def start(self) -> None:
        """Start the node and wait until it takes connections; NodeError when it does not."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self.installation.command(self._data, "sh", "-c", _BOOT),
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.version = _greeting(self._port)
            except OSError:
                ended = self._process.poll()
                if ended is None and time.monotonic() < deadline:
                    time.sleep(0.05)
                    continue
                self.kill()
                why = "took too long" if ended is None else f"ended with {ended}"
                raise NodeError(f"the node {why}; its last words:\n{self._last_words()}") from None
            return

    def stop(self) -> None:
        """End the node as an operator does; what it holds is kept."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(STOP_SECONDS)
            self.kill()

    def kill(self) -> None:
        """End the node as `kill -9` does; a node that does not run stays as it is."""
        process, self._process = self._process, None
        if process is None:
            return
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        # The broker itself is the shell's child, not ours: it is gone when its port is.
        while _is_open(self._port):
            time.sleep(0.01)

    def restart(self) -> None:
        """Stop the node and start it again with the same ports and data."""
        self.stop()
        self.start()

    def eval(self, expression: str) -> str:
        """Evaluate Erlang in the node and return the value as text; takes some milliseconds.

        Raises NodeError when Erlang does.
        """
        cookie = (self._data / ".erlang.cookie").read_text()
        call = ("erl_call", "-n", "rabbit@localhost", "-c", cookie, "-e")
        answer = self._run(*call, told=f"{expression}.\n")
        if not answer.startswith("{ok, "):
            raise NodeError(f"{expression}: {answer}")
        return answer.removeprefix("{ok, ").removesuffix("}")

    def ctl(self, *arguments: str) -> str:
        """Run rabbitmqctl and return what it prints; takes a second. Raises NodeError."""
        return self._run(f"{_SCRIPTS}/rabbitmqctl", "--quiet", *arguments)

    @contextmanager
    def vhost(self) -> Iterator[str]:
        """Give the address of a new virtual host; afterwards it is gone with all it held."""
        name = f"test-{next(self._vhosts)}"
        all_of_it = ", ".join(['<<".*">>'] * 3)
        self.eval(
            f'ok = rabbit_vhost:add(<<"{name}">>, <<"tests">>),'
            f' ok = rabbit_auth_backend_internal:set_permissions(<<"guest">>, <<"{name}">>,'
            f' {all_of_it}, <<"tests">>)'
        )
        try:
            yield self.url + name
        finally:
            self.eval(f'rabbit_vhost:delete(<<"{name}">>, <<"tests">>)')

    @contextmanager
    def alarm(self) -> Iterator[None]:
        """Let the node believe that its memory is used up: it blocks all who publish."""
        resource = "{resource_limit, memory, node()}"
        self.eval(f"rabbit_alarm:set_alarm({{{resource}, []}})")
        try:
            yield
        finally:
            self.eval(f"rabbit_alarm:clear_alarm({resource})")

    @property
    def _log(self) -> Path:
        return self._data / "node.log"

    def _last_words(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-30:])

    def _run(self, *argv: str, told: str = "") -> str:
        done = subprocess.run(
            self.installation.command(self._data, *argv),
            env=self._environment,
            input=told,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=STOP_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise NodeError(f"{' '.join(argv)} ended with {done.returncode}: {done.stdout}")
        return done.stdout.strip()


def _free_ports(count: int) -> list[int]:
    """Return ports that nobody uses, below those that the system lends to outgoing connections.

    From the lent ones, a client that keeps trying while its broker is away could be given the
    broker's own port and then talk to itself.
    """
    free: list[int] = []
    while len(free) < count:
        port = random.randrange(20_000, 32_000)
        if port not in free and not _is_open(port):
            free.append(port)
    return free


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((_LOCALHOST, port)) == 0


def _greeting(port: int) -> str:
    """Return the version with which a broker greets; OSError as long as there is none.

    RabbitMQ opens its port last of all, so who is greeted may go on.
    """
    with socket.create_connection((_LOCALHOST, port), timeout=5) as connection:
        connection.sendall(b"AMQP\x00\x00\x09\x01")
        received = b""
        while not received.endswith(b"\xce"):  # the octet that ends a frame
            more = connection.recv(65536)
            if not more:
                raise ConnectionResetError
            received += more
    _, _, start = pamqp.frame.unmarshal(received)
    if not isinstance(start, pamqp.commands.Connection.Start):
        raise ConnectionResetError
    return str(start.server_properties["version"])
