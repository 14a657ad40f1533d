"""Whether the broker stamps what it takes in, whether that is believed, and what its clock says."""

from __future__ import annotations

import asyncio

from actors.doctor.finding import Finding, Level, Patient
from actors.doctor.permissions import a_queue
from actors.doctor.versions import STAMPING, numbers
from actors.transport import Connection, Delivery, Message
from actors.work.arrivals import AHEAD
from statecharts.instants import MILLISECOND, SECOND

STAMP = "timestamp_in_ms"
FORGED = 1
"""What a publisher might put there: a broker that is to be believed writes over it."""
NOTICED = SECOND // 2
"""So much is said of two clocks; the service bears up to `AHEAD`."""
INTERCEPTOR = "message_interceptors.incoming.set_header_timestamp.overwrite = true"
WEAKER = (
    "whether an action was in time is decided by when a worker receives it, so `the same events"
    " give the same decisions` holds only to within the time for which a worker was slow or away"
)


async def check_stamps(connection: Connection, patient: Patient) -> list[Finding]:
    """Send ourselves a message and see what the broker made of it."""
    queue = await a_queue(connection)
    arrived: asyncio.Queue[Delivery] = asyncio.Queue()
    await connection.consume(queue, arrived.put_nowait, prefetch=1)
    before = patient.clock.now()
    await connection.publish(Message("", queue, b"", headers={STAMP: FORGED}))
    delivery = await arrived.get()
    after = patient.clock.now()
    stamp = delivery.headers.get(STAMP)
    if not isinstance(stamp, int) or stamp == FORGED:
        return [_without(connection.broker_version, patient), _CANNOT_TELL]
    return [_with(patient), _compared(stamp, before, after)]


def _without(version: str, patient: Patient) -> Finding:
    can_stamp = (numbers(version) or (0, 0)) >= STAMPING
    how = f"rabbitmq.conf: {INTERCEPTOR}; then SEATWARDEN_BROKER_STAMPS=true"
    to_do = how if can_stamp else f"upgrade to RabbitMQ 3.12 or later, {how}"
    if patient.settings.broker_stamps:
        told = "SEATWARDEN_BROKER_STAMPS is true, but this broker leaves what a publisher has put"
        to_do = f"SEATWARDEN_BROKER_STAMPS=false, or in rabbitmq.conf {INTERCEPTOR}"
        return Finding("stamps", Level.FAULT, f"{told} into {STAMP}: anybody's is believed", to_do)
    return Finding("stamps", Level.WARNING, f"the broker stamps nothing: {WEAKER}", to_do)


def _with(patient: Patient) -> Finding:
    if patient.settings.broker_stamps:
        return Finding("stamps", Level.OK, "the broker stamps each message, and is believed")
    told = f"the broker stamps each message, but we are told not to believe it: {WEAKER}"
    return Finding("stamps", Level.WARNING, told, "SEATWARDEN_BROKER_STAMPS=true for every worker")


def _compared(stamp: int, before: int, after: int) -> Finding:
    """Compare clocks: a stamp in whole milliseconds, ours (microseconds) before and after it."""
    first, last = stamp * MILLISECOND, (stamp + 1) * MILLISECOND
    off = before - last if before > last else first - after if first > after else 0
    told = f"our clock is {off / SECOND:.1f} s {'ahead of' if before > last else 'behind'}"
    to_do = "synchronise the clocks of all workers and of the broker (NTP)"
    if off > AHEAD:
        return Finding("clock", Level.FAULT, f"{told} the broker's: stamps are not usable", to_do)
    if off > NOTICED:
        return Finding("clock", Level.WARNING, f"{told} the broker's", to_do)
    return Finding("clock", Level.OK, "ours and the broker's agree")


_CANNOT_TELL = Finding(
    "clock",
    Level.WARNING,
    "cannot be told: without stamps there is nothing to compare ours with",
    "see that all machines keep their clocks by NTP, as with `timedatectl`",
)
