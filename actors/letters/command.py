"""The commands `dead-letters list|show|redrive|drop`.

Exit status: 0 all well, 1 nothing found or something is in the way, 2 unusable input.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Annotated, TypeVar

import typer

from actors.clock import SystemClock
from actors.letters.holding import CannotHold, hold
from actors.letters.letter import Letter
from actors.letters.redriving import Plan, Stopped, planned, redrive
from actors.letters.wanted import Wanted
from actors.letters.words import groups, line, listed, summary, told, whole
from actors.operating.running import (
    FAILED,
    UNUSABLE,
    AmqpOption,
    JsonOption,
    on_broker,
    settings_of,
    stop,
)
from actors.transport import Connection
from statecharts.instants import from_rfc3339

T = TypeVar("T")

LINES = 10
"""So many letters are named, of many."""

dead_letters = typer.Typer(
    help="Messages that were refused: seen, published again, dropped.", no_args_is_help=True
)

CodeOption = Annotated[
    list[str] | None, typer.Option("--code", help="Refused with this code; may be repeated.")
]
IdOption = Annotated[
    list[str] | None,
    typer.Option("--id", help="The letter, or the event's id; may be repeated."),
]
SourceOption = Annotated[str | None, typer.Option(help="From this source, like /engines/ring-3.")]
TableOption = Annotated[str | None, typer.Option(help="About this table.")]
TypeOption = Annotated[str | None, typer.Option("--type", help="Of this type: turn.started.")]
SinceOption = Annotated[
    str | None, typer.Option(help="Refused then or later, like 2026-01-31T20:15:00Z.")
]
UntilOption = Annotated[str | None, typer.Option(help="Refused before that.")]
LimitOption = Annotated[
    bool,
    typer.Option("--limit-lifted", help="A policy of the broker's lifts the delivery limit."),
]


@dead_letters.command("list")
def list_(
    code: CodeOption = None,
    id_: IdOption = None,
    source: SourceOption = None,
    table: TableOption = None,
    type_: TypeOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    amqp_url: AmqpOption = None,
    *,
    limit_lifted: LimitOption = False,
    as_json: JsonOption = False,
) -> None:
    """Tell how many there are of each code, and what to do about them; changes nothing."""
    wanted = _wanted(code, id_, source, table, type_, since, until)
    found, beyond = _look(amqp_url, wanted, limit_lifted=limit_lifted)
    told_of = groups(found)
    if as_json:
        whole_ = {"letters": len(found), "not_looked_at": beyond, "codes": told_of}
        typer.echo(json.dumps(whole_))
        return
    if not found:
        typer.echo("no dead letters" if wanted.is_everything else "no dead letters of that kind")
        return
    typer.echo(f"{len(found)} dead letters")
    for group in told_of:
        typer.echo("\n".join(("", *listed(group))))


@dead_letters.command()
def show(
    code: CodeOption = None,
    id_: IdOption = None,
    source: SourceOption = None,
    table: TableOption = None,
    type_: TypeOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    amqp_url: AmqpOption = None,
    limit: Annotated[int, typer.Option(min=1, help="So many at the most, oldest first.")] = 20,
    *,
    limit_lifted: LimitOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print letters in full: the event, when and why it was refused; changes nothing."""
    wanted = _wanted(code, id_, source, table, type_, since, until)
    found, _ = _look(amqp_url, wanted, limit_lifted=limit_lifted)
    _check_found(found)
    for number, letter in enumerate(found[:limit]):
        if as_json:
            typer.echo(json.dumps(whole(letter)))
            continue
        typer.echo("\n".join((*([""] if number else []), *told(letter))))
    if len(found) > limit:
        typer.echo(f"{len(found) - limit} more: --limit shows more", err=True)


@dead_letters.command("redrive")
def redrive_(
    code: CodeOption = None,
    id_: IdOption = None,
    source: SourceOption = None,
    table: TableOption = None,
    type_: TypeOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    amqp_url: AmqpOption = None,
    *,
    again: Annotated[bool, typer.Option(help="Those too that were redriven before.")] = False,
    dry_run: Annotated[bool, typer.Option(help="Only tell what would be done.")] = False,
    limit_lifted: LimitOption = False,
    as_json: JsonOption = False,
) -> None:
    """Publish letters again as the events that they were, oldest first.

    Left alone are those that were redriven before (--again), and those that are bound to be refused
    again, unless --code or --id asks for them.
    """
    wanted = _wanted(code, id_, source, table, type_, since, until)

    async def act(connection: Connection) -> tuple[Plan, int]:
        async with hold(connection, wanted, limit_lifted=limit_lifted) as held:
            _check_found(held.letters)
            _tell_beyond(held.beyond)
            plan = planned(held.letters, wanted, SystemClock().now(), again=again)
            _tell_plan(plan, as_json=as_json)
            if dry_run:
                return plan, 0
            return plan, await redrive(connection, held.consumer, plan.to_send)

    plan, done = on_broker(settings_of(amqp_url), act, also=(CannotHold, Stopped))
    if as_json:
        skipped = [{**summary(one), "why": why} for one, why in plan.skipped]
        hopeless = [{"letter": one.name, "why": why} for one, why in plan.hopeless]
        to_send = [one.name for one in plan.to_send]
        typer.echo(
            json.dumps(
                {"redriven": done, "letters": to_send, "hopeless": hopeless, "skipped": skipped}
            )
        )
    else:
        typer.echo(f"{len(plan.to_send)} would be redriven" if dry_run else f"{done} redriven")


@dead_letters.command()
def drop(
    code: CodeOption = None,
    id_: IdOption = None,
    source: SourceOption = None,
    table: TableOption = None,
    type_: TypeOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    amqp_url: AmqpOption = None,
    *,
    all_: Annotated[bool, typer.Option("--all", help="Every one.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    limit_lifted: LimitOption = False,
    as_json: JsonOption = False,
) -> None:
    """Remove letters for good; it asks first, unless --yes."""
    wanted = _wanted(code, id_, source, table, type_, since, until)
    if wanted.is_everything and not all_:
        stop("say which letters, or --all", UNUSABLE)
    # Nothing is held while somebody thinks; only what he was told of is dropped.
    found, _ = _look(amqp_url, wanted, limit_lifted=limit_lifted)
    _check_found(found)
    if not yes:
        _name(found, f"{len(found)} letters to drop:")
        typer.confirm("Drop them for good?", abort=True, err=True)
    names = {letter.name for letter in found}

    async def act(connection: Connection) -> int:
        async with hold(connection, wanted, limit_lifted=limit_lifted) as held:
            meant = [letter for letter in held.letters if letter.name in names]
            for letter in meant:
                await held.consumer.acknowledge(letter.tag)
            return len(meant)

    dropped = on_broker(settings_of(amqp_url), act, also=(CannotHold,))
    typer.echo(json.dumps({"dropped": dropped}) if as_json else f"{dropped} dropped")


def _wanted(
    code: list[str] | None,
    id_: list[str] | None,
    source: str | None,
    table: str | None,
    type_: str | None,
    since: str | None,
    until: str | None,
) -> Wanted:
    instants = [_instant("--since", since), _instant("--until", until)]
    return Wanted(tuple(id_ or ()), tuple(code or ()), source, table, type_, *instants)


def _instant(option: str, stamp: str | None) -> int | None:
    try:
        return None if stamp is None else from_rfc3339(stamp)
    except ValueError as error:
        stop(f"{option}: {error}", UNUSABLE)


def _look(amqp_url: str | None, wanted: Wanted, *, limit_lifted: bool) -> tuple[list[Letter], int]:
    """Return the letters that are meant, and how many were not looked at."""

    async def act(connection: Connection) -> tuple[list[Letter], int]:
        async with hold(connection, wanted, limit_lifted=limit_lifted) as held:
            return list(held.letters), held.beyond

    found, beyond = on_broker(settings_of(amqp_url), act, also=(CannotHold,))
    _tell_beyond(beyond)
    return found, beyond


def _check_found(found: Iterable[Letter]) -> None:
    if not any(True for _ in found):
        stop("no dead letters of that kind", FAILED)


def _tell_beyond(beyond: int) -> None:
    if beyond:
        typer.echo(
            f"{beyond} more lie behind those and were not looked at: redrive or drop these first",
            err=True,
        )


def _tell_plan(plan: Plan, *, as_json: bool) -> None:
    """Say beforehand what will not help, and what is left alone."""
    if as_json:
        return
    for why, count in Counter(why for _, why in plan.skipped).items():
        ones = [one for one, reason in plan.skipped if reason == why]
        _name(ones, f"{count} skipped: {why}")
    for why, count in Counter(why for _, why in plan.hopeless).items():
        ones = [one for one, reason in plan.hopeless if reason == why]
        _name(ones, f"{count} will be refused again ({why}):")


def _name(letters: list[Letter], head: str) -> None:
    typer.echo(head, err=True)
    for letter in letters[:LINES]:
        typer.echo(f"  {line(letter)}", err=True)
    if len(letters) > LINES:
        typer.echo(f"  and {len(letters) - LINES} more", err=True)
