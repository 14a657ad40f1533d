"""The examination: one check after the other, each on a connection of its own.

Whatever one of them comes to, the next is done all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

from actors.doctor.finding import Check, Finding, Level, Patient
from actors.doctor.permissions import REFUSED, TO_DO, check_permissions, check_room
from actors.doctor.stamps import check_stamps
from actors.doctor.standing import (
    check_dead_letters,
    check_decisions,
    check_journals,
    check_topology,
    check_workers,
)
from actors.doctor.versions import check_version
from actors.operating.running import FAULTS
from actors.transport import CannotConnect, Connection, NoEntry, NotLetIn, Transport

PATIENCE_SECONDS = 10.0
"""How long a check may take."""

CHECKS: Mapping[str, Check] = {
    "version": check_version,
    "permissions": check_permissions,
    "resources": check_room,
    "stamps": check_stamps,
    "topology": check_topology,
    "journals": check_journals,
    "workers": check_workers,
    "dead letters": check_dead_letters,
    "decisions": check_decisions,
}


async def examine(transport: Transport, patient: Patient) -> AsyncIterator[Finding]:
    """Yield what is found, in the order in which it should be put right."""
    try:
        connection = await transport.connect()
    except CannotConnect as error:
        for finding in _not_connected(error):
            yield finding
        return
    await connection.close()
    for finding in _CONNECTED:
        yield finding
    for name, check in CHECKS.items():
        for finding in await _examined(transport, name, check, patient):
            yield finding


async def _examined(
    transport: Transport, name: str, check: Check, patient: Patient
) -> list[Finding]:
    try:
        connection = await transport.connect()
        try:
            return await _checked(connection, name, check, patient)
        finally:
            await connection.close()
    except FAULTS as error:
        told = str(error)
        return [Finding(name, Level.FAULT, told, TO_DO if REFUSED in told else _SEE_LOG)]


async def _checked(
    connection: Connection, name: str, check: Check, patient: Patient
) -> list[Finding]:
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await check(connection, patient)
    except TimeoutError:
        if connection.is_blocked:
            told = "the broker takes no messages: it is short of memory or disk"
            return [Finding(name, Level.FAULT, told, "give it more; its log says what it lacks")]
        return [Finding(name, Level.FAULT, f"no answer in {PATIENCE_SECONDS:g} s", _SEE_LOG)]


_SEE_LOG = "see the broker's log"
_BROKER, _USER, _VHOST = "broker", "credentials", "virtual host"
_CONNECTED = (
    Finding(_BROKER, Level.OK, "answers"),
    Finding(_USER, Level.OK, "accepted"),
    Finding(_VHOST, Level.OK, "open to this user"),
)


def _not_connected(error: CannotConnect) -> list[Finding]:
    told = str(error)
    if isinstance(error, NotLetIn):
        to_do = "user and password of SEATWARDEN_AMQP_URL; `rabbitmqctl list_users` has those known"
        return [_CONNECTED[0], Finding(_USER, Level.FAULT, told, to_do)]
    if isinstance(error, NoEntry):
        to_do = f"`rabbitmqctl list_vhosts`; `rabbitmqctl add_vhost VHOST`; {TO_DO}"
        return [*_CONNECTED[:2], Finding(_VHOST, Level.FAULT, told, to_do)]
    to_do = "start the broker, or put host, port and TLS of SEATWARDEN_AMQP_URL right"
    return [Finding(_BROKER, Level.FAULT, told, to_do)]
