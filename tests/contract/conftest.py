"""The contract is held against each broker in turn."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.broker.installation import FLAVOURS
from tests.broker.nodes import Node, running
from tests.conftest import installed
from tests.contract.site import MemorySite, RabbitSite, Site

MEMORY = "memory"


@pytest.fixture(
    scope="session",
    params=[MEMORY, *(pytest.param(flavour, marks=pytest.mark.broker) for flavour in FLAVOURS)],
)
def contract_node(request: pytest.FixtureRequest) -> Iterator[Node | None]:
    """Give a node of each version in turn, None for the broker in memory."""
    if request.param == MEMORY:
        yield None
        return
    with running(installed(request.param)) as node:
        yield node


@pytest.fixture
def address(contract_node: Node | None) -> Iterator[str]:
    """Give the address of an empty virtual host, "" for the broker in memory."""
    if contract_node is None:
        yield ""
        return
    with contract_node.vhost() as url:
        yield url


@pytest.fixture
async def site(contract_node: Node | None, address: str) -> AsyncIterator[Site]:
    """Give a broker without queues, exchanges and connections."""
    site: Site = RabbitSite(contract_node, address) if contract_node else MemorySite()
    yield site
    await site.close()
