"""Whatever is done to workers or broker: no decision is missing, doubled or different."""

import asyncio
from collections.abc import Mapping

import pytest

from tests.broker.installation import FLAVOURS
from tests.chaos import deaths, outages, sharing  # noqa: F401 - they put their scenes into SCENES
from tests.chaos.scenes import SCENES, played
from tests.conftest import installed


@pytest.fixture(scope="module", params=FLAVOURS)
def results(request: pytest.FixtureRequest) -> Mapping[str, BaseException | None]:
    """Give what has failed in each scene that is wanted, once with each version of RabbitMQ."""
    specs = [item.callspec for item in request.session.items if hasattr(item, "callspec")]
    wanted = {spec.params["name"] for spec in specs if spec.params.get("results") == request.param}
    return asyncio.run(played(installed(request.param), sorted(wanted)))


@pytest.mark.broker
@pytest.mark.parametrize("name", [name for name, one in SCENES.items() if not one.is_long])
def test_no_decision_is_missing_doubled_or_different(
    results: Mapping[str, BaseException | None], name: str
) -> None:
    if failed := results[name]:
        raise failed
