"""The actor of one seat: it owns the seat's state and takes one message at a time.

Its mailbox is its place in the shard's queue: the shard hands it what concerns it, in that order.
"""

from __future__ import annotations

from statecharts import kernel
from statecharts.decisions import Output
from statecharts.events import Event
from statecharts.kernel import Outcome
from statecharts.policy import Policy
from statecharts.seat import Seat
from statecharts.step import Interrupted, WakeUp
from statecharts.surroundings import Interruption, Surroundings


class SeatActor:
    """One seat.  Whatever raises leaves it as it was."""

    __slots__ = ("seat", "touched")

    def __init__(self, seat: Seat, touched: int) -> None:
        """`touched` is the arrival of the last message, in microseconds since 1970."""
        self.seat = seat
        self.touched = touched

    def tell(
        self, event: Event, arrival: int, reference: int, policy: Policy, around: Surroundings
    ) -> Outcome:
        """Take an event; raises Refusal."""
        self.touched = arrival
        return self._kept(kernel.step(self.seat, event, arrival, reference, policy, around))

    def wake(self, due: int, made: int, policy: Policy, around: Surroundings) -> Outcome:
        """Take the deadline that is due; it takes effect at its own instant."""
        return self._kept(kernel.step(self.seat, WakeUp(due, made), due, due, policy, around))

    def interrupt(
        self, interruption: Interruption, at: int, policy: Policy, around: Surroundings
    ) -> Outcome:
        """Take an interruption: a deadline in it moves to its end."""
        return self._kept(kernel.step(self.seat, Interrupted(interruption), at, at, policy, around))

    def abandon(self, at: int) -> tuple[Output, ...]:
        """Give up an open turn that a fault of ours keeps us from deciding."""
        outcome = kernel.abandon(self.seat, at)
        return self._kept(outcome).outputs if outcome else ()

    def _kept(self, outcome: Outcome) -> Outcome:
        self.seat = outcome.seat
        return outcome
