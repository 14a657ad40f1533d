"""Private RabbitMQ nodes: started for tests, on loopback, gone without a trace afterwards.

A node may be killed, frozen, restarted and looked into; nothing else on the machine notices.
"""

import itertools
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pamqp.commands
import pamqp.frame

from tests.broker.guard import Guarded
from tests.broker.home import LOOPBACK, Home, NodeError, home
from tests.broker.installation import SCRIPTS, Installation
from tests.broker.ports import LOCALHOST, free_ports, is_open

START_SECONDS = 90  # 6 on an idle machine; a busy one gets its time
STOP_SECONDS = 30

_CONFIG = """
disk_free_limit.absolute = 50MB
log.file = false
log.console = true
log.console.level = warning
"""

# What operators are told to set: the broker, not the publisher, says when a message arrived.
_CONFIG_4 = "message_interceptors.incoming.set_header_timestamp.overwrite = true\n"

_calls = itertools.count(1)


@contextmanager
def running(installation: Installation, extra_config: str = "") -> Iterator["Node"]:
    """Give a started node with empty data; afterwards both are gone.

    `extra_config` are lines for rabbitmq.conf.
    """
    with home(installation) as place:
        node = Node(place, extra_config=extra_config)
        try:
            node.start()
            yield node
        finally:
            node.kill()


class Node:
    """One RabbitMQ node. The methods block: in an async test, call the slow ones in a thread."""

    def __init__(self, place: Home, name: str = "rabbit", extra_config: str = "") -> None:
        """Prepare a node that keeps everything in `place`; its ports stay the same for life."""
        self.name = f"{name}@localhost"
        self.installation = place.installation
        self.version = ""
        self._home = place
        self._data = place.data / name
        self._port, distribution = free_ports(2)
        self._process: Guarded | None = None
        self._vhosts = itertools.count(1)

        self._data.mkdir()
        config = _CONFIG + (_CONFIG_4 if self.installation.flavour == "4.x" else "")
        (self._data / "rabbitmq.conf").write_text(config + extra_config)
        (self._data / "enabled_plugins").write_text("[].\n")
        inside = f"{place.inside}/{name}"
        self._environment = {
            **place.environment,
            "RABBITMQ_NODENAME": self.name,
            "RABBITMQ_NODE_IP_ADDRESS": LOCALHOST,
            "RABBITMQ_NODE_PORT": str(self._port),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": LOOPBACK,
            "RABBITMQ_MNESIA_BASE": f"{inside}/mnesia",
            "RABBITMQ_LOG_BASE": f"{inside}/log",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{inside}/enabled_plugins",
            "RABBITMQ_CONFIG_FILE": f"{inside}/rabbitmq.conf",
            "RABBITMQ_ADVANCED_CONFIG_FILE": f"{inside}/none.config",
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "ERL_CRASH_DUMP": f"{inside}/erl_crash.dump",
        }

    def __repr__(self) -> str:
        return f"Node({self.name!r})"

    @property
    def port(self) -> int:
        """Where clients connect."""
        return self._port

    @property
    def url(self) -> str:
        """The address of the node's default virtual host."""
        return f"amqp://guest:guest@{LOCALHOST}:{self._port}/"

    def start(self) -> None:
        """Start the node and wait until it takes connections; NodeError when it does not."""
        start([self])

    def launch(self) -> None:
        """Start the node and wait for nothing."""
        assert self._process is None
        command = self.installation.command(self._home.data, f"{SCRIPTS}/rabbitmq-server")
        with self._log.open("ab") as log:
            self._process = Guarded(command, self._environment, log, log)

    def wait(self, deadline: float) -> None:
        """Wait until the node takes connections; NodeError when it does not."""
        assert self._process is not None
        while True:
            try:
                self.version = _greeting(self._port)
            except OSError:
                ended = self._process.status
                if ended is None and time.monotonic() < deadline:
                    time.sleep(0.05)
                    continue
                why = "took too long" if ended is None else f"ended with {ended}"
                msg = f"{self.name} {why}; its last words:\n{self._last_words()}"
                raise NodeError(msg) from None
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
        process.kill()
        # The broker itself is the script's child, not ours: it is gone when its port is.
        while is_open(self._port):
            time.sleep(0.01)

    def freeze(self) -> None:
        """Stop the node in the middle of what it does: its connections stay, and nobody answers."""
        assert self._process is not None
        self._process.freeze()

    def thaw(self) -> None:
        """Let a frozen node go on."""
        assert self._process is not None
        self._process.thaw()

    def takes_clients(self) -> bool:
        """Return whether the node greets who connects: it runs, neither frozen nor paused."""
        try:
            _greeting(self._port)
        except OSError:
            return False
        return True

    def restart(self) -> None:
        """Stop the node and start it again with the same ports and data."""
        self.stop()
        self.start()

    def eval(self, expression: str) -> str:
        """Evaluate Erlang in the node and return the value as text; takes some milliseconds.

        Raises NodeError when Erlang does.
        """
        me = f"test-{os.getpid()}-{next(_calls)}"  # two callers of one name would get in their way
        call = ("erl_call", "-h", me, "-n", self.name, "-c", self._home.cookie, "-e")
        answer = self._home.run(self._environment, *call, told=f"{expression}.\n")
        if not answer.startswith("{ok, "):
            raise NodeError(f"{expression}: {answer}")
        return answer.removeprefix("{ok, ").removesuffix("}")

    def ctl(self, *arguments: str) -> str:
        """Run rabbitmqctl and return what it prints; takes a second. Raises NodeError."""
        argv = (f"{SCRIPTS}/rabbitmqctl", "--quiet", *arguments)
        return self._home.run(self._environment, *argv)

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
    def alarm(self, resource: Literal["memory", "disk"] = "memory") -> Iterator[None]:
        """Let the node believe that its memory or disk is used up: it blocks all who publish."""
        alarm = f"{{resource_limit, {resource}, node()}}"
        self.eval(f"rabbit_alarm:set_alarm({{{alarm}, []}})")
        try:
            yield
        finally:
            self.eval(f"rabbit_alarm:clear_alarm({alarm})")

    @contextmanager
    def consumer_timeout(self, seconds: float) -> Iterator[None]:
        """Let channels be closed that keep a delivery for so long; holds for channels yet to open.

        The broker looks every minute, whatever `consumer_timeout` says, and no line of
        rabbitmq.conf changes that; here it looks every second.
        """
        wanted = {"consumer_timeout": round(seconds * 1000), "channel_tick_interval": 1000}
        before = {
            key: self.eval(f"element(2, application:get_env(rabbit, {key}))") for key in wanted
        }
        try:
            for key, value in wanted.items():
                self.eval(f"application:set_env(rabbit, {key}, {value})")
            yield
        finally:
            for key, old in before.items():
                self.eval(f"application:set_env(rabbit, {key}, {old})")

    @property
    def _log(self) -> Path:
        return self._data / "node.log"

    def _last_words(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-30:])


def start(nodes: Sequence[Node]) -> None:
    """Start nodes together and wait until all take connections; if one does not, none runs."""
    deadline = time.monotonic() + START_SECONDS
    try:
        for node in nodes:
            node.launch()
        for node in nodes:
            node.wait(deadline)
    except BaseException:
        for node in nodes:
            node.kill()
        raise


def _greeting(port: int) -> str:
    """Return the version with which a broker greets; OSError as long as there is none.

    RabbitMQ opens its port last of all, so who is greeted may go on.
    """
    with socket.create_connection((LOCALHOST, port), timeout=1) as connection:
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
