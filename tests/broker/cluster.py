"""Several nodes that are one broker, and can be parted."""

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from tests.broker.home import NodeError, home
from tests.broker.installation import Installation
from tests.broker.nodes import Node, start

FORM_SECONDS = 60
HEAL_SECONDS = 60

# `pause_minority` is what operators of three nodes are told to set: a node that has lost the others
# sends its clients away.
_CONFIG = """
cluster_name = tests
cluster_partition_handling = pause_minority
cluster_formation.peer_discovery_backend = classic_config
"""

# The first of all looks for others, in vain, for five seconds. The rest wait for it at a lock.
_CONFIG_3_10 = """
cluster_formation.discovery_retry_limit = 1
cluster_formation.discovery_retry_interval = 100
"""


@contextmanager
def clustered(
    installation: Installation, size: int = 3, extra_config: str = ""
) -> Iterator["Cluster"]:
    """Give a started cluster with empty data; afterwards all of it is gone.

    `extra_config` are lines for every node's rabbitmq.conf.
    """
    names = [f"rabbit{number}" for number in range(1, size + 1)]
    config = _CONFIG + "".join(
        f"cluster_formation.classic_config.nodes.{number} = {name}@localhost\n"
        for number, name in enumerate(names, 1)
    )
    if installation.flavour == "3.10":
        config += _CONFIG_3_10
    with home(installation) as place:
        nodes = [Node(place, name, config + extra_config) for name in names]
        try:
            start(nodes)
            cluster = Cluster(nodes)
            cluster.wait()
            yield cluster
        finally:
            for node in nodes:
                node.kill()


class Cluster:
    """Nodes that know each other. The methods block: in an async test, call them in a thread."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes

    def others(self, node: Node) -> list[Node]:
        """Return all nodes but that one."""
        return [other for other in self.nodes if other is not node]

    def wait(self, nodes: Sequence[Node] | None = None) -> None:
        """Wait until these nodes, or all, run and see just each other; NodeError."""
        wanted = self.nodes if nodes is None else nodes
        names = sorted(node.name for node in wanted)
        running = _RUNNING[self.nodes[0].installation.flavour]

        def complete() -> bool:
            return all(_atoms(node.eval(running)) == names for node in wanted)

        _until(complete, FORM_SECONDS, f"{names} do not see just each other")

    def cut_off(self, node: Node) -> None:
        """Part a node from the others, which go on without it.

        It lives and can be evaluated in, and notices the loss at once. It pauses: it closes its
        clients' connections and takes no new ones until `heal`.
        """
        others = self.others(node)
        names = ", ".join(f"'{other.name}'" for other in others)
        # With a cookie that they do not have, neither side can reach the other again.
        node.eval(
            f"[erlang:set_cookie(Other, parted) || Other <- [{names}]],"
            f" [erlang:disconnect_node(Other) || Other <- [{names}]]"
        )
        self.wait(others)
        _until(lambda: not node.takes_clients(), FORM_SECONDS, f"{node.name} does not pause")

    def heal(self) -> None:
        """Let all nodes, which must all run, find each other again, and wait until they have."""
        for node in self.nodes:
            for other in self.others(node):
                node.eval(f"erlang:set_cookie('{other.name}', erlang:get_cookie())")
        _until(
            lambda: all(node.takes_clients() for node in self.nodes),
            HEAL_SECONDS,
            "a paused node does not come back",
        )
        self.wait()

    def leader(self, queue: str, url: str = "") -> Node:
        """Return which node leads a quorum queue or a stream, on the virtual host of `url`.

        Raises NodeError if none does.
        """
        for node in self.nodes:
            if not node.takes_clients():
                continue
            name = node.eval(_LEADER % _queue(queue, url)).strip("'")
            for led in self.nodes:
                if led.name == name and led.takes_clients():
                    return led
        raise NodeError(f"nobody leads {queue}")

    def members(self, queue: str, url: str = "") -> list[Node]:
        """Return which running nodes have a copy of a quorum queue or a stream."""
        asked = next(node for node in self.nodes if node.takes_clients())
        names = _atoms(asked.eval(_MEMBERS % _queue(queue, url)))
        return [node for node in self.nodes if node.name in names]


_RUNNING = {"3.10": "rabbit_nodes:all_running()", "4.x": "rabbit_nodes:list_running()"}

_LOOK_UP = "{ok, Q} = rabbit_amqqueue:lookup(%s), M = amqqueue:get_type(Q),"
# Who a queue remembers as its leader may be dead; its members know better.
_LEADER = (
    f"{_LOOK_UP} case M of"
    " rabbit_quorum_queue -> {Name, _} = amqqueue:get_pid(Q),"
    " case ra:members({Name, node()}, 5000) of {ok, _, {_, Node}} -> Node; _ -> none end;"
    " _ -> [{leader, Node}] = M:info(Q, [leader]), Node end"
)
_MEMBERS = f"{_LOOK_UP} [{{online, Nodes}}] = M:info(Q, [online]), Nodes"


def _queue(name: str, url: str) -> str:
    vhost = unquote(urlsplit(url).path[1:]) or "/"
    return f"rabbit_misc:r({_binary(vhost)}, queue, {_binary(name)})"


def _binary(text: str) -> str:
    return f"<<{json.dumps(text)}/utf8>>"


def _atoms(text: str) -> list[str]:
    return sorted(re.findall(r"'?(\w+@localhost)'?", text))


def _until(condition: Callable[[], bool], seconds: float, otherwise: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise NodeError(f"{otherwise} within {seconds} s")
        time.sleep(0.05)
