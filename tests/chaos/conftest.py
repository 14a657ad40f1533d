"""Nodes that tests may kill, and the table at the end."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.broker.installation import FLAVOURS
from tests.broker.nodes import Node, running
from tests.chaos.report import printed
from tests.chaos.stage import Stage, stage
from tests.conftest import installed


@pytest.fixture(scope="session", params=FLAVOURS)
def rough_node(request: pytest.FixtureRequest) -> Iterator[Node]:
    """Give a node of each version in turn that a test may kill: it leaves it running."""
    with running(installed(request.param)) as node:
        yield node


@pytest.fixture
async def rough(rough_node: Node) -> AsyncIterator[Stage]:
    """Give a stage on such a node."""
    async with stage(rough_node) as made:
        yield made


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "rough_node" in getattr(item, "fixturenames", ()):
            item.add_marker("broker")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if told := printed():
        terminalreporter.section("chaos")
        terminalreporter.write(told)
