"""The same machine in virtual time: events in order of arrival, deadlines at their instants.

For programs (`seatwarden simulate`): CloudEvents in, one per line, CloudEvents out, one per line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from actors.shards.shard import Shard, refused
from statecharts.decisions import Output
from statecharts.digests import long
from statecharts.events import decode
from statecharts.refusals import Refusal

_FOR_EVER = 1 << 62


def run(lines: Iterable[bytes], shard: Shard) -> Iterator[bytes]:
    """Play messages, one CloudEvent a line, and all deadlines after them; yields lines.

    A message arrives at its extension attribute `arrival`, else at its `time`, but never before the
    one that stands before it: the order of the lines is the order of arrival.  Blank lines are
    skipped.
    """
    for output in outputs(lines, shard):
        yield output.encoded() + b"\n"


def outputs(lines: Iterable[bytes], shard: Shard) -> Iterator[Output]:
    """Do the same, yielding outputs; raises an error of ours if the shard has met one."""
    now = 0
    for line in lines:
        if not line.strip():
            continue
        try:
            event = decode(line.strip())
        except Refusal as refusal:
            yield refused(refusal, now, long(line.hex()))
            continue
        now = max(now, event.stamp if event.arrival is None else event.arrival)
        yield from shard.fire(now)
        yield from shard.apply(event, now).outputs
    yield from shard.fire(_FOR_EVER)
    if shard.faults:
        raise shard.faults[0]
