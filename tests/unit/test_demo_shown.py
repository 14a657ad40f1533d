"""What the demo shows: on a terminal, as plain lines, and at its end; and its command line."""

from __future__ import annotations

import io
import json
import random
import sys
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from actors import policies
from actors.cli import app
from actors.clock import VirtualClock
from actors.demo import deals, pace, records
from actors.demo.engine import Engine
from actors.demo.plain import Plain
from actors.demo.rehearsal import rehearse
from actors.demo.sent import Sent
from actors.demo.show import LAST_START, START
from actors.demo.view import View
from actors.demo.words import BRIEFLY
from actors.policy_commands.comparing import given
from actors.shards.shard import Shard
from statecharts.instants import SECOND
from statecharts.lines import State

KNOWN = policies.bundled()


def show_all(*watchers: View | Plain, clock: VirtualClock | None = None) -> list[str]:
    """Rehearse the demo before watchers; returns what a view looked like now and then."""
    dealt = deals.shuffled(records.bundled(), 6, random.Random(7))
    engine = Engine(
        dealt, run="7", seed=7, pace=pace.ACCELERATED, policy=KNOWN.default, start=START,
        last_start=LAST_START,
    )  # fmt: skip
    frames = []
    for number, each in enumerate(rehearse(engine, Shard(KNOWN))):
        for watcher in watchers:
            if isinstance(each, Sent):
                watcher.sent(each)
            else:
                watcher.received(each.cloudevent())
            if clock and isinstance(watcher, View) and number % 5 == 0:
                at = each.arrival if isinstance(each, Sent) else each.at
                clock.advance(max(0, at - clock.now()))
                frames.append(drawn(watcher))
    return frames


def drawn(view: View, width: int = 80, height: int = 24) -> str:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True,
                      color_system=None)  # fmt: skip
    with console.capture() as capture:
        console.print(view)
    return capture.get()


def test_the_view_shows_each_state_each_rule_and_fits_the_terminal() -> None:
    clock = VirtualClock(START)
    frames = show_all(View("seed 7", clock, 564), clock=clock)
    shown = "".join(frames)
    for state in set(State) - {State.IDLE, State.AUTO_ACTION}:
        assert f" {state} " in shown
    for rule in given(KNOWN.default):
        assert rule in shown
        assert BRIEFLY[rule] in shown
    for frame in frames:
        lines = frame.splitlines()
        assert len(lines) < 24
        assert max(map(len, lines)) <= 80


def test_a_countdown_runs_down() -> None:
    clock = VirtualClock(START)
    view = View("seed 7", clock, 1)
    show = Engine(
        [[deals.Deal(records.bundled()[0])]], run="7", seed=7, pace=pace.ACCELERATED,
        policy=KNOWN.default, start=START,
    )  # fmt: skip
    while not (sent := show.move()) or sent.name != "turn.started":
        if sent:
            view.sent(sent)
    view.sent(sent)
    seconds = sent.event["data"]["turn_seconds"]
    clock.advance(sent.arrival - START + 3 * SECOND)
    assert f"{seconds - 3:.1f} s" in drawn(view)


def test_a_wide_terminal_is_shown_game_and_board() -> None:
    view = View("seed 7", VirtualClock(START), 1)
    assert "board" not in drawn(view)
    show_all(view)
    assert "because" in drawn(view, 130, 40)


def test_many_tables_leave_room_for_the_decisions() -> None:
    view = View("every turn", VirtualClock(START), 1)
    engine = Engine(
        deals.all_of(records.bundled(), 60), run="7", seed=7, pace=pace.REAL,
        policy=KNOWN.default, start=START,
    )  # fmt: skip
    for _ in range(300):
        if sent := engine.move():
            view.sent(sent)
    assert len(drawn(view).splitlines()) < 24


def test_without_a_terminal_each_decision_is_one_plain_line() -> None:
    text = io.StringIO()
    show_all(Plain(Console(file=text, width=40)))
    first = text.getvalue().splitlines()[0]
    assert first.startswith("20:00:12.6  demo-7-1/3   Edna  fold       nothing-in-pot")
    assert first.endswith("away, nothing in the pot (I.ii.A)")


def call(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["demo", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_the_demo_ends_with_decisions_of_every_rule_and_none_that_differs(tmp_path: Path) -> None:
    file = tmp_path / "events"
    result = call("--speed", "1000", "--record", str(file))
    assert result.exit_code == 0, result.output
    assert "0 differ from what `seatwarden simulate` decides" in result.output
    for rule in given(KNOWN.default):
        assert f"\n{rule} " in result.output
    assert "\x1b" not in result.output
    simulated = CliRunner().invoke(app, ["simulate", str(file)])
    types = [json.loads(line)["type"] for line in simulated.output.splitlines()]
    decisions = types.count("seatwarden.decision.made.v1")
    assert f"{decisions} by a decision" in result.output


def test_other_hands_can_be_played_all_of_them(tmp_path: Path) -> None:
    file = tmp_path / "mine.phh"
    (record,) = (one for one in records.bundled() if one.name == "made 4")
    file.write_text(record.history.dumps())
    result = call("--hands", str(file), "--speed", "3000")
    assert result.exit_code == 0
    assert "of 1 hands" in result.output
    result = call("--hands", str(file), "--speed", "3000", "--every-turn")
    assert "3 turns of 1 hands" in result.output


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no hand with blinds"),
        ("Dear diary", "no hands in the PHH format"),
        ('variant = "NT"\nantes = [0]', "no hands in the PHH format"),
        (
            'variant="NT"\nantes=[0]\nblinds_or_straddles=[1,2]\nmin_bet=2\nstarting_stacks=[5]',
            "no hands in the PHH format",
        ),
    ],
)  # fmt: skip
def test_a_file_without_hands_is_told_of(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "hands.phhs"
    file.write_text(text)
    result = call("--hands", str(file))
    assert result.exit_code == 2
    assert told in result.stderr
    assert str(file) in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--hands", "nowhere.phhs"), "nowhere.phhs: cannot be read"),
        (("--amqp", "amqp://127.0.0.1:1/", "--speed", "2"), "a broker's time is real"),
        (("--every-turn", "--tables", "2"), "each turn has a table of its own"),
        (("--record", "/nowhere/events"), "/nowhere/events"),
        (("--tables", "0"), "--tables"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(arguments: tuple[str, ...], told: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_broker_that_is_not_there_is_told_of() -> None:
    result = call("--amqp", "amqp://guest:secret@127.0.0.1:1/")
    assert result.exit_code == 1
    assert "127.0.0.1:1" in result.stderr
    assert "secret" not in result.stderr


def test_without_pokerkit_the_demo_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pokerkit", None)
    result = call()
    assert result.exit_code == 2
    assert "seatwarden[demo]" in result.stderr
