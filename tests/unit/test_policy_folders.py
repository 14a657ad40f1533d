"""A folder of an operator's policy files: what counts, and what is wrong with it, in full."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from actors import policies
from actors.cli import app
from actors.policies import PolicyError

HOUSE = "name: house\ngrace: [{seconds: 10}]\n"
SLOW = "name: adda52\ngrace: [{seconds: 100}]\n"
BUNDLED = policies.bundled().by_name
TURN = (
    '{"specversion": "1.0", "id": "1", "source": "/e", "type": "seatwarden.turn.started.v1",'
    ' "time": "2026-01-01T00:00:00Z", "subject": "t1/1", "data": {"hand_id": "h", "turn_id": "u",'
    ' "player_id": "p", "turn_seconds": 5, "format": "cash", "to_call": 0, "contributed": 0,'
    ' "pots": [3], "big_blind": 2, "policy": "house"}}'
)


def call(*arguments: str, given: str = "", folder: Path | str | None = None) -> Result:
    environment = None if folder is None else {"SEATWARDEN_POLICIES": str(folder)}
    result = CliRunner().invoke(app, arguments, input=given, env=environment)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def faults(folder: Path, default: str = "adda52") -> list[str]:
    with pytest.raises(PolicyError) as error:
        policies.for_service(default, folder)
    return str(error.value).splitlines()


def taken_by(file: Path) -> str:
    return f"house is the policy in {file} already, and a name stands for one file"


def test_the_files_of_a_folder_are_at_hand_beside_the_bundled_ones(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(HOUSE)
    (tmp_path / "two.yml").write_text("name: another\ngrace: []\n")
    known = policies.for_service("adda52", tmp_path)
    assert known.by_name.keys() == {*BUNDLED, "house", "another"}
    assert known.default is BUNDLED["adda52"]
    assert policies.for_service("house", tmp_path).default.name == "house"


def test_what_is_no_policy_file_of_the_folder_is_left_alone(tmp_path: Path) -> None:
    for name in ("README.md", ".house.yaml", "house.yaml~", "house.yaml.bak"):
        (tmp_path / name).write_text("nonsense: [")
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "house.yaml").write_text("scenarios: []")
    assert policies.for_service("adda52", tmp_path).by_name == BUNDLED


def test_a_file_of_a_bundled_name_stands_for_the_bundled_policy(tmp_path: Path) -> None:
    (tmp_path / "ours.yaml").write_text(SLOW)
    known = policies.for_service("adda52", tmp_path)
    assert known.by_name.keys() == BUNDLED.keys()
    assert known.default.grace[0].seconds == 100


def test_every_fault_of_every_file_is_told_with_file_line_key_and_reason(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: a\ngrace: [{seconds: -1}]\nbuffer_seconds: soon\n")
    (tmp_path / "b.yaml").write_text(HOUSE)
    (tmp_path / "c.yaml").write_text("name: c\ngrace: [{seconds: 1}]\nbufer_seconds: 3\n")
    (tmp_path / "d.yaml").write_text(f"# As in the club.\n{HOUSE}")
    assert faults(tmp_path) == [
        f"{tmp_path}/a.yaml:2: grace, number 1, seconds: must be a number from 0 to 86400",
        f"{tmp_path}/a.yaml:3: buffer_seconds: must be a number from 0 to 86400",
        f"{tmp_path}/c.yaml:3: bufer_seconds: there is no such key; did you mean buffer_seconds?",
        f"{tmp_path}/d.yaml:2: name: {taken_by(tmp_path / 'b.yaml')}",
    ]


def test_what_cannot_be_read_is_a_fault_and_nobody_waits_for_it(tmp_path: Path) -> None:
    (tmp_path / "dangling.yaml").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "latin.yaml").write_bytes(b"source: caf\xe9\n")
    os.mkfifo(tmp_path / "pipe.yaml")
    assert faults(tmp_path) == [
        f"{tmp_path}/dangling.yaml: cannot be read: No such file or directory",
        f"{tmp_path}/latin.yaml: cannot be read: it is not UTF-8: invalid continuation byte",
        f"{tmp_path}/pipe.yaml: cannot be read: it is no file",
    ]
    assert faults(tmp_path / "gone") == [
        f"{tmp_path}/gone: cannot be read: No such file or directory"
    ]


def test_a_default_of_no_name_and_no_file_is_answered_with_the_names_there_are(
    tmp_path: Path,
) -> None:
    (tmp_path / "house.yaml").write_text(HOUSE)
    [told] = faults(tmp_path, "nobody")
    assert told.startswith("nobody: there is no such policy (adda52, ")
    assert ", house, " in told


def test_a_default_file_may_stand_in_the_folder_and_may_not_take_a_name_of_it(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "house.yaml").write_text(HOUSE)
    (tmp_path / "link.yaml").symlink_to(folder / "house.yaml")
    (tmp_path / "draft.yaml").write_text(f"source: here\n{HOUSE}")
    for same in (folder / "house.yaml", tmp_path / "link.yaml"):
        assert policies.for_service(str(same), folder).default.name == "house"
    assert faults(folder, str(tmp_path / "draft.yaml")) == [
        f"{tmp_path}/draft.yaml:2: name: {taken_by(folder / 'house.yaml')}"
    ]
    # Who only looks at a draft means the draft.
    assert policies.find(str(tmp_path / "draft.yaml"), folder).default.source == "here"


# -- Commands


@pytest.mark.parametrize("command", ["config", "run"])
def test_a_faulty_folder_is_a_bad_setting(tmp_path: Path, command: str) -> None:
    (tmp_path / "house.yaml").write_text("name: house\ngrace: [{seconds: soon}]\n")
    result = call(command, folder=tmp_path)
    assert result.exit_code == 2
    assert f"{tmp_path}/house.yaml:2: grace, number 1, seconds: must be" in result.stderr


def test_a_folder_that_is_none_is_named_with_its_setting(tmp_path: Path) -> None:
    result = call("config", folder=tmp_path / "gone")
    assert result.exit_code == 2
    assert f"SEATWARDEN_POLICIES: {tmp_path}/gone is no folder that can be read" in result.stderr


def test_an_empty_setting_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stray.yaml").write_text("nonsense: [")
    monkeypatch.chdir(tmp_path)
    assert "SEATWARDEN_POLICIES=None" in call("config", folder="").stdout


def test_the_list_tells_the_files_and_what_they_stand_for(tmp_path: Path) -> None:
    (tmp_path / "house.yaml").write_text(HOUSE)
    (tmp_path / "ours.yaml").write_text(SLOW)
    lines = call("policy", "list", "--policies", str(tmp_path)).stdout.splitlines()
    assert [line.split()[0] for line in lines] == sorted([*BUNDLED, "house"])
    told = {line.split()[0]: line for line in lines}
    assert told["house"].endswith(f"{tmp_path}/house.yaml")
    assert told["adda52"].endswith(f"{tmp_path}/ours.yaml (instead of the bundled one)")
    assert "ours.yaml" not in call("policy", "list").stdout


@pytest.mark.parametrize(
    "arguments", [("show", "house"), ("explain", "house"), ("diff", "adda52", "house")]
)
def test_a_policy_of_the_folder_can_be_named(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "house.yaml").write_text(HOUSE)
    assert call("policy", *arguments).exit_code == 2
    result = call("policy", *arguments, folder=tmp_path)
    assert (result.exit_code, "house" in result.stdout) == (0, True)


def test_the_files_of_a_folder_are_checked_together(tmp_path: Path) -> None:
    assert "no policy files" in call("policy", "check", str(tmp_path)).stdout
    (tmp_path / "house.yaml").write_text(HOUSE)
    (tmp_path / "ours.yaml").write_text(SLOW)
    fine = call("policy", "check", str(tmp_path))
    assert fine.exit_code == 0
    assert f"{tmp_path}/house.yaml: fine; policy house, digest" in fine.stdout
    assert fine.stdout.splitlines()[1].endswith("(instead of the bundled one)")
    (tmp_path / "same.yaml").write_text(HOUSE)
    result = call("policy", "check", str(tmp_path))
    assert result.exit_code == 2
    assert f"{tmp_path}/same.yaml:1: name: house is the policy in" in result.stdout


def test_scenarios_and_simulations_may_name_a_policy_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "house.yaml").write_text(HOUSE)
    scenarios = tmp_path / "scenarios"
    scenarios.mkdir()
    (scenarios / "house.yaml").write_text(
        "policy: house\nscenarios: [{name: away, events: [[0, turn.started, {to_call: 1,"
        " contributed: 1, pots: [9], turn_seconds: 5}], [1, player.disconnected, {}]],"
        " decisions: [[18, fold]]}]\n"
    )
    assert call("policy", "test", str(scenarios / "house.yaml")).exit_code == 2
    tested = call("policy", "test", str(scenarios / "house.yaml"), folder=tmp_path)
    assert tested.stdout == "1 passed, 0 failed\n"
    assert '"event.refused' not in call("simulate", given=TURN, folder=tmp_path).stdout
    decided = call("simulate", "--policies", str(tmp_path), given=TURN).stdout
    assert '"name":"house"' in decided
    assert "there is no policy 'house'" in call("simulate", given=TURN).stdout
