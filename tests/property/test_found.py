"""What these tests have found, as scenarios."""

from pathlib import Path

import pytest

from actors import scenarios
from actors.scenarios import Scenario

KNOWN, FOUND = scenarios.load(Path(__file__).with_suffix(".yaml"))


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in FOUND])
def test_what_was_found_does_not_come_again(case: Scenario) -> None:
    assert scenarios.play(case, KNOWN) == []
