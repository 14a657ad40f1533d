"""Pictures of a shard: what it knows, or what of it has changed, and their form as JSON types.

A picture shares the shard's values, which are replaced and never changed in place: taking one
copies nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from actors.shards.deadlines import SeatKey
from actors.stories import story as stories
from actors.stories.story import Story
from statecharts import seat as seats
from statecharts.accounts import Account
from statecharts.policy import Policy
from statecharts.presence import Reset
from statecharts.seat import Seat
from statecharts.storms import Storm
from statecharts.surroundings import Interruption
from statecharts.tables import Pause, ProtectionReset, Table

Value = TypeVar("Value")


class Known(NamedTuple, Generic[Value]):
    """A value, and when something last arrived for it (microseconds since 1970)."""

    value: Value
    touched: int
    story: Story | None = None
    """Of a seat's turn, where stories are told."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A shard's seats and tables (None: dropped), and its own facts, which are always complete."""

    seats: Mapping[SeatKey, Known[Seat] | None]
    tables: Mapping[str, Known[Table] | None]
    resets: tuple[Reset, ...] = ()
    interruptions: tuple[Interruption, ...] = ()
    seq_floor: int = 0
    swept: int = 0
    mark: int = 0
    storms: tuple[Storm, ...] = ()


def dump(picture: Picture) -> dict[str, Any]:
    """Return a whole picture, fit for JSON."""
    return {
        "seats": [dump_seat(known) for known in picture.seats.values() if known is not None],
        "tables": [
            dump_table(table_id, known)
            for table_id, known in picture.tables.items()
            if known is not None
        ],
        **dump_facts(picture),
    }


def load(plain: Mapping[str, Any], policies: Mapping[str, Policy]) -> Picture:
    """Return the picture that `dump` gave; raises SnapshotError (see `seat.load`)."""
    known = [load_seat(seat, policies) for seat in plain["seats"]]
    return load_facts(
        plain,
        {(one.value.table_id, one.value.number): one for one in known},
        dict(load_table(table) for table in plain["tables"]),
    )


def dump_seat(known: Known[Seat]) -> tuple[Any, ...]:
    """Return one seat, fit for JSON."""
    story = None if known.story is None else stories.dump(known.story)
    return known.touched, story, seats.dump(known.value)


def load_seat(plain: Sequence[Any], policies: Mapping[str, Policy]) -> Known[Seat]:
    """Return the seat that `dump_seat` gave; raises SnapshotError (see `seat.load`)."""
    touched, story, snapshot = plain
    known = None if story is None else stories.load(story)
    return Known(seats.load(snapshot, policies), touched, known)


def seat_of(plain: Sequence[Any]) -> SeatKey:
    """Return whose seat `dump_seat` gave."""
    _, table_id, number, *_ = plain[2]
    return table_id, number


def dump_table(table_id: str, known: Known[Table]) -> tuple[Any, ...]:
    """Return one table, fit for JSON."""
    return table_id, known.touched, *known.value


def load_table(plain: Sequence[Any]) -> tuple[str, Known[Table]]:
    """Return the table that `dump_table` gave."""
    table_id, touched, ended, closings, pauses, accounts, resets = plain
    facts = Table(
        ended_hands=tuple(ended),
        closings=tuple(map(tuple, closings)),
        pauses=tuple(Pause(*pause) for pause in pauses),
        accounts=tuple(map(_account, accounts)),
        protection_resets=tuple(ProtectionReset(*reset) for reset in resets),
    )
    return table_id, Known(facts, touched)


def _account(plain: Sequence[Any]) -> Account:
    account = Account(*plain)
    return account._replace(protected=tuple(account.protected), advised=tuple(account.advised))


def dump_facts(picture: Picture) -> dict[str, Any]:
    """Return the shard's own facts, fit for JSON."""
    return {
        "resets": picture.resets,
        "interruptions": picture.interruptions,
        "seq_floor": picture.seq_floor,
        "swept": picture.swept,
        "mark": picture.mark,
        "storms": picture.storms,
    }


def load_facts(
    plain: Mapping[str, Any],
    seats: Mapping[SeatKey, Known[Seat] | None],
    tables: Mapping[str, Known[Table] | None],
) -> Picture:
    """Return the picture of these seats and tables with the facts that `dump_facts` gave."""
    return Picture(
        seats,
        tables,
        tuple(Reset(*reset) for reset in plain["resets"]),
        tuple(Interruption(*one) for one in plain["interruptions"]),
        plain["seq_floor"],
        plain["swept"],
        plain["mark"],
        tuple(Storm(*storm) for storm in plain["storms"]),
    )
