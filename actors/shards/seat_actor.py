"""The actor of one seat: it owns the seat's state and takes one message at a time.

Its mailbox is its place in the shard's queue: the shard hands it what concerns it, in that order.
"""

from __future__ import annotations

from actors.stories.story import Story
from statecharts import kernel
from statecharts.events import Event
from statecharts.kernel import Outcome
from statecharts.policy import Policy
from statecharts.seat import Seat
from statecharts.step import Interrupted, WakeUp
from statecharts.surroundings import Surroundings


class SeatActor:
    """One seat.  Whatever raises leaves it as it was."""

    __slots__ = ("seat", "story", "touched")

    def __init__(self, seat: Seat, touched: int, story: Story | None = None) -> None:
        """`touched` is the arrival of the last message, in microseconds since 1970."""
        self.seat = seat
        self.touched = touched
        self.story = story
        """Of its turn, if stories are told: see `teller`."""

    def tell(
        self, event: Event, arrival: int, reference: int, policy: Policy, around: Surroundings
    ) -> Outcome:
        """Take an event; raises Refusal."""
        self.touched = arrival
        return self._kept(kernel.step(self.seat, event, arrival, reference, policy, around))

    def wake(self, wake_up: WakeUp, policy: Policy, around: Surroundings) -> Outcome:
        """Take the deadline that is due; it takes effect at its own instant."""
        due = wake_up.due
        return self._kept(kernel.step(self.seat, wake_up, due, due, policy, around))

    def interrupt(
        self, interrupted: Interrupted, at: int, policy: Policy, around: Surroundings
    ) -> Outcome:
        """Take an interruption: a deadline in it moves to its end."""
        return self._kept(kernel.step(self.seat, interrupted, at, at, policy, around))

    def abandon(self, at: int) -> Outcome | None:
        """Give up an open turn that a fault of ours keeps us from deciding; None if none is."""
        outcome = kernel.abandon(self.seat, at)
        return self._kept(outcome) if outcome else None

    def _kept(self, outcome: Outcome) -> Outcome:
        self.seat = outcome.seat
        return outcome
