"""The alerts: they fire when they should, name metrics that there are, and say what to do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.health.test_documented import documented

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "prometheus" / "alerts.yaml"
PLAYED = Path(__file__).parent / "alerts.yaml"
METRIC = re.compile(r"seatwarden_\w+|process_\w+")


def alerts() -> list[dict[str, Any]]:
    return [
        rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
    ]


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("promtool")
    if program is None:
        told = "promtool is missing (Debian's package prometheus has it)"
        # As with brokers: where the result counts, a test that did not run has failed.
        if os.environ.get("CI") == "true":
            pytest.fail(told)
        pytest.skip(told)
    return subprocess.run((program, *arguments), capture_output=True, text=True, check=False)


def test_the_alerts_fire_when_they_should() -> None:
    played = promtool("test", "rules", str(PLAYED))
    assert played.returncode == 0, played.stdout + played.stderr


def test_each_alert_is_played_firing_and_quiet() -> None:
    text, names = PLAYED.read_text(), {alert["alert"] for alert in alerts()}
    assert set(re.findall(r'alertname="(\w+)"', text)) == names
    assert set(re.findall(r"alertname: (\w+)", text)) == names


def test_each_alert_names_a_section_that_says_what_to_do() -> None:
    readme = (ROOT / "deploy" / "README.md").read_text()
    sections = {title.lower() for title in re.findall(r"^### (\w+)$", readme, re.MULTILINE)}
    named = {alert["annotations"]["runbook"] for alert in alerts()}
    assert named == {f"deploy/README.md#{alert['alert'].lower()}" for alert in alerts()}
    assert {one.partition("#")[2] for one in named} == sections


def test_each_metric_of_an_alert_is_one_of_ours() -> None:
    named = {name for alert in alerts() for name in METRIC.findall(alert["expr"])}
    assert {name.removesuffix("_bucket") for name in named} <= documented().keys()
