"""The two versions of RabbitMQ that are tested, and where on this machine they are.

3.10 is as Debian 12 ships it; 4.x is either installed or lies in the folder that ``tests/setup.sh``
prepared with Debian 13's packages.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

FLAVOURS = ("3.10", "4.x")
SCRIPTS = "/usr/lib/rabbitmq/bin"  # Debian's wrappers in /usr/sbin would become another user

_PREFIX = {"3.10": "3.10.", "4.x": "4."}

# The mounts belong to a namespace of their own and vanish with its last process, so none can be
# left behind for somebody's `rm -rf` to follow.
_ENTER = """
mount --bind /proc "$0/proc"
mount --bind /dev "$0/dev"
mount --bind "$1" "$0/mnt"
shift
exec chroot "$0" "$@"
"""


class BrokerMissingError(Exception):
    """The machine has no RabbitMQ of the wanted version; the message says how to get it."""


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
