"""The story of an open turn: what was heard, what changed, what was decided, in order.

A seat's actor keeps it beside the seat while there is a turn, and a picture takes it along, so that
a successor goes on with it.  Plain values in tuples: cheap to add to, written out only when the
turn has closed (`timeline`).  Instants are microseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from statecharts.seat import Turn

MAX_ENTRIES = 64
FIRST = MAX_ENTRIES // 2
"""The first entries, which are never left out."""

Verdict = Literal["applied", "ignored", "refused"]
Facts = Mapping[str, Any]
"""Fields of the contract, by their names; lists are tuples."""


class Input(NamedTuple):
    """An event, its stamps, and what this seat made of it.

    Of a message that never became an event `name` and `stamp` are None.
    """

    name: str | None
    id: str
    source: str
    stamp: int | None
    """`time`, by its source's clock."""
    arrival: int
    """When it reached the broker, as far as we know: what is in time is decided by this."""
    received: int | None
    """When we took it; None in virtual time."""
    reference: int
    verdict: Verdict
    line: str | None
    """The line of the table; None if it never came to the table."""
    reason: str | None
    """Of what never came to the table, or was refused: why."""
    code: str | None
    connected: bool | None
    """Of a word of presence: whether the player is connected after it."""
    facts: Facts


class Change(NamedTuple):
    """A change of state, `noticed` when if a deadline brought it."""

    at: int
    source: str
    target: str
    trigger: str
    until: int | None
    row: str
    connected: bool
    noticed: int | None
    budget_left_ms: int | None = None


class Moved(NamedTuple):
    """A deadline lay in an interruption and moved to its end."""

    at: int
    start: int | None
    end: int | None
    until: int | None


class Decision(NamedTuple):
    """What was decided for the player; `at` is the deadline."""

    at: int
    noticed: int
    action: str
    card: str | None
    rule: str
    basis: str
    connected: bool
    budget_left_ms: int | None = None
    protection_left: int | None = None


class Advised(NamedTuple):
    """What the backend is advised to do with the seat, after so many decisions in so many hands."""

    at: int
    advice: str
    when: str
    decisions: int
    hands: int


class Uncovered(NamedTuple):
    """Nothing will be decided."""

    at: int
    reason: str


Entry = Input | Change | Moved | Decision | Advised | Uncovered


class KnownSession(NamedTuple):
    """A session of the player that was known when his turn began; ids are digests."""

    id: int
    stamp: int
    since: int
    status: int


class Story(NamedTuple):
    """The story of one turn so far."""

    turn_id: str
    hand_id: str
    player_id: str
    policy: tuple[str, str]
    """Name and digest."""
    sessions: tuple[KnownSession, ...] = ()
    entries: tuple[Entry, ...] = ()
    left_out: int = 0
    """Entries of the middle that were counted and not kept."""

    def add(self, *entries: Entry) -> Story:
        """Return the story with some entries more, bounded."""
        told = (*self.entries, *entries)
        if len(told) <= MAX_ENTRIES:
            # `_replace` takes longer than all the rest, and this is done for every event.
            return Story(*self[:5], told, self.left_out)
        kept = list(told)
        while len(kept) > MAX_ENTRIES:
            middle = range(FIRST, len(kept) - 1)
            del kept[min(middle, key=lambda place: _weight(kept[place]))]
        return self._replace(entries=tuple(kept), left_out=self.left_out + len(told) - len(kept))


def of_turn(turn: Turn) -> Story:
    """Return the empty story of a turn whose beginning has not been told."""
    policy = (turn.policy.name, turn.policy.digest)
    return Story(turn.turn_id, turn.hand_id, turn.player_id, policy)


def _weight(entry: Entry) -> int:
    """Say how much an entry is worth keeping; of equals the oldest goes."""
    if not isinstance(entry, Input):
        return 2
    return int(entry.verdict == "applied")


# -- As JSON types

_KINDS: Mapping[str, type[Entry]] = {
    kind.__name__.lower(): kind for kind in (Input, Change, Moved, Decision, Advised, Uncovered)
}
_FACTS = Input._fields.index("facts")


def dump(story: Story) -> list[Any]:
    """Return a story as JSON types."""
    *names, sessions, entries, left_out = story
    told = [[type(entry).__name__.lower(), *entry] for entry in entries]
    return [*names, [list(one) for one in sessions], told, left_out]


def load(plain: list[Any]) -> Story | None:
    """Return the story that `dump` gave; None if another version wrote it in another form.

    A turn must be decided whether its story can be read or not.
    """
    try:
        turn_id, hand_id, player_id, policy, sessions, entries, left_out = plain
        known = tuple(KnownSession(*one) for one in sessions)
        told = tuple(_entry(*entry) for entry in entries)
        return Story(turn_id, hand_id, player_id, tuple(policy), known, told, left_out)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return None


def _entry(kind: str, *values: Any) -> Entry:  # noqa: ANN401 - the fields of any entry
    if _KINDS[kind] is Input:
        facts = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values[_FACTS].items()
        }
        values = (*values[:_FACTS], facts)
    return _KINDS[kind](*values)
