"""The command line: what it prints, its exit statuses, and that no traceback reaches a user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from actors.cli import app

POLICY_FILES = Path(__file__).parents[2] / "statecharts" / "policies"


def call(*arguments: str, given: str = "", **environment: str) -> Result:
    result = CliRunner().invoke(app, arguments, input=given, env=environment)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def event(name: str, seconds: int, **data: object) -> str:
    return json.dumps(
        {
            "specversion": "1.0",
            "id": f"{name}{seconds}",
            "source": "/engine",
            "type": f"seatwarden.{name}.v1",
            "time": f"2026-01-01T00:00:{seconds:02}Z",
            "subject": "t1/1",
            "data": data,
        }
    )


TURN = event(
    "turn.started", 0, hand_id="h", turn_id="u", player_id="p", turn_seconds=20, format="cash",
    to_call=0, contributed=0, pots=[3], big_blind=2,
)  # fmt: skip


def test_policy_test_passes_with_status_0() -> None:
    result = call("policy", "test", *map(str, sorted((POLICY_FILES / "scenarios").glob("*.yaml"))))
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].endswith(" passed, 0 failed")


def test_policy_test_fails_with_status_1_and_says_what_was_expected_and_what_came(
    tmp_path: Path,
) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(
        "scenarios: [{name: wrong, events: [[0, turn.started, {}]], decisions: [[20, fold]]}]"
    )
    result = call("policy", "test", str(file))
    assert result.exit_code == 1
    assert "decisions expected: [[20, 'fold']]" in result.stdout
    assert "decisions came:     [[20.0, 'check'" in result.stdout


@pytest.mark.parametrize("text", [None, "scenarios: ["])
def test_policy_test_cannot_read_a_file_with_status_2(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "broken.yaml"
    if text is not None:
        file.write_text(text)
    result = call("policy", "test", str(file))
    assert result.exit_code == 2
    assert "broken.yaml" in result.stderr


def test_simulate_gives_the_same_bytes_twice() -> None:
    first, second = (call("simulate", given=f"{TURN}\n\n") for _ in range(2))
    assert first.exit_code == 0
    assert first.stdout_bytes == second.stdout_bytes
    made = [json.loads(line) for line in first.stdout.splitlines()]
    assert [one["type"].split(".", 1)[1] for one in made] == [
        "seat.changed.v1",
        "decision.made.v1",
        "seat.changed.v1",
    ]
    assert made[1]["data"]["deadline"] == "2026-01-01T00:00:20.000000Z"
    assert made[1]["data"]["late_ms"] == 0


def test_simulate_refuses_a_bad_line_and_goes_on() -> None:
    result = call("simulate", given=f"nonsense\n{TURN}")
    types = [json.loads(line)["type"] for line in result.stdout.splitlines()]
    assert types[0] == "seatwarden.event.refused.v1"
    assert "seatwarden.decision.made.v1" in types


def test_simulate_believes_an_arrival() -> None:
    late = json.loads(event("turn.acted", 19, hand_id="h", turn_id="u"))
    late["arrival"] = "2026-01-01T00:00:21Z"
    in_time = call("simulate", given=f"{TURN}\n{event('turn.acted', 19, hand_id='h', turn_id='u')}")
    too_late = call("simulate", given=f"{TURN}\n{json.dumps(late)}")
    assert "decision.made" not in in_time.stdout
    assert "decision.made" in too_late.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("simulate", "no-such-file"),
        ("simulate", "."),
        ("simulate", "--policy", "nobody", "-"),
        ("run", "--policy", "nobody"),
        ("run", "--amqp", "http://example.com"),
        ("run", "--prefetch", "0"),
    ],
)
def test_what_cannot_be_used_is_status_2_with_a_reason(arguments: tuple[str, ...]) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("seatwarden: ")


def test_config_shows_the_effective_settings_without_secrets() -> None:
    result = call(
        "config",
        SEATWARDEN_AMQP_URL="amqps://me:s3cret@broker.example/games",
        SEATWARDEN_PREFETCH="10",
    )
    assert result.exit_code == 0
    assert "SEATWARDEN_AMQP_URL=amqps://me:***@broker.example/games" in result.stdout
    assert "SEATWARDEN_PREFETCH=10" in result.stdout
    assert "s3cret" not in result.output


def test_a_bad_setting_is_named_with_the_reason_and_no_secret() -> None:
    result = call(
        "config",
        SEATWARDEN_AMQP_URL="amqp://me:s3cret@host:port/",
        SEATWARDEN_SETTLE_SECONDS="soon",
    )
    assert result.exit_code == 2
    assert "SEATWARDEN_AMQP_URL" in result.stderr
    assert "SEATWARDEN_SETTLE_SECONDS" in result.stderr
    assert "s3cret" not in result.output


def test_a_broker_that_cannot_be_reached_is_said_clearly_and_given_up() -> None:
    environment = {**os.environ, "SEATWARDEN_GIVE_UP_SECONDS": "1"}
    done = subprocess.run(
        [
            Path(sys.executable).with_name("seatwarden"),
            "run",
            "--amqp",
            "amqp://a:s3cret@127.0.0.1:1/",
        ],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    assert "127.0.0.1:1" in done.stderr
    assert "Traceback" not in done.stderr
    assert "s3cret" not in done.stderr
