"""What is wrong with an input, in words for who wrote it: where, and what it must be."""

from __future__ import annotations

from pydantic import ValidationError


def faults(error: ValidationError, root: str) -> list[str]:
    """Return `place: what is wrong` for each fault; `root` names the whole.

    What was sent is not repeated: it may be a secret.
    """
    return [
        f"{'.'.join(map(str, fault['loc'])) or root}: {fault['msg'].removeprefix('Value error, ')}"
        for fault in error.errors(include_url=False, include_input=False)
    ]
