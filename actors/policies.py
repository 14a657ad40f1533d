"""Policy files: the bundled ones, and those that an operator names.  The only reader of them."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from pydantic import ValidationError

from actors import policy_faults
from statecharts.policy import Policies, Policy
from statecharts.wording import faults

DEFAULT = "adda52"


class PolicyError(Exception):
    """A policy that cannot be used; the message names file, key and reason."""


def bundled() -> Policies:
    """Return the policies that come with the product."""
    folder = resources.files("statecharts") / "policies"
    policies = [
        parse(file.read_text("utf-8"), file.name)
        for file in folder.iterdir()
        if file.name.endswith(".yaml")
    ]
    return Policies({policy.name: policy for policy in policies}, DEFAULT)


def find(name_or_path: str, beside: Path | None = None) -> Policies:
    """Return the bundled policies with the named one, or that of a file, as the default.

    A path is looked up from the folder `beside` if one is given; raises PolicyError.
    """
    policies = bundled()
    if name_or_path in policies.by_name:
        return Policies(policies.by_name, name_or_path)
    path = (beside or Path()) / name_or_path
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        known = ", ".join(sorted(policies.by_name))
        msg = f"{name_or_path}: no bundled policy ({known}) and no file that can be read: {error}"
        raise PolicyError(msg) from None
    return with_default(parse(text, str(path)))


def with_default(policy: Policy) -> Policies:
    """Return the bundled policies and one more, which is the default."""
    return Policies({**bundled().by_name, policy.name: policy}, policy.name)


def parse(text: str, file: str) -> Policy:
    """Read a policy file's text; raises PolicyError."""
    policy, found = policy_faults.read(text)
    if policy is None:
        raise PolicyError(f"{file}: {'; '.join(map(str, found))}")
    return policy


def build(keys: object, file: str) -> Policy:
    """Make a policy from its keys; raises PolicyError."""
    if not isinstance(keys, dict):
        msg = f"{file}: a policy is a mapping of keys, such as `buffer_seconds: 3`"
        raise PolicyError(msg)
    try:
        return Policy.model_validate(keys)
    except ValidationError as error:
        msg = f"{file}: {'; '.join(faults(error, 'policy'))}"
        raise PolicyError(msg) from None
