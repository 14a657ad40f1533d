"""The command `doctor`.  Exit status: 0 no fault, 1 a fault, 2 unusable settings or policies."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable

import typer

from actors import policies
from actors.clock import SystemClock
from actors.doctor.examination import examine
from actors.doctor.finding import Finding, Level, Patient
from actors.explaining.spelling import shown
from actors.operating.running import FAILED, UNUSABLE, AmqpOption, JsonOption, transport_of
from actors.policies import PolicyError
from actors.settings import SettingsError, effective

Told = Callable[[Finding], None]


def doctor(amqp_url: AmqpOption = None, *, as_json: JsonOption = False) -> None:
    """Examine settings, broker and workers: what is wrong, and what to do about it.

    It changes nothing, but for messages without meaning that it sends to itself and to streams.
    Exit 0 no fault, 1 a fault, 2 settings or policies that cannot be used.
    """
    found: list[Finding] = []

    def told(finding: Finding) -> None:
        found.append(finding)
        if not as_json:
            typer.echo(line(finding))

    status = _examined(amqp_url, told)
    levels = Counter(finding.level for finding in found)
    if as_json:
        findings = [finding._asdict() for finding in found]
        counts = {"faults": levels[Level.FAULT], "warnings": levels[Level.WARNING]}
        typer.echo(json.dumps({**counts, "findings": findings}))
    else:
        typer.echo(f"faults: {levels[Level.FAULT]}, warnings: {levels[Level.WARNING]}")
    if status or levels[Level.FAULT]:
        raise typer.Exit(status or FAILED)


def line(finding: Finding) -> str:
    """Return what is said of a finding: one line, whatever words the broker used."""
    told = f"{finding.level:<8} {finding.check:<13} {finding.told}"
    if finding.to_do:
        told += f". To do: {finding.to_do}"
    return "; ".join(shown(part) for part in told.splitlines())


def _examined(amqp_url: str | None, told: Told) -> int:
    """Examine all; returns the exit status for what cannot be used, else 0."""
    try:
        settings = effective(amqp_url=amqp_url)
    except SettingsError as error:
        told(Finding("settings", Level.FAULT, str(error), "put them right; `seatwarden config`"))
        return UNUSABLE
    told(Finding("settings", Level.OK, "can be used"))
    status = 0
    try:
        known = policies.for_service(settings.policy, settings.policies)
        told(Finding("policies", Level.OK, f"can be used; {known.default.name} is the default"))
    except PolicyError as error:
        told(Finding("policies", Level.FAULT, str(error), "`seatwarden policy check FILE|DIR`"))
        known, status = policies.bundled(), UNUSABLE  # what open turns need, their journal has
    asyncio.run(_on_broker(Patient(settings, known, SystemClock()), told))
    return status


async def _on_broker(patient: Patient, told: Told) -> None:
    async for finding in examine(transport_of(patient.settings), patient):
        told(finding)
