"""The commands `seatwarden policy ...` but `test`.  Exit status: 0 fine, 2 unusable."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Annotated, NoReturn

import typer
import yaml

from actors import policies, policy_files
from actors.policies import PolicyError
from actors.policy_commands.compare import compare
from actors.policy_commands.comparing import differences
from actors.policy_commands.sentences import explained
from statecharts.policy import Policy

UNUSABLE = 2
_WIDTH = 100
_INDENT = 22
_INSTEAD = " (instead of the bundled one)"

Name = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A policy, or a policy file.")]
FolderOption = Annotated[
    Path | None,
    typer.Option(
        "--policies",
        metavar="DIR",
        envvar="SEATWARDEN_POLICIES",
        help="A folder of policy files, beside the bundled ones.",
    ),
]


def list_(folder: FolderOption = None) -> None:
    """List the policies: name, formats, and where the room has published its own.

    For those of your folder the last column tells the file.
    """
    try:
        own = policies.own(folder)
    except PolicyError as error:
        _stop(str(error))
    bundled = policies.bundled().by_name
    width = max(map(len, {**bundled, **own}))
    for name in sorted({**bundled, **own}):
        policy = own[name].policy if name in own else bundled[name]
        source = policy.source
        if name in own:
            source = f"{own[name].path}{_INSTEAD if name in bundled else ''}"
        typer.echo(f"{name:<{width}}  {', '.join(policy.covers_formats):<16}  {source}")


def show(policy: Name, folder: FolderOption = None) -> None:
    """Print a policy's effective keys as YAML, those too that its file leaves out."""
    found = _found(policy, folder)
    keys = found.model_dump(mode="json")
    keys["grace"] = [step.model_dump(mode="json", exclude_none=True) for step in found.grace]
    typer.echo(f"# digest {found.digest}")
    for key, value in keys.items():  # one by one: short lists stand in their line
        flow = None if isinstance(value, list) else False
        typer.echo(yaml.safe_dump({key: _plain(value)}, default_flow_style=flow), nl=False)


def explain(policy: Name, folder: FolderOption = None) -> None:
    """Tell a policy in plain sentences, with its numbers."""
    found = _found(policy, folder)
    typer.echo(f"{found.name}{f'  ({found.source})' if found.source else ''}")
    for heading, told in explained(found):
        typer.echo(_wrapped(heading, told))


def check(
    path: Annotated[
        Path, typer.Argument(metavar="FILE|DIR", help="A policy file, or a folder of such.")
    ],
) -> None:
    """Tell every fault: line, key, what is allowed.  Exit 2 if there is any.

    Those of a folder are checked together: two with the same name are a fault too.
    """
    if path.is_dir():
        files, faults = policy_files.read_folder(path)
    else:
        file, faults = policy_files.read_file(path)
        files = (file,) if file else ()
    for fault in faults:
        typer.echo(str(fault))
    for file in files:
        name, digest = file.policy.name, file.policy.digest
        instead = _INSTEAD if path.is_dir() and name in policies.bundled().by_name else ""
        typer.echo(f"{file.path}: fine; policy {name}, digest {digest}{instead}")
    if faults:
        raise typer.Exit(UNUSABLE)
    if not files:
        typer.echo(f"{path}: no policy files (*{', *'.join(policy_files.SUFFIXES)})")


def diff(one: Name, other: Name, folder: FolderOption = None) -> None:
    """Tell in plain words in what two policies differ, and which rules that concerns."""
    left, right = _found(one, folder), _found(other, folder)
    for found in differences(left, right):
        typer.echo(f"{found.heading} ({', '.join(found.keys)})")
        names = (left.name, right.name) if left.name != right.name else (one, other)
        for name, told in zip(names, (found.one, found.other), strict=True):
            typer.echo(_wrapped(f"  {name}", told))
        typer.echo(_wrapped("  rules", ", ".join(found.rules)))


def schema() -> None:
    """Print the JSON Schema of policy files, for editors."""
    told = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Policy.model_json_schema(),
        "title": "A disconnection policy of seatwarden",
    }
    typer.echo(json.dumps(told, indent=2))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for name, command in (
        ("list", list_),
        ("show", show),
        ("explain", explain),
        ("check", check),
        ("diff", diff),
        ("compare", compare),
        ("schema", schema),
    ):
        app.command(name)(command)


def _plain(value: object) -> object:
    """Write whole numbers without a point."""
    if isinstance(value, float) and value == int(value):
        return int(value)
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return value


def _wrapped(heading: str, told: str) -> str:
    head = f"{heading:<{_INDENT - 1}} "
    return textwrap.fill(
        told, _WIDTH, initial_indent=head, subsequent_indent=" " * _INDENT, break_on_hyphens=False
    )


def _found(name_or_path: str, folder: Path | None) -> Policy:
    try:
        return policies.find(name_or_path, folder).default
    except PolicyError as error:
        _stop(str(error))


def _stop(message: str) -> NoReturn:
    typer.echo(f"seatwarden: {message}", err=True)
    raise typer.Exit(UNUSABLE)
