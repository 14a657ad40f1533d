"""Child processes that do not outlive the tests, however those end."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

# The watchdog's pipe closes when the tests end. It has a session of its own, so that it wakes up
# even when all that it watches is frozen.
_GUARDED = """
exec 3<&0 </dev/null
setsid sh -c 'read -r _ <&3; kill -s KILL -- "-$0" 2>/dev/null' $$ &
exec 3<&-
exec "$@"
"""


class Guarded:
    """A program with all that it starts, as one group: signals reach all of it."""

    def __init__(
        self, argv: Sequence[str], environment: Mapping[str, str], out: IO[bytes], err: IO[bytes]
    ) -> None:
        """Start it, without input."""
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _GUARDED, "sh", *argv],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )

    @property
    def status(self) -> int | None:
        """With what it ended, negative for a signal; None while it runs."""
        return self._process.poll()

    def terminate(self) -> None:
        """Ask the program, and not what it started, to end."""
        self._process.terminate()

    def hang_up(self) -> None:
        """Send the program, and not what it started, SIGHUP."""
        self._process.send_signal(signal.SIGHUP)

    def wait(self, seconds: float) -> int:
        """Return its status when it has ended; subprocess.TimeoutExpired."""
        return self._process.wait(seconds)

    def freeze(self) -> None:
        """Stop all of it in the middle of whatever it does; its connections stay open."""
        os.killpg(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on after `freeze`."""
        os.killpg(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End all of it as `kill -9` does, whatever has ended or is frozen already."""
        with suppress(ProcessLookupError):  # none of it is left
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
