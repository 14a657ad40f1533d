"""When each message of a shard's queue reached the broker (README, "Time").

With the broker's stamps it is the stamp.  Without them it is when the service received it; while it
reads a backlog, it is the event's own `time`, but not before what stands before it in the queue,
the service's ticks included.  Arrivals never run backwards, unless a clock was wrong: then they
begin again, and the shard is told of an interruption.
"""

from __future__ import annotations

from statecharts.instants import MILLISECOND, SECOND

AHEAD = 2 * SECOND
"""A stamp further ahead of our clock than this is not believed."""
BEHIND = 3
"""So many ticks in a row must be far behind the last arrival for that to be wrong."""
LATE_TICK = SECOND // 5
"""A tick that is on its way for so long stands, or has stood, behind a backlog."""


class Arrivals:
    """The arrivals of one queue, in microseconds since 1970."""

    def __init__(self, mark: int, now: int, *, broker_stamps: bool) -> None:
        """`mark` is the last arrival that an earlier owner has read.

        `broker_stamps`: the broker overwrites `timestamp_in_ms`, so that it can be believed.
        """
        self._broker_stamps = broker_stamps
        self.mark = mark
        """The last arrival."""
        self.has_stepped_back = mark > now + AHEAD
        """The last arrival was ahead of the time: whoever asks sets it back."""
        if self.has_stepped_back:
            self.mark = now
        self._behind = 0
        self.disbelieved = 0
        """How many stamps were too far ahead of our clock."""
        self._tick_sent: int | None = None
        self._reads_backlog = True
        """Until a tick is back in good time."""

    def tick_sent(self, sent: int) -> None:
        """The one tick in the queue has been sent (again)."""
        if self._tick_sent is None:
            self._tick_sent = sent

    def of_tick(
        self, sent: int, stamp_in_ms: object, now: int, *, ours: bool, awaited: int | None = None
    ) -> int:
        """Return the arrival of a tick.

        `ours`: this lease has sent it.  `awaited` is when the oldest that is still on its way was.
        """
        if ours:
            self._tick_sent = awaited
            self._reads_backlog = now - sent > LATE_TICK
        believed = self._believed(stamp_in_ms, now)
        time = now if believed is None else believed
        if ours:
            self._behind = self._behind + 1 if time < self.mark - AHEAD else 0
        if self._behind >= BEHIND:
            self.mark, self._behind, self.has_stepped_back = time, 0, True
        return self._marked(min(sent, now) if believed is None else believed)

    def of_event(self, stamp: int, stamp_in_ms: object, now: int) -> int:
        """Return the arrival of an event with the `time` `stamp`, received `now`."""
        believed = self._believed(stamp_in_ms, now)
        if believed is not None:
            return self._marked(believed)
        late = self._tick_sent is not None and now > self._tick_sent + LATE_TICK
        return self._marked(min(stamp, now) if self._reads_backlog or late else now)

    def pass_over(self, stamp_in_ms: object, now: int) -> None:
        """Take note of the stamp of a message that is not applied: time is that far all the same.

        A later copy of what is known another owner may have had to take, with the same answer.
        """
        self._marked(self._believed(stamp_in_ms, now) or 0)

    def _believed(self, stamp_in_ms: object, now: int) -> int | None:
        if not self._broker_stamps or not isinstance(stamp_in_ms, int):
            return None
        if stamp_in_ms * MILLISECOND > now + AHEAD:
            self.disbelieved += 1
            return now
        return stamp_in_ms * MILLISECOND

    def _marked(self, arrival: int) -> int:
        self.mark = max(self.mark, arrival)
        return self.mark
