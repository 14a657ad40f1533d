"""Recorded events: one CloudEvent a line in order of arrival, as `seatwarden simulate` reads them.

What depends on the policy of the day is taken out here: the policy that a turn named.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from statecharts.events import Event, decode
from statecharts.lines import Trigger
from statecharts.refusals import Refusal

Format = Literal["cash", "tournament"]


class RecordingError(Exception):
    """Events that cannot be replayed; the message names file, line and reason."""


@dataclass(frozen=True, slots=True)
class Stimulus:
    """One event, when it arrives (microseconds since 1970), and its line in the file."""

    event: Event
    arrival: int
    line: int


def read(lines: Iterable[bytes], file: str, as_format: Format | None = None) -> list[Stimulus]:
    """Read all events of a file; `as_format` stands for the format that its turns name.

    A message arrives at its attribute `arrival`, else at its `time`, but never before the one that
    stands before it.  Raises RecordingError for a line that is no event of ours, and where there
    is no turn at all.
    """
    stimuli: list[Stimulus] = []
    now, turns = 0, 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            event = decode(line.strip())
        except Refusal as refusal:
            raise RecordingError(f"{file}:{number}: {refusal.code}: {refusal.detail}") from None
        now = max(now, event.stamp if event.arrival is None else event.arrival)
        if event.name is Trigger.TURN_STARTED:
            event = _for_any_policy(event, as_format)
            turns += 1
        stimuli.append(Stimulus(event, now, number))
    if not turns:
        raise RecordingError(f"{file}: no turn.started in it: there is nothing to compare")
    return stimuli


def _for_any_policy(event: Event, as_format: Format | None) -> Event:
    """Have a start name no policy: that of the replay is the default."""
    changed = {"policy": None, **({"format": as_format} if as_format else {})}
    return replace(event, data=event.data.model_copy(update=changed))
