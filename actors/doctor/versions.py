"""The broker's version, and what we can have of it."""

from __future__ import annotations

import re

from actors.doctor.finding import Finding, Level, Patient
from actors.transport import Connection

OLDEST = (3, 10)
STAMPING = (3, 12)
"""From here on RabbitMQ can stamp messages with `timestamp_in_ms`."""


def numbers(version: str) -> tuple[int, int] | None:
    """Return a version's first two numbers; None if it has none.

    >>> numbers("3.10.8"), numbers("4.1.0-rc.1"), numbers("unknown")
    ((3, 10), (4, 1), None)
    """
    match = re.match(r"(\d{1,9})\.(\d{1,9})", version, re.ASCII)
    return (int(match[1]), int(match[2])) if match else None


async def check_version(connection: Connection, _: Patient) -> list[Finding]:
    """Say whether the broker is new enough."""
    version = connection.broker_version
    found = numbers(version)
    if found is None:
        told = f"the broker calls its version {version}, which says nothing"
        return [Finding("version", Level.WARNING, told, "use RabbitMQ 3.10 or later")]
    if found < OLDEST:
        told = f"RabbitMQ {version}: the service needs 3.10 or later"
        return [Finding("version", Level.FAULT, told, "upgrade the broker, to 4.x at best")]
    has = ["quorum queues, streams, single active consumers"]
    if found >= STAMPING:
        has.append("stamps, if configured")
    return [Finding("version", Level.OK, f"RabbitMQ {version}: {', '.join(has)}")]
