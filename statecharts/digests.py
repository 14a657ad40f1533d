"""Digests of ids: what a seat remembers of turns, sessions and players that it need not name."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b


@lru_cache(maxsize=4096)  # sources and players recur in every message
def short(text: str) -> int:
    """Return 64 bits of an id: enough to know it again among the few that a seat remembers."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())


def long(*parts: object) -> str:
    """Return 128 bits in hex: an id that the same parts always give.

    >>> long("a", 1) == long("a", 1) != long("a1")
    True
    """
    text = "".join(f"{len(str(part))}:{part}" for part in parts)
    return blake2b(text.encode(), digest_size=16).hexdigest()
