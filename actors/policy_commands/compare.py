"""The command `seatwarden policy compare`.  Exit status: 0 compared, 2 unusable input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NoReturn

import typer

from actors import policies
from actors.policies import PolicyError
from actors.replays import changes, recorded
from actors.replays.absences import Habits
from actors.replays.plain import plain
from actors.replays.question import Answered
from actors.replays.reasons import reasons
from actors.replays.recorded import Format, RecordingError, Stimulus
from actors.replays.replay import replay
from actors.replays.summary import summary
from statecharts.instants import from_seconds
from statecharts.policy import Policy

UNUSABLE = 2

_OF_HANDS = ("seed", "times", "away", "stay_away", "longest", "turn_seconds", "time_bank", "record")
"""Options that say how connections are made up, or what of them to keep."""
_OF_EVENTS = ("acts_after",)
_USUAL = Habits()


def compare(
    context: typer.Context,
    one: Annotated[str, typer.Argument(metavar="A", help="A bundled policy, or a file.")],
    other: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    *,
    hands: Annotated[
        list[Path] | None,
        typer.Option(help="Replay the hands of this PHH file; may be repeated.  Else ours."),
    ] = None,
    events: Annotated[
        str | None,
        typer.Option(
            help="Replay recorded CloudEvents, one per line in order of arrival; - is standard "
            "input.  The policies that they name do not count."
        ),
    ] = None,
    format_: Annotated[
        Format | None,
        typer.Option(
            "--format", help="What the hands are taken for.  Else what events say, hands are cash."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed makes up the same connections.")] = 1,
    times: Annotated[
        int, typer.Option(min=1, max=1000, help="Replay each hand so often, each time otherwise.")
    ] = 1,
    away: Annotated[
        float, typer.Option(min=0, max=1, help="Share of turns at which a connection is lost.")
    ] = _USUAL.away,
    stay_away: Annotated[
        float, typer.Option(min=0, max=1, help="Of these, the share of who never comes back.")
    ] = _USUAL.stay_away,
    longest: Annotated[
        float,
        typer.Option(
            min=1, max=3600, help="The others are away for at most so many seconds, mostly less."
        ),
    ] = _USUAL.longest,
    turn_seconds: Annotated[
        float, typer.Option(min=1, max=600, help="The time that a turn has.")
    ] = _USUAL.turn_seconds,
    time_bank: Annotated[
        float, typer.Option(min=0, max=600, help="The time bank that every fourth turn has.")
    ] = _USUAL.time_bank_seconds,
    acts_after: Annotated[
        float,
        typer.Option(
            min=0,
            max=600,
            help="Recorded events: who comes back after the record's end of his turn is taken to "
            "act so many seconds later.",
        ),
    ] = 5,
    record: Annotated[
        Path | None,
        typer.Option(help="Write the made-up events here, for --events and `seatwarden simulate`."),
    ] = None,
    examples: Annotated[
        int, typer.Option(min=0, help="Tell so many turns of each kind of change.")
    ] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object, with every turn that changes.")
    ] = False,
) -> None:
    """Tell what policy B would decide otherwise than A on the same hands, and why.

    Both replay exactly the same events.  A turn ends with the policy's
    decision, or with the player's own action if that arrives first.  The hand
    goes its recorded way whatever is decided.

    Without --events the hands are real ones, and the connections made up by
    chance.  With --events, what followed from the decision of the day ends no
    turn: the engine's playing of it, the next turn, the end of the hand.

    Waiting is counted from the end of a turn's own time to the turn's end, time
    banks included; turns that one of the policies does not cover are left out.

    The same inputs give the same bytes.
    """
    given = {
        name
        for name in (*_OF_HANDS, *_OF_EVENTS)
        if getattr(context.get_parameter_source(name), "name", "DEFAULT") != "DEFAULT"
    }
    _check_options(given, has_hands=bool(hands), has_events=events is not None)
    left, right = _found(one), _found(other)
    labels = (one, other) if left.name == right.name else (left.name, right.name)
    told: dict[str, Any]
    try:
        if events is not None:
            told = {"events": events, "format": format_ or "as recorded", "acts_after": acts_after}
            stimuli = _recorded(events, format_)
        else:
            habits = Habits(away, stay_away, longest, turn_seconds, time_bank)
            as_format: Format = format_ or "cash"
            names = ", ".join(map(str, hands)) if hands else "bundled"
            told = {
                "hands": names, "format": as_format, "seed": seed, "times": times, **asdict(habits)
            }  # fmt: skip
            stimuli = _made_up(hands or (), habits, seed, times, as_format, record)
    except RecordingError as error:
        _stop(str(error))
    after = from_seconds(acts_after) if events is not None else None
    found = changes.compare(replay(stimuli, left, after), replay(stimuli, right, after))
    why = reasons(found, left, right, stimuli, after)
    answered = Answered(left, right, labels, told, found, why)
    if as_json:
        typer.echo(json.dumps(plain(answered), ensure_ascii=False, indent=2))
        return
    for line in summary(answered, examples):
        typer.echo(line)


def _check_options(given: set[str], *, has_hands: bool, has_events: bool) -> None:
    """Refuse options that would have no effect."""
    if has_hands and has_events:
        _stop("--hands and --events are two records: give one of them")
    for name in sorted(given.intersection(_OF_HANDS if has_events else _OF_EVENTS)):
        where = (
            "is for hands; with --events nothing is made up" if has_events else "is for --events"
        )
        _stop(f"--{name.replace('_', '-')} {where}")


def _recorded(file: str, as_format: Format | None) -> list[Stimulus]:
    """Read recorded events; raises RecordingError."""
    try:
        with _opened(file) as lines:
            return recorded.read(lines, file, as_format)
    except OSError as error:
        raise RecordingError(f"{file}: cannot be read: {error.strerror}") from None


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    with Path(file).open("rb") as lines:
        yield lines


def _made_up(
    paths: Sequence[Path],
    habits: Habits,
    seed: int,
    times: int,
    as_format: Format,
    record: Path | None,
) -> list[Stimulus]:
    """Make events up around hands; raises RecordingError."""
    if find_spec("pokerkit") is None:
        _stop("reading hands needs PokerKit: pip install 'seatwarden[demo]'; --events does not")
    from actors.demo.records import RecordError  # noqa: PLC0415 - needs PokerKit
    from actors.replays import hands  # noqa: PLC0415 - needs PokerKit

    try:
        dealt = hands.load(paths)
        lines = list(hands.lines(dealt, habits, seed=seed, times=times, as_format=as_format))
    except RecordError as error:
        raise RecordingError(str(error)) from None
    if record is not None:
        _write(record, lines)
    return recorded.read(lines, "the hands")


def _write(file: Path, lines: Iterable[bytes]) -> None:
    try:
        file.write_bytes(b"".join(lines))
    except OSError as error:
        raise RecordingError(f"{file}: cannot be written: {error.strerror}") from None


def _found(name_or_path: str) -> Policy:
    try:
        return policies.find(name_or_path).default
    except PolicyError as error:
        _stop(str(error))


def _stop(message: str) -> NoReturn:
    typer.echo(f"seatwarden: {message}", err=True)
    raise typer.Exit(UNUSABLE)
