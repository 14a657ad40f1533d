"""Pictures of a shard: what it knows, or what of it has changed, and their form as JSON types.

A picture shares the shard's values, which are replaced and never changed in place: taking one
copies nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from actors.deadlines import SeatKey
from statecharts import seat as seats
from statecharts.policy import Policy
from statecharts.presence import Reset
from statecharts.seat import Seat
from statecharts.surroundings import Interruption, Table

Value = TypeVar("Value")


class Known(NamedTuple, Generic[Value]):
    """A value, and when something last arrived for it (microseconds since 1970)."""

    value: Value
    touched: int


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


def dump(picture: Picture) -> dict[str, Any]:
    """Return a whole picture as JSON types."""
    return {
        "seats": [
            {"touched": known.touched, **seats.dump(known.value)}
            for known in picture.seats.values()
            if known is not None
        ],
        "tables": [
            [
                table_id,
                known.touched,
                list(known.value.ended_hands),
                [*map(list, known.value.closings)],
            ]
            for table_id, known in picture.tables.items()
            if known is not None
        ],
        "resets": [list(reset) for reset in picture.resets],
        "interruptions": [list(one) for one in picture.interruptions],
        "seq_floor": picture.seq_floor,
        "swept": picture.swept,
        "mark": picture.mark,
    }


def load(plain: Mapping[str, Any], policies: Mapping[str, Policy]) -> Picture:
    """Return the picture that `dump` gave; raises SnapshotError (see `seat.load`)."""
    found = [(seats.load(seat, policies), seat["touched"]) for seat in plain["seats"]]
    return Picture(
        {(seat.table_id, seat.number): Known(seat, touched) for seat, touched in found},
        {
            table_id: Known(Table(tuple(ended), tuple(map(tuple, closings))), touched)
            for table_id, touched, ended, closings in plain["tables"]
        },
        tuple(Reset(*reset) for reset in plain["resets"]),
        tuple(Interruption(*one) for one in plain["interruptions"]),
        plain["seq_floor"],
        plain["swept"],
        plain["mark"],
    )
