"""Python's garbage collector, kept from looking through what is being restored.

A journal of a hundred thousand seats makes millions of objects, none of which is garbage: looking
through them again and again, as they become more, took two thirds of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


class _Collector:
    """There is one in a process, and there may be several that want it to rest."""

    def __init__(self) -> None:
        self._resting = 0
        self._was_enabled = True

    @contextmanager
    def rests(self) -> Iterator[None]:
        """Let it rest meanwhile; may be nested, and overlap."""
        if not self._resting:
            self._was_enabled = gc.isenabled()
            gc.disable()
        self._resting += 1
        try:
            yield
        finally:
            self._resting -= 1
            if not self._resting and self._was_enabled:
                gc.enable()


collector = _Collector()
