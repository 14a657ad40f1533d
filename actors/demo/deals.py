"""Which hands are played at which table, and how much of each."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

from actors.demo.game import Game
from actors.demo.records import CRAZY_PINEAPPLE, Record


@dataclass(frozen=True, slots=True)
class Deal:
    """A hand to play: from its start, or with some turns played as recorded before it is shown."""

    record: Record
    skip: int = 0
    moments: int | None = None
    """Stop after so many turns; None plays the hand to its end."""

    @property
    def is_partial(self) -> bool:
        """Whether not all of it is shown."""
        return self.moments is not None

    def game(self) -> Game:
        """Begin the hand, up to where it is to be shown."""
        game = Game(self.record)
        for _ in range(self.skip):
            for turn in game.next():
                game.play_record(turn)
        return game


Deals = list[list[Deal]]
"""The hands of each table, in order."""


def shuffled(records: Sequence[Record], tables: int, chance: random.Random) -> Deals:
    """Deal all hands in an order drawn by chance, but those of Crazy Pineapple early."""
    pineapple = [record for record in records if record.variant == CRAZY_PINEAPPLE]
    others = [record for record in records if record.variant != CRAZY_PINEAPPLE]
    chance.shuffle(others)
    shares = [others[table::tables] for table in range(tables)]
    for number, record in enumerate(pineapple):
        shares[number % tables].insert(number % 2, record)
    return [[Deal(record) for record in share] for share in shares if share]


def all_of(records: Sequence[Record], tables: int) -> Deals:
    """Deal all hands."""
    return _shared(records, tables)


def every_turn(records: Sequence[Record]) -> Deals:
    """Give each turn of each record a table of its own, where the hand ends with that turn.

    So each turn is met as the record has it, whatever was decided at the others.
    """
    return [
        [Deal(record, skip, moments=1)] for record in records for skip in range(_length(record))
    ]


def _shared(records: Sequence[Record], tables: int) -> Deals:
    """Share hands out so that the tables end at about the same time."""
    shares: Deals = [[] for _ in range(min(tables, len(records)))]
    turns = [0] * len(shares)
    lengths = [(_length(record), record) for record in records]
    for length, record in sorted(lengths, key=itemgetter(0), reverse=True):
        least = turns.index(min(turns))
        shares[least].append(Deal(record))
        turns[least] += length
    return shares


def _length(record: Record) -> int:
    """How many turns a hand has, as recorded."""
    game, length = Game(record), 0
    while turns := game.next():
        for turn in turns:
            game.play_record(turn)
        length += 1
    return length
