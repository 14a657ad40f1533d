"""The diagrams as files: drawn by Graphviz, kept in the package, and checked against the table.

`check` needs no Graphviz: texts are made again and compared, a drawing is known by its stamp.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

import statecharts.diagrams
from statecharts.chart import TABLE
from statecharts.diagrams import DRAWN, WITHOUT_PICTURE, Format, html, render, stamp
from statecharts.diagrams.sections import sections
from statecharts.lines import Line, State

FOLDER = Path(statecharts.diagrams.__file__).parent
FILES = {
    "seat.mmd": Format.MERMAID,
    "seat.dot": Format.DOT,
    "seat.svg": Format.SVG,
    "seat.scxml": Format.SCXML,
    "table.md": Format.TABLE,
    "seat.html": Format.HTML,
}
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
PNG_DPI = 160


class DiagramError(Exception):
    """A diagram that could not be drawn; the message says what to do."""


def produce(
    format_: Format, highlight: State | None = None, lines: Iterable[Line] = TABLE
) -> bytes:
    """Return a diagram as the bytes of a file.

    Raises DiagramError where it has to be drawn and Graphviz is missing or fails.
    """
    lines = tuple(lines)
    if format_ not in DRAWN:
        return render(format_, highlight, lines).encode()
    text = render(Format.DOT, highlight, lines)
    if format_ is Format.PNG:
        return _draw(text, "-Tpng", f"-Gdpi={PNG_DPI}")
    drawing = stamp.stamped(_draw(text, "-Tsvg").decode(), text)
    return (XML + drawing if format_ is Format.SVG else _page(drawing, lines)).encode()


def write(folder: Path = FOLDER) -> None:
    """Write the committed set; raises DiagramError before anything is written."""
    made = {name: produce(format_) for name, format_ in FILES.items()}
    for name, content in made.items():
        (folder / name).write_bytes(content)


def check(folder: Path = FOLDER, lines: Iterable[Line] = TABLE) -> list[str]:
    """Return the names of committed files that are missing or differ from what the table gives."""
    lines = tuple(lines)
    return [
        name
        for name, format_ in FILES.items()
        if not (folder / name).is_file()
        or not _agrees(format_, (folder / name).read_bytes(), lines)
    ]


def diagram(
    format_: Annotated[
        Format, typer.Option("--format", help="what to make; svg, png and html need Graphviz")
    ] = Format.MERMAID,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="write to this file, not to the terminal")
    ] = None,
    highlight: Annotated[State | None, typer.Option(help="fill this state")] = None,
    *,
    check_files: Annotated[
        bool, typer.Option("--check", help="compare the files in the package with the table")
    ] = False,
    write_files: Annotated[
        bool, typer.Option("--write", help="make the files in the package again")
    ] = False,
) -> None:
    """Draw the statechart of a seat, from the transition table."""
    try:
        if write_files:
            write()
        if check_files:
            _report(check())
        if not (write_files or check_files):
            _give(_made(format_, highlight), output)
    except DiagramError as error:
        typer.echo(error, err=True)
        raise typer.Exit(1) from error


def _made(format_: Format, highlight: State | None) -> bytes:
    if highlight is not None and format_ in WITHOUT_PICTURE:
        raise typer.BadParameter(f"{format_} has no picture to highlight a state in")
    return produce(format_, highlight)


def _give(content: bytes, output: Path | None) -> None:
    if output is None:
        typer.echo(content, nl=False)
        return
    try:
        output.write_bytes(content)
    except OSError as error:
        raise DiagramError(f"cannot write {output}: {error.strerror}") from error


def _report(differing: list[str]) -> None:
    if not differing:
        typer.echo(f"all {len(FILES)} diagrams agree with the transition table")
        return
    for name in differing:
        typer.echo(f"{name} differs from what the transition table gives", err=True)
    typer.echo("run seatwarden diagram --write", err=True)
    raise typer.Exit(1)


def _agrees(format_: Format, content: bytes, lines: tuple[Line, ...]) -> bool:
    if format_ not in DRAWN:
        return content == produce(format_, lines=lines)
    page = content.decode(errors="replace")
    drawing = stamp.find(page)
    whole = XML + drawing if format_ is Format.SVG else _page(drawing, lines)
    return page == whole and stamp.is_genuine(drawing, render(Format.DOT, lines=lines))


def _page(drawing: str, lines: tuple[Line, ...]) -> str:
    return html.render(drawing, sections(lines))


def _draw(text: str, *options: str) -> bytes:
    program = shutil.which("dot")
    if program is None:
        raise DiagramError(
            "Graphviz's `dot` is not installed: install Graphviz (apt install graphviz, "
            "brew install graphviz), or take a format that needs none: mermaid, dot, scxml, table"
        )
    # -n2 keeps the places that the text gives
    command = [program, "-Kneato", "-n2", *options]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)  # noqa: S603 - our own text goes to the program found
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise DiagramError(f"Graphviz's `dot` failed with status {done.returncode}: {said}")
    return done.stdout
