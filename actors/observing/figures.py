"""The figures of a worker since its start, whatever connections and leases came and went.

Plain counters, in the loop that does the work, read there as well: nothing is locked, and nothing
here knows in which form somebody wants them.  Every key is one of few: never a table, a player, a
session, a hand or a turn.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from actors.journal import Loss
from actors.observing.histogram import Histogram
from statecharts.refusals import Code

UNREAD = "unread"
"""The type of an event that could not be read, or was not: its own might be anything."""
LATENESS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
LATENCY = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
RESTORING = (0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60)
GROUP = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096)
LOOP = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)


class Taken(StrEnum):
    """What became of a delivery beside the verdicts of a shard."""

    KNOWN = "known"
    """Delivered again, and in the journal already: acknowledged unseen."""
    MOVED = "moved"
    """Sent on to its right slot."""


class Total(StrEnum):
    """What is counted as it is, without any further distinction."""

    STORMS = "storms"
    INTERRUPTIONS = "interruptions"
    REDELIVERIES = "redeliveries"
    UNROUTED = "unrouted decisions"
    GIVEN_UP = "messages given up"
    FAULTS = "faults"
    ASTRAY = "astray"
    """Applied in the wrong shard, having been moved once."""
    UNREADABLE_TICKS = "unreadable ticks"
    DISBELIEVED = "disbelieved stamps"
    """Of the broker's clock, too far ahead of ours."""
    JOURNAL_BYTES = "journal bytes"


class Reason(StrEnum):
    """Why a lease was lost, beside what the journal says (`Loss`)."""

    CONNECTION = "connection"
    JOURNAL = "journal"
    BROKER = "broker"
    FAULT = "fault"


class Figures:
    """Counters and histograms, in seconds; lateness by the clock that decides, else the loop's."""

    def __init__(self) -> None:
        """Begin with zeros, for every key that is known beforehand."""
        self.events: Counter[tuple[str, str]] = Counter()
        """By type (without `seatwarden.` and `.v1`) and verdict."""
        self.refusals: Counter[str] = Counter(dict.fromkeys(Code, 0))
        """By code."""
        self.decisions: Counter[tuple[str, str, str]] = Counter()
        """By rule, action and the policy's name."""
        self.uncovered: Counter[str] = Counter()
        """Turns that are left to the engine, by reason."""
        self.losses: Counter[str] = Counter(dict.fromkeys((*Loss, *Reason), 0))
        """Leases lost, by reason; one that is handed over is not lost."""
        self.totals: Counter[Total] = Counter(dict.fromkeys(Total, 0))
        self.made = Histogram(LATENESS)
        """From the instant at which a decision was due until it was made."""
        self.confirmed = Histogram(LATENESS)
        """From then until the broker had confirmed it, whoever had made it."""
        self.confirms = Histogram(LATENCY)
        """From publishing a message until it is confirmed."""
        self.commits = Histogram(LATENCY)
        """From writing a record of the journal until it is read back."""
        self.groups = Histogram(GROUP)
        """Deliveries in a record."""
        self.restores = Histogram(RESTORING)
        """From the first delivery of a shard until its journal is read and its seats are there."""
        self.loop = Histogram(LOOP)
        """How much later than it should the loop wakes who sleeps, if somebody measures."""

    def summary(self) -> Counter[str]:
        """Return deliveries by what became of them, and what else there was: for the log."""
        found: Counter[str] = Counter()
        for (_, verdict), count in self.events.items():
            found[verdict] += count
        found["decisions"] = sum(self.decisions.values())
        found.update({total.value: count for total, count in self.totals.items()})
        return +found
