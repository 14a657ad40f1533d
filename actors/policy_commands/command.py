"""The commands `seatwarden policy ...` but `test`.  Exit status: 0 fine, 2 unusable."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Annotated, NoReturn

import typer
import yaml

from actors import policies, policy_faults
from actors.policies import PolicyError
from actors.policy_commands.compare import compare
from actors.policy_commands.comparing import differences
from actors.policy_commands.sentences import explained
from statecharts.policy import Policy

UNUSABLE = 2
_WIDTH = 100
_INDENT = 22

Name = Annotated[str, typer.Argument(metavar="NAME|FILE", help="A bundled policy, or a file.")]


def list_() -> None:
    """List the bundled policies: name, formats, and where the room has published its own."""
    known = policies.bundled().by_name
    width = max(map(len, known))
    for name, policy in sorted(known.items()):
        formats = ", ".join(policy.covers_formats)
        typer.echo(f"{name:<{width}}  {formats:<16}  {policy.source}")


def show(policy: Name) -> None:
    """Print a policy's effective keys as YAML, those too that its file leaves out."""
    found = _found(policy)
    keys = found.model_dump(mode="json")
    keys["grace"] = [step.model_dump(mode="json", exclude_none=True) for step in found.grace]
    typer.echo(f"# digest {found.digest}")
    for key, value in keys.items():  # one by one: short lists stand in their line
        flow = None if isinstance(value, list) else False
        typer.echo(yaml.safe_dump({key: _plain(value)}, default_flow_style=flow), nl=False)


def explain(policy: Name) -> None:
    """Tell a policy in plain sentences, with its numbers."""
    found = _found(policy)
    typer.echo(f"{found.name}{f'  ({found.source})' if found.source else ''}")
    for heading, told in explained(found):
        typer.echo(_wrapped(heading, told))


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A policy file.")],
) -> None:
    """Tell every fault of a policy file: line, key, what is allowed.  Exit 2 if there is any."""
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        _stop(f"{file}: cannot be read: {error}")
    found, faults = policy_faults.read(text)
    for fault in faults:
        typer.echo(f"{file}:{fault.line}: {fault.key}: {fault.reason}")
    if found is None:
        raise typer.Exit(UNUSABLE)
    typer.echo(f"{file}: fine; policy {found.name}, digest {found.digest}")


def diff(one: Name, other: Name) -> None:
    """Tell in plain words in what two policies differ, and which rules that concerns."""
    left, right = _found(one), _found(other)
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


def _found(name_or_path: str) -> Policy:
    try:
        return policies.find(name_or_path).default
    except PolicyError as error:
        _stop(str(error))


def _stop(message: str) -> NoReturn:
    typer.echo(f"seatwarden: {message}", err=True)
    raise typer.Exit(UNUSABLE)
