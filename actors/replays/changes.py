"""Two replays of one record beside each other: which turns end otherwise, and how long was waited.

Durations are in microseconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import NamedTuple

from actors.replays.endings import Answer, Ending, Kind, Met, Replayed, TurnKey

HandKey = tuple[str, str]
"""Table id and hand id."""


class Spread(NamedTuple):
    """Middle, average and extremes of some durations, which may be negative."""

    number: int
    median: float
    mean: float
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Pair:
    """A turn, and how it ends under the one policy and under the other."""

    met: Met
    """As it was seen by the replay that kept it open for longer."""
    one: Ending
    other: Ending

    @property
    def later(self) -> int:
        """By how much the other ending comes later."""
        return self.other.at - self.one.at

    @property
    def is_same(self) -> bool:
        """Whether the answer is the same, whenever it comes."""
        return self.one.answer == self.other.answer

    @property
    def is_covered(self) -> bool:
        """Whether both policies cover the turn."""
        return Kind.UNCOVERED not in (self.one.answer.kind, self.other.answer.kind)


@dataclass(frozen=True, slots=True)
class Change:
    """All turns that end with one answer under the one policy, with another under the other."""

    one: Answer
    other: Answer
    turns: Mapping[TurnKey, Pair]

    @property
    def later(self) -> Spread | None:
        """By how much the other ending comes later; None where one policy does not cover them."""
        return spread(pair.later for pair in self.turns.values() if pair.is_covered)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Per hand, for how long its table waits beyond the turns' own time, time banks included.

    Turns that one of the policies does not cover are left out under both.
    """

    one: Mapping[HandKey, int]
    other: Mapping[HandKey, int]

    @property
    def added(self) -> dict[HandKey, int]:
        """What the other policy adds to each hand; below 0 it saves."""
        return {hand: self.other[hand] - waited for hand, waited in self.one.items()}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What there is to tell of two replays."""

    turns: Mapping[TurnKey, Pair]
    changes: Sequence[Change]
    """The most frequent first."""
    waiting: Waiting
    refused: Sequence[tuple[int, str]]

    @property
    def with_absence(self) -> int:
        """Turns during which somebody was away while one of the policies had them open."""
        return sum(pair.met.is_with_absence for pair in self.turns.values())

    @property
    def changed(self) -> int:
        """Turns whose answer changes."""
        return sum(len(change.turns) for change in self.changes)

    @property
    def decided_alone(self) -> tuple[int, int]:
        """How many turns one policy decides while the player acts himself under the other.

        He was back, and acted, within time that only the other gives him.  First those that the one
        policy decides, then the reverse.
        """
        kinds = [(pair.one.answer.kind, pair.other.answer.kind) for pair in self.turns.values()]
        return kinds.count((Kind.DECIDED, Kind.ACTED)), kinds.count((Kind.ACTED, Kind.DECIDED))

    @property
    def is_uncovered(self) -> bool:
        """Whether neither policy covers any of the turns."""
        return all(
            pair.one.answer.kind is pair.other.answer.kind is Kind.UNCOVERED
            for pair in self.turns.values()
        )

    @property
    def moved(self) -> list[int]:
        """By how much answers that stay the same come later, or earlier, where they do."""
        return [pair.later for pair in self.turns.values() if pair.is_same and pair.later]

    def answers(self) -> list[tuple[Answer, int, int]]:
        """Return each answer with how often it is given under either, the most frequent first."""
        counts: dict[Answer, list[int]] = defaultdict(lambda: [0, 0])
        for pair in self.turns.values():
            counts[_without_card(pair.one.answer)][0] += 1
            counts[_without_card(pair.other.answer)][1] += 1
        told = [(answer, one, other) for answer, (one, other) in counts.items()]
        return sorted(told, key=lambda entry: (-entry[1] - entry[2], str(entry[0])))


def compare(one: Replayed, other: Replayed) -> Comparison:
    """Put two replays of the same events beside each other."""
    turns = {
        key: Pair(_longer(met, other.turns[key]), one.endings[key], other.endings[key])
        for key, met in one.turns.items()
    }
    kinds: dict[tuple[Answer, Answer], dict[TurnKey, Pair]] = defaultdict(dict)
    for key, pair in turns.items():
        if not pair.is_same:
            answers = _without_card(pair.one.answer), _without_card(pair.other.answer)
            kinds[answers][key] = pair
    changes = [Change(*answers, found) for answers, found in kinds.items()]
    changes.sort(key=lambda change: (-len(change.turns), str(change.one), str(change.other)))
    return Comparison(turns, changes, _waiting(one, other), one.refused)


def spread(durations: Iterable[int]) -> Spread | None:
    """Sum durations up; None if there are none."""
    found = sorted(durations)
    return Spread(len(found), median(found), mean(found), found[0], found[-1]) if found else None


def hand_of(met: Met) -> HandKey:
    """Return the hand of a turn."""
    return met.event.table_id, met.data.hand_id


def _waiting(one: Replayed, other: Replayed) -> Waiting:
    by_hand: dict[HandKey, list[int]] = {}
    for key, met in one.turns.items():
        sums = by_hand.setdefault(hand_of(met), [0, 0])
        waited = one.waited(key), other.waited(key)
        if waited[0] is not None and waited[1] is not None:
            sums[0] += waited[0]
            sums[1] += waited[1]
    return Waiting(
        {hand: sums[0] for hand, sums in by_hand.items()},
        {hand: sums[1] for hand, sums in by_hand.items()},
    )


def _longer(one: Met, other: Met) -> Met:
    return other if len(other.presence) > len(one.presence) else one


def _without_card(answer: Answer) -> Answer:
    """Tell all discards by one rule together, whatever card goes."""
    return answer._replace(card="")
