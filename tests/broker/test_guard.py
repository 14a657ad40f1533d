"""Nothing outlives the tests, however they end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.broker.installation import FLAVOURS
from tests.broker.service import ROOT
from tests.conftest import installed

# Tests that are killed while all that they have started is frozen.
_KILLED = """
import os, signal, sys
from tests.broker.home import home
from tests.broker.installation import find
from tests.broker.nodes import Node
with home(find(sys.argv[1])) as place:
    node = Node(place)
    node.start()
    node.freeze()
    print(place.data, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def _mentioning(folder: str) -> list[str]:
    """Return the processes that have the folder in their environment or command line."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            told = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
        except OSError:
            continue  # it has ended meanwhile
        if folder.encode() in told:
            found.append(process.name)
    return found


@pytest.mark.broker
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_killed_tests_leave_nothing(flavour: str) -> None:
    installed(flavour)
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, flavour],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    folder = killed.stdout.strip()
    deadline = time.monotonic() + 20
    while (left := (_mentioning(folder), Path(folder).exists())) != ([], False):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
