"""The commands `topology`, `shards` and `reshard`.

Exit status: 0 all well, 1 something is wrong or in the way, 2 unusable settings.
"""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from actors.broker import layout
from actors.broker.layout import LayoutError
from actors.broker.topology import Layout
from actors.clock import SystemClock
from actors.logs import make_log
from actors.operating import owners, topologies
from actors.operating.resharding import NotNow, Resharding
from actors.operating.running import (
    FAILED,
    AmqpOption,
    JsonOption,
    on_broker,
    policies_of,
    run,
    settings_of,
    transport_of,
)
from actors.operating.topologies import Wanted
from actors.transport import Connection
from statecharts.instants import to_rfc3339

topology = typer.Typer(
    help="What the service needs on the broker: seen, made, checked.", no_args_is_help=True
)


@topology.command()
def show(amqp_url: AmqpOption = None) -> None:
    """Print what there has to be, by the layout in force; makes nothing."""
    settings = settings_of(amqp_url)
    found = on_broker(settings, layout.find)
    if found is None:
        typer.echo("not applied yet; `seatwarden topology apply`, or the first worker, would make:")
    for line in topologies.described(found or Layout(1, settings.shards), settings.audit_days):
        typer.echo(line)


@topology.command()
def apply(
    amqp_url: AmqpOption = None,
    *,
    begin_anew: Annotated[
        bool,
        typer.Option(help="Make lost journals again; the turns that were open in them are lost."),
    ] = False,
) -> None:
    """Make what is missing; nothing is deleted or changed.  Twice is once."""
    settings = settings_of(amqp_url)
    wanted, known = Wanted(settings.shards, settings.audit_days), policies_of(settings)
    now = SystemClock().now()
    done, undone = on_broker(
        settings, lambda one: topologies.apply(one, wanted, known, now, begin_anew=begin_anew)
    )
    for line in done or (["all is there"] if not undone else []):
        typer.echo(line)
    for line in undone:
        typer.echo(f"not done: {line}", err=True)
    if undone:
        raise typer.Exit(FAILED)


@topology.command()
def check(amqp_url: AmqpOption = None) -> None:
    """Tell what is missing or differs; makes nothing.  Exit 0 if all is as it should be."""
    settings = settings_of(amqp_url)
    wanted, known = Wanted(settings.shards, settings.audit_days), policies_of(settings)
    differences = on_broker(settings, lambda one: topologies.check(one, wanted, known))
    for line in differences:
        typer.echo(line)
    if differences:
        raise typer.Exit(FAILED)
    typer.echo("all is as it should be")


def shards(amqp_url: AmqpOption = None, *, as_json: JsonOption = False) -> None:
    """Tell who owns which shard, since when, with backlog and lag."""
    settings = settings_of(amqp_url)
    found = on_broker(settings, _holders)
    now = SystemClock().now()
    rows = [
        {
            "shard": one.shard,
            "slots": one.slots,
            "owner": one.owner.worker if one.owner else None,
            "since": to_rfc3339(one.owner.since) if one.owner and one.owner.since else None,
            "backlog": one.backlog,
            "lag_seconds": one.lag(now),
        }
        for one in found.shards
    ]
    if as_json:
        typer.echo(json.dumps({"workers": found.workers, "shards": rows}))
        return
    table = Table(*rows[0], title=f"{found.workers} workers", title_justify="left")
    for row in rows:
        table.add_row(*("-" if value is None else str(value) for value in row.values()))
    Console(highlight=False, markup=False).print(table)


def reshard(
    shards: Annotated[int, typer.Argument(min=1, max=256, help="How many there are to be.")],
    amqp_url: AmqpOption = None,
) -> None:
    """Change the number of shards, while workers and publishers are stopped; nothing is lost."""
    settings = settings_of(amqp_url)
    known, log = policies_of(settings), make_log(settings.log_format, settings.log_level)
    transport = transport_of(settings)
    change = Resharding(transport, known, SystemClock(), settings.options, log)
    new = run(change.run(shards), also=(NotNow,))
    typer.echo(
        f"generation {new.generation} with {new.shards} shards is in force;"
        f" set SEATWARDEN_SHARDS={new.shards} and start the workers"
    )


async def _holders(connection: Connection) -> owners.Holders:
    found = await layout.find(connection)
    if found is None:
        raise LayoutError("there is no layout on this broker: `seatwarden topology apply` first")
    return await owners.holders(connection, found)
