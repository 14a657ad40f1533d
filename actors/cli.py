"""The command `seatwarden`.  Exit status: 0 all well, 1 a check failed, 2 unusable input."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NoReturn

import typer

from actors import diagrams, policies, scenarios, simulate
from actors.broker.layout import LayoutError
from actors.demo import command as demo
from actors.doctor import command as doctor
from actors.explaining import command as explaining
from actors.health.endpoint import HealthError, is_installed
from actors.letters import command as letters
from actors.logs import make_log
from actors.operating import command as operating
from actors.policies import PolicyError
from actors.policy_commands import command as policy_commands
from actors.policy_commands.command import FolderOption
from actors.scenarios import ScenarioError
from actors.settings import Settings, SettingsError, effective
from actors.shards.shard import Shard
from actors.transport import TransportError
from actors.work.worker import GivenUp
from statecharts.instants import from_seconds
from statecharts.policy import Policies

FAILED, UNUSABLE = 1, 2

app = typer.Typer(
    name="seatwarden",
    help="Decides, by a published policy, what happens to a player who is lost on his turn.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
policy = typer.Typer(help="Policies, and an operator's tests of them.", no_args_is_help=True)
policy_commands.register(policy)
app.add_typer(policy, name="policy")
app.command("diagram")(diagrams.diagram)
app.command("demo")(demo.demo)
app.command("explain")(explaining.explain)
app.add_typer(operating.topology, name="topology")
app.add_typer(letters.dead_letters, name="dead-letters")
app.command("doctor")(doctor.doctor)
app.command("shards")(operating.shards)
app.command("reshard")(operating.reshard)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"seatwarden {version('seatwarden')}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


PolicyOption = Annotated[
    str | None, typer.Option("--policy", help="The name of a policy, or a policy file.")
]


@app.command()
def run(
    amqp_url: Annotated[str | None, typer.Option("--amqp", help="The broker's URL.")] = None,
    policy: PolicyOption = None,
    folder: FolderOption = None,
    prefetch: Annotated[int | None, typer.Option(help="Messages held unacknowledged.")] = None,
    broker_stamps: Annotated[
        bool | None,
        typer.Option(
            "--broker-stamps/--no-broker-stamps", help="Believe the broker's timestamp_in_ms."
        ),
    ] = None,
    all_changes: Annotated[
        bool | None,
        typer.Option("--all-changes/--no-all-changes", help="Publish every change of state."),
    ] = None,
    log_format: Annotated[str | None, typer.Option(help="auto, console or json.")] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
) -> None:
    """Run the service on RabbitMQ until SIGTERM.  Settings: SEATWARDEN_... and these flags."""
    from actors.service import serve  # noqa: PLC0415 - AMQP is needed by this command alone

    settings = _settings(
        amqp_url=amqp_url, policy=policy, policies=folder, prefetch=prefetch,
        broker_stamps=broker_stamps, all_changes=all_changes,
        log_format=log_format, log_level=log_level,
    )  # fmt: skip
    log = make_log(settings.log_format, settings.log_level)
    known = _for_service(settings)
    try:
        asyncio.run(serve(settings, known, log))
    except (GivenUp, HealthError, LayoutError, TransportError) as error:
        _stop(str(error), FAILED)


@app.command()
def config() -> None:
    """Print the effective settings, without secrets; they are checked as for `run`."""
    settings = _settings()
    _for_service(settings)
    for name, value in settings.without_secrets().items():
        typer.echo(f"SEATWARDEN_{name.upper()}={value}")


@app.command("simulate")
def simulate_(
    file: Annotated[
        str, typer.Argument(help="CloudEvents, one per line; - is standard input.")
    ] = "-",
    policy: PolicyOption = None,
    folder: FolderOption = None,
    max_clock_lag: Annotated[
        float | None,
        typer.Option(
            min=0, max=600, help="Seconds that a start may reach back before its arrival, at most."
        ),
    ] = None,
) -> None:
    """Play events in virtual time: CloudEvents in, in order of arrival, CloudEvents out."""
    if sys.stdout is None:
        _stop("standard output is closed", UNUSABLE)
    out = typer.get_binary_stream("stdout")
    known = _policies(partial(policies.find, policy or policies.DEFAULT, folder))
    if max_clock_lag is not None and not max_clock_lag >= 0:  # not a number passes for any
        _stop("--max-clock-lag: must be a number from 0 to 600", UNUSABLE)
    lag = None if max_clock_lag is None else from_seconds(max_clock_lag)
    try:
        lines = _opened(file)
    except OSError as error:
        _stop(f"{file}: {error.strerror}", UNUSABLE)
    with lines:
        try:
            for line in simulate.run(lines, Shard(known, max_clock_lag=lag)):
                out.write(line)
            out.flush()
        except BrokenPipeError:
            raise  # who reads has had enough, as `head` does: the command ends without a word
        except OSError as error:
            _stop(f"cannot go on: {error.strerror}", UNUSABLE)


@policy.command("test")
def policy_test(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Scenario files.")],
    folder: FolderOption = None,
) -> None:
    """Play scenario files in virtual time.  Exit 0 all pass, 1 one fails, 2 one is unreadable."""
    loaded = []
    for file in files:
        try:
            loaded.append((file, *scenarios.load(file, folder)))
        except (ScenarioError, PolicyError) as error:
            _stop(str(error), UNUSABLE)
    passed = failed = 0
    for file, known, cases in loaded:
        for case in cases:
            differences = scenarios.play(case, known)
            if not differences:
                passed += 1
                continue
            failed += 1
            typer.echo(f"FAIL {file}: {case.name}")
            for difference in differences:
                if difference.expected != difference.came:
                    typer.echo(f"  {difference.what} expected: {difference.expected}")
                typer.echo(f"  {difference.what} came:     {difference.came}")
    typer.echo(f"{passed} passed, {failed} failed")
    if failed:
        raise typer.Exit(FAILED)


def _settings(**flags: Any) -> Settings:  # noqa: ANN401 - as the settings' own
    try:
        settings = effective(**flags)
    except SettingsError as error:
        _stop(str(error), UNUSABLE)
    if settings.health and not is_installed():
        _stop("SEATWARDEN_HEALTH needs further packages: pip install 'seatwarden[http]'", UNUSABLE)
    return settings


def _for_service(settings: Settings) -> Policies:
    return _policies(partial(policies.for_service, settings.policy, settings.policies))


def _policies(find: Callable[[], Policies]) -> Policies:
    try:
        return find()
    except PolicyError as error:
        _stop(f"policy: {error}", UNUSABLE)


def _opened(file: str) -> BinaryIO:
    return sys.stdin.buffer if file == "-" else Path(file).open("rb")


def _stop(message: str, status: int) -> NoReturn:
    typer.echo(f"seatwarden: {message}", err=True)
    raise typer.Exit(status)


def main() -> None:
    """The entry point."""
    app()
