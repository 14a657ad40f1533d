"""What stands on the broker, and who works there."""

from __future__ import annotations

from actors.broker import layout
from actors.broker.topology import DEAD_LETTERS, DECISIONS
from actors.doctor.finding import Finding, Level, Patient
from actors.operating import owners, topologies
from actors.transport import Connection

SILENT_SECONDS = 10
"""A shard through which no time has come for so long is served by nobody."""

_NOT_APPLIED = Finding(
    "topology",
    Level.WARNING,
    "nothing has been applied to this broker yet",
    "`seatwarden topology apply`, or start a worker",
)


async def check_topology(connection: Connection, patient: Patient) -> list[Finding]:
    """Say what is missing or altered."""
    in_force = await layout.find(connection)
    if in_force is None:
        return [_NOT_APPLIED]
    wanted, settings = "topology", patient.settings
    found = [
        Finding(wanted, Level.FAULT, line, _mend(line))
        for line in await topologies.differences(connection, in_force, settings.audit_days)
    ]
    if in_force.shards != settings.shards:
        told = f"{in_force.shards} shards, the setting says {settings.shards}"
        to_do = f"SEATWARDEN_SHARDS={in_force.shards}, or `seatwarden reshard {settings.shards}`"
        found.append(Finding(wanted, Level.WARNING, told, to_do))
    told = f"generation {in_force.generation}, {in_force.shards} shards, all as it should be"
    return found or [Finding(wanted, Level.OK, told)]


async def check_journals(connection: Connection, patient: Patient) -> list[Finding]:
    """Say which journals cannot be gone on from."""
    in_force = await layout.find(connection)
    if in_force is None:
        return []
    faults = await topologies.journal_faults(connection, in_force, patient.known)
    to_do = (
        "its shard is served by nobody; `seatwarden topology apply --begin-anew` makes it again,"
        " and gives up the turns that were open in it"
    )
    return [Finding("journals", Level.FAULT, fault, to_do) for fault in faults] or [
        Finding("journals", Level.OK, f"all {in_force.shards} can be read")
    ]


async def check_workers(connection: Connection, patient: Patient) -> list[Finding]:
    """Say whether all shards are served."""
    in_force = await layout.find(connection)
    if in_force is None:
        return []
    found = await owners.holders(connection, in_force)
    if not found.workers:
        told = "no worker is there: nothing is decided"
        return [Finding("workers", Level.FAULT, told, "start one: `seatwarden run`")]
    now = patient.clock.now()
    silent = [one.shard for one in found.shards if (one.lag(now) or 0) > SILENT_SECONDS]
    if silent:
        told = f"nobody serves the shards {', '.join(map(str, silent))}"
        to_do = "see the workers' logs, and what is said of the journals here"
        return [Finding("workers", Level.FAULT, told, to_do)]
    names = {one.owner.worker for one in found.shards if one.owner}
    told = f"{found.workers} there, the shards are served by {', '.join(sorted(names))}"
    return [Finding("workers", Level.OK, told)]


async def check_dead_letters(connection: Connection, _: Patient) -> list[Finding]:
    """Say how many there are."""
    survey = await connection.survey(DEAD_LETTERS)
    if survey is None:
        return []
    if not survey.messages:
        return [Finding("dead letters", Level.OK, "none")]
    told = f"{survey.messages} messages were refused"
    return [Finding("dead letters", Level.WARNING, told, "`seatwarden dead-letters list`")]


async def check_decisions(_: Connection, __: Patient) -> list[Finding]:
    """Say what cannot be seen from here."""
    told = (
        f"whether a queue of yours is bound to {DECISIONS} cannot be seen over AMQP; if none is,"
        " the workers' logs say `no queue takes our decisions`"
    )
    return [Finding("decisions", Level.OK, told)]


def _mend(line: str) -> str:
    if "missing" in line or line.startswith("no queue takes"):
        return "`seatwarden topology apply` makes what is missing, but for journals"
    return (
        "it cannot be changed while it exists. Of a shard's queue: `seatwarden reshard`; of another"
        " one: see to its messages (`seatwarden dead-letters`), delete it while nobody works, then"
        " `seatwarden topology apply`"
    )
