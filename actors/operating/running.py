"""What the operators' commands share: settings, one connection, and no traceback."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, NoReturn, TypeVar

import typer

from actors import policies
from actors.broker.layout import LayoutError
from actors.broker.streams import StreamMissing
from actors.journal import JournalError
from actors.policies import PolicyError
from actors.settings import Settings, SettingsError, effective
from actors.transport import Connection, Transport, TransportError
from actors.work.worker import GivenUp
from statecharts.policy import Policies

FAILED, UNUSABLE = 1, 2
FAULTS = (TransportError, LayoutError, JournalError, StreamMissing, GivenUp)

T = TypeVar("T")

AmqpOption = Annotated[str | None, typer.Option("--amqp", help="The broker's URL.")]
JsonOption = Annotated[bool, typer.Option("--json", help="For programs.")]


def settings_of(amqp_url: str | None) -> Settings:
    """Return the settings; ends the command where they cannot be used."""
    try:
        return effective(amqp_url=amqp_url)
    except SettingsError as error:
        stop(str(error), UNUSABLE)


def policies_of(settings: Settings) -> Policies:
    """Return the policies at hand; ends the command where one cannot be used."""
    try:
        return policies.for_service(settings.policy, settings.policies)
    except PolicyError as error:
        stop(f"policy: {error}", UNUSABLE)


def transport_of(settings: Settings) -> Transport:
    """Return the way to the broker."""
    from actors.rabbit import RabbitTransport  # noqa: PLC0415 - AMQP is needed by few commands

    return RabbitTransport(settings.amqp_url, name="seatwarden operator")


def on_broker(
    settings: Settings,
    act: Callable[[Connection], Awaitable[T]],
    *,
    also: tuple[type[Exception], ...] = (),
) -> T:
    """Do something on a connection of its own; ends the command over `FAULTS` and `also`."""

    async def on_one() -> T:
        connection = await transport_of(settings).connect()
        try:
            return await act(connection)
        finally:
            await connection.close()

    return run(on_one(), also=also)


def run(what: Awaitable[T], *, also: tuple[type[Exception], ...] = ()) -> T:
    """Wait for something; ends the command over `FAULTS` and `also`, in their words."""

    async def running() -> T:
        return await what

    faults: tuple[type[Exception], ...] = (*FAULTS, *also)
    try:
        return asyncio.run(running())
    except faults as error:
        stop(str(error), FAILED)


def stop(message: str, status: int) -> NoReturn:
    """End the command with a message."""
    typer.echo(f"seatwarden: {message}", err=True)
    raise typer.Exit(status)
