"""A backend that is not Python: the contract, read by somebody else.

``hand.mjs`` knows the contract alone. It plays a hand against the service, and what it is told must
be what the simulator makes of the same events.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from actors import policies, simulate
from actors.shards.shard import Shard
from statecharts.decisions import DecisionMade
from tests.conftest import Broker

HERE = Path(__file__).parent
SEATWARDEN = Path(sys.executable).with_name("seatwarden")
MIN_NODE = 18
INSTALL_SECONDS = 120
HAND_SECONDS = 90  # 24 on an idle machine; it gives up by itself after 60
STOP_SECONDS = 15


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a copy of the client with its one dependency, as the lock file has it."""
    npm = _npm()
    copy: Path = tmp_path_factory.mktemp("client")
    for name in ("package.json", "package-lock.json", ".npmrc", "hand.mjs"):
        shutil.copy(HERE / name, copy)
    done = subprocess.run(
        # What an earlier run has brought is not asked of the network again.
        [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"],
        cwd=copy,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return copy


def test_a_node_backend_is_told_what_the_simulator_says_of_its_events(
    folder: Path, broker: Broker
) -> None:
    node = shutil.which("node") or ""
    sent = folder / f"{broker.node.version}.jsonl"
    with service(broker.url) as log:
        hand = subprocess.run(
            [node, "hand.mjs", broker.url, str(sent)],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=HAND_SECONDS,
            check=False,
        )
    assert hand.returncode == 0, hand.stderr

    received = [json.loads(line) for line in hand.stdout.splitlines()]
    assert by_turn(received) == by_turn(simulated(sent))

    *_, stopped = log
    assert stopped["event"] == "stopped"
    assert stopped["decisions"] == len(received)
    assert "moved" not in stopped, "an event was addressed to the wrong slot"
    assert "refused" not in stopped


@contextmanager
def service(url: str) -> Iterator[list[dict[str, Any]]]:
    """Run the service; afterwards the list holds its log, and it has exited with 0."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("SEATWARDEN_")
    }
    log: list[dict[str, Any]] = []
    with subprocess.Popen(
        [SEATWARDEN, "run", "--amqp", url],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield log
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                _, told = process.communicate(timeout=STOP_SECONDS)
            finally:
                process.kill()
    assert process.returncode == 0, told
    log.extend(json.loads(line) for line in told.splitlines())


def simulated(file: Path) -> list[dict[str, Any]]:
    with file.open("rb") as lines:
        return [
            output.cloudevent()
            for output in simulate.outputs(lines, Shard(policies.bundled()))
            if isinstance(output, DecisionMade)
        ]


def by_turn(decisions: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the decisions by their turns, without what depends on the machine's speed."""
    found: dict[str, dict[str, Any]] = {}
    for decision in decisions:
        data = {name: value for name, value in decision["data"].items() if name != "late_ms"}
        assert data["turn_id"] not in found
        found[data["turn_id"]] = {**decision, "data": data}
    return found


def _npm() -> str:
    """Return npm; without it, or with a Node.js too old, skip, but not in CI."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
        if int(version.stdout.removeprefix("v").partition(".")[0]) >= MIN_NODE:
            return npm
    reason = f"no Node.js {MIN_NODE} with npm on this machine; on Debian, tests/setup.sh brings it"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
