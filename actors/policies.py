"""The policies at hand: the bundled ones, a folder of an operator's, and the one that is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from actors import policy_faults, policy_files
from actors.documents import Document, Place
from actors.policy_files import FileFault, PolicyFile
from statecharts.policy import Policies, Policy

DEFAULT = "adda52"


class PolicyError(Exception):
    """Policies that cannot be used; the message has a line for each fault: file, key, reason."""

    def __init__(self, found: Sequence[FileFault]) -> None:
        """`found` is all that is wrong."""
        super().__init__("\n".join(map(str, found)))
        self.faults = tuple(found)


@cache  # those of the program that runs, should an upgrade change the files under it
def bundled() -> Policies:
    """Return the policies that come with the product."""
    folder = resources.files("statecharts") / "policies"
    policies = [
        parse(file.read_text("utf-8"), file.name)
        for file in folder.iterdir()
        if file.name.endswith(".yaml")
    ]
    return Policies({policy.name: policy for policy in policies}, DEFAULT)


def own(folder: Path | None) -> Mapping[str, PolicyFile]:
    """Return the policies of an operator's folder, if there is one, by name; raises PolicyError."""
    found = policy_files.Folder((), ()) if folder is None else policy_files.read_folder(folder)
    if found.faults:
        raise PolicyError(found.faults)
    return {file.policy.name: file for file in found.files}


def find(name_or_path: str, folder: Path | None = None, *, beside: Path | None = None) -> Policies:
    """Return the policies at hand with the named one, or that of a file, as the default.

    At hand are the bundled ones and those of `folder`, which stand for bundled ones of the same
    names.  A path is looked up from the folder `beside` if one is given, and its policy stands for
    whichever has the same name.  Raises PolicyError.
    """
    return _with_default(name_or_path, own(folder), beside)[0]


def for_service(name_or_path: str, folder: Path | None = None) -> Policies:
    """Do the same for turns that may name any of them: no two files may have the same name."""
    known = own(folder)
    found, file = _with_default(name_or_path, known, None)
    other = known.get(found.default.name)
    if file and other and file.path.resolve() != other.path.resolve():
        raise PolicyError([file.clashes_with(other)])
    return found


def with_default(policy: Policy, folder: Path | None = None) -> Policies:
    """Return the policies at hand and one more, which is the default; raises PolicyError."""
    return _with(policy, _at_hand(own(folder)))


def _with_default(
    name_or_path: str, known: Mapping[str, PolicyFile], beside: Path | None
) -> tuple[Policies, PolicyFile | None]:
    """Return the policies with the named default, and its file where a path was given."""
    at_hand = _at_hand(known)
    if name_or_path in at_hand:
        return Policies(at_hand, name_or_path), None
    file, found = policy_files.read_file((beside or Path()) / name_or_path)
    if file is not None:
        return _with(file.policy, at_hand), file
    if not found[0].line:  # it is no file at all: a name was meant
        names = ", ".join(sorted(at_hand))
        reason = f"there is no such policy ({names}), and as a file it {found[0].reason}"
        found = (FileFault(name_or_path, 0, "", reason),)
    raise PolicyError(found)


def _with(policy: Policy, at_hand: Mapping[str, Policy]) -> Policies:
    return Policies({**at_hand, policy.name: policy}, policy.name)


def _at_hand(known: Mapping[str, PolicyFile]) -> Mapping[str, Policy]:
    return {**bundled().by_name, **{name: file.policy for name, file in known.items()}}


def parse(text: str, file: str) -> Policy:
    """Read a policy file's text; raises PolicyError."""
    policy, found = policy_faults.read(text)
    if policy is None:
        raise PolicyError([FileFault(file, *fault) for fault in found])
    return policy


def written_in(document: Document, within: Place, file: str) -> Policy:
    """Return the policy that is written out within a document; raises PolicyError."""
    policy, found = policy_faults.of_document(document, within)
    if policy is None:
        raise PolicyError([FileFault(file, *fault) for fault in found])
    return policy
