"""Fixtures for all tests: RabbitMQ brokers."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.broker.cluster import Cluster, clustered
from tests.broker.installation import FLAVOURS, BrokerMissingError, Installation, find
from tests.broker.nodes import Node, running


@dataclass(frozen=True)
class Broker:
    """A virtual host for one test, on a node that all tests share: never stop that one."""

    url: str
    node: Node


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if {"broker", "own_node", "cluster"} & set(getattr(item, "fixturenames", ())):
            item.add_marker("broker")


@pytest.fixture(scope="session", params=FLAVOURS)
def shared_node(request: pytest.FixtureRequest) -> Iterator[Node]:
    """Give a node of each version in turn; pytest runs all tests with one before the next."""
    with running(installed(request.param)) as node:
        yield node


@pytest.fixture
def broker(shared_node: Node) -> Iterator[Broker]:
    """Give an empty virtual host; the test runs once with each version of RabbitMQ."""
    with shared_node.vhost() as url:
        yield Broker(url, shared_node)


@pytest.fixture(params=FLAVOURS)
def own_node(request: pytest.FixtureRequest) -> Iterator[Node]:
    """Give a node that the test may kill and restart; costs six seconds for each version."""
    with running(installed(request.param)) as node:
        yield node


@pytest.fixture(scope="module", params=FLAVOURS)
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Give three nodes as one broker; costs a quarter of a minute for each version and module.

    The tests of a module share it: each leaves it as found, all nodes running and none cut off.
    """
    with clustered(installed(request.param)) as cluster:
        yield cluster


def installed(flavour: str) -> Installation:
    try:
        return find(flavour)
    except BrokerMissingError as missing:
        # A laptop may do without; where the result counts, a test that did not run has failed.
        if os.environ.get("CI") == "true":
            pytest.fail(str(missing))
        pytest.skip(str(missing))
