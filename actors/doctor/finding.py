"""What an examination has found."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import NamedTuple

from actors.clock import Clock
from actors.settings import Settings
from actors.transport import Connection
from statecharts.policy import Policies


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    """The service works, but some guarantee is weaker, or somebody waits for you."""
    FAULT = "fault"
    """The service cannot do its work, or not as promised."""


class Finding(NamedTuple):
    """One thing that was looked at."""

    check: str
    level: Level
    told: str
    to_do: str = ""


class Patient(NamedTuple):
    """What is examined, beside the broker."""

    settings: Settings
    known: Policies
    clock: Clock


Check = Callable[[Connection, Patient], Awaitable[list[Finding]]]
