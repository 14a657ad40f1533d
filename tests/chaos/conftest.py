"""The table at the end of the run."""

import pytest

from tests.chaos.report import printed


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if told := printed():
        terminalreporter.section("chaos")
        terminalreporter.write(told)
