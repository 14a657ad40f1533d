"""Publishing dead letters again, as the events that they were.

A letter is acknowledged when a shard's queue has its event.  Who dies in between leaves both, and
the event may come twice: that changes nothing, as with every event.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from actors.broker.topology import EVENTS
from actors.letters.letter import Letter
from actors.letters.wanted import Wanted
from actors.transport import Connection, Consumer, Message, Published
from actors.work.messages import REDRIVEN
from statecharts.events import decode
from statecharts.guards import STALE_AFTER
from statecharts.lines import Trigger
from statecharts.refusals import Code, Refusal

MAY_GET_BETTER = frozenset({Code.FAILED, Code.UNKNOWN_CARD})
"""What was refused for another reason is refused again, unless somebody has changed something."""


class Plan(NamedTuple):
    """What is to become of the letters that are meant."""

    to_send: list[Letter]
    """In the order in which they were refused."""
    hopeless: list[tuple[Letter, str]]
    """Those of them that will be refused again, and why."""
    skipped: list[tuple[Letter, str]]
    """Those that are left where they lie, and why."""


class Stopped(Exception):
    """A letter could not be published; it and all behind it lie where they lay."""


def planned(letters: Iterable[Letter], wanted: Wanted, now: int, *, again: bool) -> Plan:
    """Say which letters are to be redriven; `now` in microseconds since 1970."""
    plan = Plan([], [], [])
    for letter in sorted(letters, key=_order):
        certain = refused_again(letter, now)
        if letter.redriven and not again:
            times = "once" if letter.redriven == 1 else f"{letter.redriven} times"
            plan.skipped.append((letter, f"redriven {times} already: --again if it is to be"))
        elif not wanted.names_them and letter.code not in MAY_GET_BETTER:
            why = "does not get better by itself: --code or --id if it is to be"
            plan.skipped.append((letter, f"{letter.code or 'without a code'} {why}"))
        elif certain and not wanted.names_them:
            why = "would be refused again: --code or --id if it is to be"
            plan.skipped.append((letter, f"{certain}, it {why}"))
        else:
            plan.to_send.append(letter)
            if certain:
                plan.hopeless.append((letter, certain))
    return plan


def refused_again(letter: Letter, now: int) -> str | None:
    """Say why a letter is bound to be refused again; None if it may be taken."""
    try:
        event = decode(letter.body)
    except Refusal as refusal:
        return str(refusal.code)
    if event.name is Trigger.TURN_STARTED and event.stamp < now - STALE_AFTER:
        return str(Code.STALE)
    return None


async def redrive(connection: Connection, consumer: Consumer, letters: Iterable[Letter]) -> int:
    """Publish letters that `consumer` holds, one after the other; returns how many.

    One is acknowledged when it is confirmed, and before the next is published: so the events of a
    table keep their order, whatever happens.  Raises Stopped, ConnectionLost.
    """
    done = 0
    for letter in letters:
        headers = {REDRIVEN: letter.redriven + 1}
        message = Message(EVENTS, letter.routing_key, letter.body, headers=headers)
        answer = await connection.publish(message)
        if answer is Published.RETURNED:
            raise Stopped(
                f"{done} redriven; no queue takes events with the key {letter.routing_key}:"
                " `seatwarden topology check` tells what is missing"
            )
        if answer is Published.NACKED:
            raise Stopped(f"{done} redriven; a shard's queue takes no more: try again later")
        await consumer.acknowledge(letter.tag)
        done += 1
    return done


def _order(letter: Letter) -> tuple[int, int]:
    """Return a letter's place in time: the queue has those last that went in late."""
    return letter.instant or 0, letter.tag
