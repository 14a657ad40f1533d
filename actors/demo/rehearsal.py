"""The demo in virtual time: engine and shard in turns, no broker and no waiting."""

from __future__ import annotations

from collections.abc import Iterator

from actors.demo.engine import Engine
from actors.demo.sent import Sent
from actors.shards.shard import Shard
from statecharts.decisions import DecisionMade, Output
from statecharts.events import decode


def rehearse(engine: Engine, shard: Shard) -> Iterator[Sent | Output]:
    """Play everything; yields what is sent and what is published, in order of time."""
    while True:
        due, at = shard.deadlines.next(), engine.next()
        if due is not None and (at is None or due[0] < at):
            outputs = shard.fire(due[0] + 1)
        elif at is not None:
            sent = engine.move()
            if sent is None:
                continue
            yield sent
            outputs = shard.apply(decode(sent.message.body), at).outputs
        else:
            return
        for output in outputs:
            if isinstance(output, DecisionMade):
                engine.decide(output.data())
        yield from outputs
