"""Policy files on disk, one or a folder of them: what they say, and all that is wrong with them."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import NamedTuple

from actors import policy_faults
from statecharts.policy import Policy

SUFFIXES = (".yaml", ".yml")


class FileFault(NamedTuple):
    """One thing that is wrong with a file, or with the folder that `file` names.

    Where it is not about a line, `line` is 0 and `key` is empty.
    """

    file: str
    line: int
    key: str
    reason: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: {self.key}" if self.line else self.file
        return f"{place}: {self.reason}"


class PolicyFile(NamedTuple):
    """A file, the policy that it holds, and the line in which it says its name."""

    path: Path
    policy: Policy
    line: int

    def clashes_with(self, other: PolicyFile) -> FileFault:
        """Return what is wrong with it where another file has a policy of the same name."""
        name = self.policy.name
        reason = f"{name} is the policy in {other.path} already, and a name stands for one file"
        return FileFault(str(self.path), self.line, "name", reason)


class Folder(NamedTuple):
    """A folder of policy files: those that can be used, and what is wrong with it."""

    files: tuple[PolicyFile, ...]
    faults: tuple[FileFault, ...]


def read_file(path: Path) -> tuple[PolicyFile | None, tuple[FileFault, ...]]:
    """Read a policy file, or tell all that is wrong with it."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return None, (_unreadable(path, error),)
    policy, found = policy_faults.read(text)
    faults = tuple(FileFault(str(path), *fault) for fault in found)
    if policy is None:
        return None, faults
    return PolicyFile(path, policy, policy_faults.line_of("name", text)), faults


def read_folder(folder: Path) -> Folder:
    """Read the policy files of a folder, in the order of their names.

    Those in folders below it, hidden ones (editors leave such) and other kinds of files are none of
    them.  A name that an earlier file has is a fault: which of the two counts would be chance.
    """
    files: dict[str, PolicyFile] = {}
    faults: list[FileFault] = []
    try:
        paths = sorted(path for path in folder.iterdir() if _is_meant(path))
    except OSError as error:
        return Folder((), (_unreadable(folder, error),))
    for path in paths:
        file, found = _read_without_waiting(path)
        faults += found
        if file is not None:
            other = files.setdefault(file.policy.name, file)
            if other is not file:
                faults.append(file.clashes_with(other))
    return Folder(tuple(files.values()), tuple(faults))


def _is_meant(path: Path) -> bool:
    return path.suffix in SUFFIXES and not path.name.startswith(".") and not path.is_dir()


def _read_without_waiting(path: Path) -> tuple[PolicyFile | None, tuple[FileFault, ...]]:
    """Read a file, but no pipe: nobody might ever write to it."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None, (FileFault(str(path), 0, "", "cannot be read: it is no file"),)
    except OSError as error:
        return None, (_unreadable(path, error),)
    return read_file(path)


def _unreadable(path: Path, error: OSError | UnicodeDecodeError) -> FileFault:
    reason = error.strerror if isinstance(error, OSError) else f"it is not UTF-8: {error.reason}"
    return FileFault(str(path), 0, "", f"cannot be read: {reason}")
