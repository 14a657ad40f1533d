"""The command `seatwarden demo`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from actors.transport import ConnectionLost, TransportError

FAILED, UNUSABLE = 1, 2


def demo(
    *,
    seed: Annotated[int, typer.Option(help="The same seed gives the same events.")] = 7,
    speed: Annotated[
        float | None,
        typer.Option(
            min=0.1, max=10_000, help="Times as fast as life; left out, it takes half a minute."
        ),
    ] = None,
    tables: Annotated[int | None, typer.Option(min=1, max=500, help="Tables at once.")] = None,
    amqp: Annotated[
        str | None,
        typer.Option(help="Play on this broker, where `seatwarden run` runs, in real time."),
    ] = None,
    hands: Annotated[
        list[Path] | None, typer.Option(help="Play the hands of this PHH file; may be repeated.")
    ] = None,
    every_turn: Annotated[
        bool,
        typer.Option(
            "--every-turn", help="Play each turn of each hand by itself, as the record has it."
        ),
    ] = False,
    record: Annotated[
        typer.FileBinaryWrite | None,
        typer.Option(lazy=False, help="Write the events here, for `seatwarden simulate`."),
    ] = None,
) -> None:
    """Play real hands with made-up disconnections, and show what is decided by which rule.

    Without --amqp nothing else is needed.  Exit status 1: something was decided otherwise than
    `seatwarden simulate` decides it.
    """
    if find_spec("pokerkit") is None:
        _stop("the demo needs PokerKit: pip install 'seatwarden[demo]'", UNUSABLE)
    if amqp and speed:
        _stop("--speed is not for --amqp: a broker's time is real", UNUSABLE)
    if every_turn and tables:
        _stop("--tables is not for --every-turn: each turn has a table of its own", UNUSABLE)
    from actors.demo.records import RecordError  # noqa: PLC0415 - needs PokerKit
    from actors.demo.show import Wanted, run  # noqa: PLC0415 - needs PokerKit

    wanted = Wanted(seed, speed, tables, amqp, hands or (), every_turn, record)
    try:
        if not run(wanted, Console(highlight=False)):
            raise typer.Exit(FAILED)
    except RecordError as error:
        _stop(str(error), UNUSABLE)
    except ConnectionLost as error:
        _stop(f"the broker is gone, and with it the queue of decisions: {error}", FAILED)
    except TransportError as error:
        _stop(str(error), FAILED)


def _stop(message: str, status: int) -> NoReturn:
    typer.echo(f"seatwarden: {message}", err=True)
    raise typer.Exit(status)
