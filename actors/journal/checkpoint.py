"""The rolling checkpoint: from which offset on the records of a journal give the whole picture.

Each record carries, beside what has changed, some of what was written longest ago.  So the picture
is never written as a whole, and what lies before the oldest entry is not needed any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from itertools import islice

from actors.shards.deadlines import SeatKey

Entry = SeatKey | str
"""A seat, or a table by its id."""

AT_LEAST = 8
"""How many old entries go with each record; with a large one, as many as it has of its own."""
KEYS_EVERY = 64
"""Each so many records carry all the keys that are kept, not only their own."""


class Checkpoint:
    """Where each entry, each unsent message and the keys were last written."""

    def __init__(self) -> None:
        """Begin with nothing written."""
        self._entries: dict[Entry, int] = {}
        """In the order of their offsets."""
        self._unsent: deque[tuple[int, int]] = deque()
        """The last number of a record's outbox, and its offset."""
        self._keys_from: int | None = None
        self._since_keys = 0

    @property
    def wants_all_keys(self) -> bool:
        """Whether the next record is to carry all keys."""
        return self._keys_from is None or self._since_keys >= KEYS_EVERY

    def oldest(self, changed: Collection[Entry]) -> list[Entry]:
        """Return what to write along with the entries that have changed."""
        many = max(AT_LEAST, len(changed))
        first = islice(self._entries, many + len(changed))
        return [entry for entry in first if entry not in changed][:many]

    def complete_from(
        self, writing: Collection[Entry], sent_through: int, *, all_keys: bool
    ) -> int | None:
        """Return from where on the picture is complete once these entries are written anew.

        None: from that record itself on.
        """
        offsets = (
            next((at for entry, at in self._entries.items() if entry not in writing), None),
            next((at for last, at in self._unsent if last > sent_through), None),
            None if all_keys else self._keys_from,
        )
        return min((at for at in offsets if at is not None), default=None)

    def written(
        self,
        at: int,
        entries: Iterable[Entry],
        gone: Iterable[Entry],
        outbox: int,
        sent_through: int,
        *,
        all_keys: bool,
    ) -> None:
        """Take note of a record that counts: its offset, and the last number of its outbox or 0."""
        for entry in entries:
            self._entries.pop(entry, None)
            self._entries[entry] = at
        for entry in gone:
            self._entries.pop(entry, None)
        if outbox:
            self._unsent.append((outbox, at))
        while self._unsent and self._unsent[0][0] <= sent_through:
            self._unsent.popleft()
        self._since_keys += 1
        if all_keys:
            self._keys_from, self._since_keys = at, 0
