"""Readiness: told by a file, for probes that can run no more than `test -e`."""

from __future__ import annotations

from pathlib import Path

from tests.broker.service import Service
from tests.conftest import Broker


async def test_the_file_exists_while_the_worker_is_ready(broker: Broker, tmp_path: Path) -> None:
    file = tmp_path / "ready"
    file.touch()
    async with Service(broker.url, {"SEATWARDEN_READY_FILE": str(file)}) as service:
        await service.wait_for("starting")
        assert not file.exists(), "one that was left behind says nothing"
        await service.wait_for("ready")
        assert file.exists()
        assert await service.stop() == 0
        assert not file.exists()
