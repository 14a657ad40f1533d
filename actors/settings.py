"""The settings: environment variables `SEATWARDEN_...`, overridden by the flags of a command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from actors.address import fault_in, redacted
from actors.broker.slots import SLOTS
from actors.broker.topology import AUDIT_DAYS
from actors.health.endpoint import endpoint
from actors.policies import DEFAULT
from actors.work.options import Options
from statecharts.wording import faults

PREFIX = "SEATWARDEN_"


class SettingsError(Exception):
    """Settings that cannot be used; the message names each key and the reason."""


class Settings(BaseSettings):
    """Durations are in seconds."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    amqp_url: str = "amqp://guest:guest@127.0.0.1:5672/"
    """The broker: amqp:// or amqps://, with user, password and virtual host."""
    policy: str = DEFAULT
    """The policy of turns that name none: one of those at hand, or a policy file."""
    policies: Path | None = None
    """A folder of policy files, which are at hand beside the bundled ones."""
    prefetch: int = Field(1000, ge=2, le=65_535)
    """How many messages the broker gives unacknowledged; one of them an owner always holds."""
    group: int = Field(256, ge=1, le=4096)
    """How many messages are taken, written and confirmed together at the most."""
    broker_stamps: bool = False
    """The broker stamps each message and overwrites what a publisher put there (RabbitMQ 3.12 and
    later, message_interceptors.incoming.set_header_timestamp.overwrite = true).  Believed only if
    set."""
    max_clock_lag: float = Field(2.0, ge=0, le=600, allow_inf_nan=False)
    """How far before its arrival a turn's start may count, at most."""
    settle_seconds: float = Field(3.0, ge=0.5, le=60, allow_inf_nan=False)
    """A silence longer than this is an interruption; deadlines in it move to this long after it."""
    lease_seconds: float = Field(5.0, ge=1, le=60, allow_inf_nan=False)
    """A shard is given up after so long without a committed record."""
    shards: int = Field(8, ge=1, le=SLOTS)
    """How many shards there are to be; `seatwarden reshard` changes it later."""
    audit_days: int = Field(AUDIT_DAYS, ge=1, le=36_500)
    """For how long the audit stream keeps what was decided, and why."""
    all_changes: bool = False
    """Publish the changes between idle and acting or discarding too."""
    give_up_seconds: float = Field(300.0, ge=0, le=86_400, allow_inf_nan=False)
    """Exit when the broker cannot be reached for so long."""
    ready_file: Path | None = None
    """A file that exists while the worker is ready."""
    health: str | None = None
    """host:port on which the worker answers /live, /ready and /metrics; needs the extra `http`."""
    log_format: Literal["auto", "console", "json"] = "auto"
    """`auto`: for people on a terminal, JSON otherwise."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @field_validator("amqp_url")
    @classmethod
    def _is_amqp(cls, url: str) -> str:
        if fault := fault_in(url):
            raise ValueError(f"{fault}; like amqp://user:password@host:5672/virtual-host")
        return url

    @field_validator("policies", mode="before")
    @classmethod
    def _is_left_out(cls, folder: object) -> object:
        return None if folder == "" else folder  # else it would be the one that we run in

    @field_validator("policies")
    @classmethod
    def _can_be_read(cls, folder: Path | None) -> Path | None:
        if folder is not None and not (folder.is_dir() and os.access(folder, os.R_OK | os.X_OK)):
            raise ValueError(f"{folder} is no folder that can be read")
        return folder

    @field_validator("ready_file")
    @classmethod
    def _can_be_made(cls, file: Path | None) -> Path | None:
        if file is not None and not os.access(file.parent, os.W_OK):
            raise ValueError(f"{file.parent} is no folder that can be written to")
        return file

    @field_validator("health")
    @classmethod
    def _is_endpoint(cls, text: str | None) -> str | None:
        if not text:
            return None
        endpoint(text)
        return text

    @property
    def options(self) -> Options:
        """What of it is for the worker."""
        return Options(
            prefetch=self.prefetch,
            group=self.group,
            broker_stamps=self.broker_stamps,
            max_clock_lag=self.max_clock_lag,
            lease_seconds=self.lease_seconds,
            shards=self.shards,
            audit_days=self.audit_days,
            settle_seconds=self.settle_seconds,
            all_changes=self.all_changes,
            give_up_seconds=self.give_up_seconds,
        )

    def without_secrets(self) -> dict[str, Any]:
        """Return the effective settings, fit to be shown."""
        return {**self.model_dump(), "amqp_url": redacted(self.amqp_url)}


def effective(**flags: Any) -> Settings:  # noqa: ANN401 - the flags' types are those of the settings
    """Return the settings, flags first where they are not None; raises SettingsError."""
    try:
        return Settings(**{name: value for name, value in flags.items() if value is not None})
    except ValidationError as error:
        told = [fault.partition(":") for fault in faults(error, "settings")]
        lines = [f"{PREFIX}{name.upper()}:{reason}" for name, _, reason in told]
        raise SettingsError("\n".join(lines)) from None
