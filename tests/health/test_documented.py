"""Every metric stands in the README with its labels, and nothing else does."""

from __future__ import annotations

import re
from pathlib import Path

from actors.health.backlogs import Backlogs
from actors.health.exposition import Exposition
from tests.worker.house import a_house

README = Path(__file__).parents[2] / "README.md"
NAME, LABEL = r"`(?:seatwarden|process)_\w+`", r"`\w+`"
ROW = re.compile(rf"^\| ((?:{NAME}(?:, )?)+) \| ((?:{LABEL}(?:, )?)*) ?\|", re.MULTILINE)
WITHIN = {"le"}
"""Labels that a histogram has by itself."""


def documented() -> dict[str, set[str]]:
    return {
        name: set(re.findall(r"`(\w+)`", labels))
        for names, labels in ROW.findall(README.read_text())
        for name in re.findall(r"`(\w+)`", names)
    }


async def told() -> dict[str, set[str]]:
    async with a_house() as house:
        await house.turn("u1", to_call=0, turn_seconds=1)
        await house.turn("u2", subject="t2/1", format="tournament")
        await house.pass_time(2)
        backlogs = Backlogs(house.worker)
        await backlogs.ask()
        found = {}
        for family in Exposition(house.worker, backlogs).registry.collect():
            suffix = {"counter": "_total", "info": "_info"}.get(family.type, "")
            labels = {label for sample in family.samples for label in sample.labels}
            assert family.samples, f"{family.name}: without a sample its labels are not known"
            found[family.name.removesuffix("_total") + suffix] = labels - WITHIN
        return found


async def test_every_metric_is_documented_with_its_labels() -> None:
    assert documented() == await told()
