"""What these tests have found, as scenarios."""

from pathlib import Path

import pytest

from actors import scenarios
from actors.scenarios import Scenario
from statecharts.policy import Policies

FILES = sorted(Path(__file__).parent.glob("test_found*.yaml"))
FOUND = [(known, case) for known, cases in map(scenarios.load, FILES) for case in cases]


@pytest.mark.parametrize(
    ("known", "case"), [pytest.param(known, case, id=case.name) for known, case in FOUND]
)
def test_what_was_found_does_not_come_again(known: Policies, case: Scenario) -> None:
    assert scenarios.play(case, known) == []
