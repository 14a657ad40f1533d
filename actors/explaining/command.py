"""The command `seatwarden explain`: it reads the audit stream and prints the turns asked for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, NoReturn

import pydantic_core
import typer
from rich.console import Console
from rich.text import Text

from actors.broker.streams import StreamMissing, end_of, messages
from actors.broker.topology import AUDIT
from actors.explaining.words import Record, explained, fullest, told
from actors.settings import SettingsError, effective
from actors.stories.audit import records
from actors.transport import Connection, Since, TransportError
from statecharts.instants import from_rfc3339, to_datetime

NOT_FOUND, UNUSABLE = 1, 2


class Wanted(NamedTuple):
    """Which turns: by their ids, closed at `since` (microseconds since 1970) or later."""

    turn: str | None = None
    table: str | None = None
    hand: str | None = None
    since: int | None = None

    def may_be_in(self, body: bytes) -> bool:
        """Say whether to look closer: most messages are of other turns."""
        ids = (one for one in (self.turn, self.table, self.hand) if one is not None)
        return all(pydantic_core.to_json(one) in body for one in ids)

    def is_met(self, record: Record) -> bool:
        """Say whether a record is of a turn that is asked for."""
        data = record["data"]
        return (
            self.turn in (None, data["turn_id"])
            and self.table in (None, data["table_id"])
            and self.hand in (None, data["hand_id"])
            and (self.since is None or from_rfc3339(record["time"]) >= self.since)
        )


def explain(
    *,
    turn: Annotated[str | None, typer.Option(help="The turn's turn_id.")] = None,
    table: Annotated[
        str | None, typer.Option(help="The table: all its turns, or --hand's.")
    ] = None,
    hand: Annotated[str | None, typer.Option(help="Only the turns of this hand.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="The records, one a line, each with its answer.")
    ] = False,
    amqp_url: Annotated[str | None, typer.Option("--amqp", help="The broker's URL.")] = None,
    since: Annotated[
        str | None, typer.Option(help="Only turns closed since then, like 2026-01-31T20:15:00Z.")
    ] = None,
) -> None:
    """Tell why a turn ended as it did.  Exit 0 found, 1 nothing found, 2 unusable input."""
    if turn is None and table is None:
        _stop("say which turns: --turn ID, or --table T with or without --hand H", UNUSABLE)
    try:
        wanted = Wanted(turn, table, hand, None if since is None else from_rfc3339(since))
        settings = effective(amqp_url=amqp_url)
    except ValueError as error:
        _stop(f"--since: {error}", UNUSABLE)
    except SettingsError as error:
        _stop(str(error), UNUSABLE)
    try:
        found = asyncio.run(_search(settings.amqp_url, wanted))
    except StreamMissing as error:
        _stop(f"{error}: nothing has been written yet, or --amqp names another broker", NOT_FOUND)
    except TransportError as error:
        _stop(f"the audit stream cannot be read: {error}", UNUSABLE)
    if not found:
        _stop(_nothing(wanted), NOT_FOUND)
    if as_json:
        for record in found:
            typer.echo(json.dumps(explained(record)))
    else:
        printed(found, Console(highlight=False))


def printed(found: Sequence[Record], console: Console) -> None:
    """Print turns for people; only a terminal's lines are broken."""
    for number, record in enumerate(found):
        if number:
            console.print()
        for line in told(record):
            console.print(Text(line.text, style=line.style), soft_wrap=not console.is_terminal)


async def search(connection: Connection, wanted: Wanted) -> list[Record]:
    """Return the fullest record of each turn asked for; raises StreamMissing, ConnectionLost."""
    since: Since = "first" if wanted.since is None else to_datetime(wanted.since)
    until = await end_of(connection, AUDIT)
    found: list[Record] = []
    async with messages(connection, AUDIT, since, until) as read:
        async for delivery in read:
            if wanted.may_be_in(delivery.body):
                found += (one for one in records(delivery) if wanted.is_met(one))
    return fullest(found)


async def _search(url: str, wanted: Wanted) -> list[Any]:
    from actors.rabbit import RabbitTransport  # noqa: PLC0415 - AMQP is needed here alone

    connection: Connection = await RabbitTransport(url, name="seatwarden explain").connect()
    try:
        return await search(connection, wanted)
    finally:
        await connection.close()


def _nothing(wanted: Wanted) -> str:
    asked = ", ".join(
        f"{name} {value}" for name, value in wanted._asdict().items() if value and name != "since"
    )
    return (
        f"no closed turn is known of {asked}. To check: the ids as the engine sent them; that the"
        " turn was opened and has closed (one that is open has no record yet, one whose start was"
        " refused has an event.refused and a dead letter); that it closed after --since and"
        " within SEATWARDEN_AUDIT_DAYS; that --amqp names the broker of the service"
    )


def _stop(message: str, status: int) -> NoReturn:
    typer.echo(f"seatwarden: {message}", err=True)
    raise typer.Exit(status)
