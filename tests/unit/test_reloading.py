"""Reading the policies again: all count or none, and the log tells which."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

import structlog
from structlog.typing import EventDict, FilteringBoundLogger

from actors import policies
from actors.reloading import Reloading
from statecharts.policy import Policies

HOUSE = "name: house\ngrace: [{seconds: 10}]\n"
OTHER = "name: other\ngrace: []\n"


class Desk:
    """One who reloads, what he has had used, and what he has logged."""

    def __init__(self, read: Callable[[], Policies], known: Policies) -> None:
        self.used: list[Policies] = []
        self.reloading = Reloading(known, read, self.used.append, self._log())
        self._lines: list[EventDict] = []
        self._is_done = asyncio.Event()

    async def reload(self, *, times: int = 1) -> list[EventDict]:
        """Ask once; returns what was logged until it was done `times`."""
        self._lines = []
        running = asyncio.create_task(self.reloading.run())
        self.reloading.ask()
        async with asyncio.timeout(20):
            for _ in range(times):
                await self._is_done.wait()
                self._is_done.clear()
        await asyncio.to_thread(int)  # a reading that nobody asked for would have begun before it
        running.cancel()
        return self._lines

    def _log(self) -> FilteringBoundLogger:
        return cast(
            "FilteringBoundLogger",
            structlog.wrap_logger(
                structlog.ReturnLogger(),
                processors=[structlog.processors.add_log_level, self._hear],
            ),
        )

    def _hear(self, _: object, __: str, line: EventDict) -> EventDict:
        self._lines.append(line)
        if "reloaded" in line["event"]:
            self._is_done.set()
        raise structlog.DropEvent


def digest(text: str) -> str:
    return policies.parse(text, "").digest


async def test_what_was_added_changed_and_removed_is_told_with_digests(tmp_path: Path) -> None:
    house, other = tmp_path / "house.yaml", tmp_path / "other.yaml"
    house.write_text(HOUSE)
    read = partial(policies.for_service, "adda52", tmp_path)
    desk = Desk(read, read())
    other.write_text(OTHER)
    house.write_text(HOUSE.replace("10", "20"))
    [told] = await desk.reload()
    was, now = digest(HOUSE), digest(HOUSE.replace("10", "20"))
    assert (told["level"], told["event"]) == ("info", "policies reloaded")
    assert told["added"] == {"other": digest(OTHER)}
    assert told["changed"] == {"house": f"{was} -> {now}"}
    assert told["removed"] == {}
    house.unlink()
    [told] = await desk.reload()
    assert (told["added"], told["changed"], told["removed"]) == ({}, {}, {"house": now})
    assert [one.named("house") is not None for one in desk.used] == [True, False]
    [told] = await desk.reload()
    assert (told["added"], told["changed"], told["removed"]) == ({}, {}, {})


async def test_with_a_fault_all_stay_and_each_fault_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "house.yaml").write_text(HOUSE)
    read = partial(policies.for_service, "house", tmp_path)
    desk = Desk(read, read())
    (tmp_path / "fine.yaml").write_text(OTHER)
    (tmp_path / "house.yaml").write_text("name: house\ngrace: [{seconds: -1}]\ncolour: red\n")
    told = await desk.reload()
    assert desk.used == []
    assert all(one["level"] == "error" for one in told)
    places = [(one.get("file"), one.get("line"), one.get("key")) for one in told]
    file = str(tmp_path / "house.yaml")
    assert places == [
        (file, 2, "grace, number 1, seconds"),
        (file, 3, "colour"),
        (None, None, None),
    ]
    assert told[0]["reason"] == "must be a number from 0 to 86400"
    assert told[2]["event"] == "policies not reloaded: all stay as they were"


async def test_a_default_that_is_gone_is_a_fault_and_no_other_takes_its_place(
    tmp_path: Path,
) -> None:
    file = tmp_path / "house.yaml"
    file.write_text(HOUSE)
    by_name, by_path = (
        Desk(read, read())
        for read in (
            partial(policies.for_service, "house", tmp_path),
            partial(policies.for_service, str(file)),
        )
    )
    file.unlink()
    [told, _] = await by_name.reload()
    assert (told["file"], "there is no such policy (adda52, " in told["reason"]) == ("house", True)
    [told, _] = await by_path.reload()
    assert told["file"] == str(file)
    assert "cannot be read: No such file or directory" in told["reason"]
    assert by_name.used == by_path.used == []


async def test_a_fault_of_ours_is_logged_and_the_next_time_it_may_work() -> None:
    known = policies.bundled()
    answers: list[Exception | None] = [RuntimeError("a bug"), None]

    def read() -> Policies:
        if fault := answers.pop(0):
            raise fault
        return known

    desk = Desk(read, known)
    [told] = await desk.reload()
    assert told["event"] == "policies not reloaded: a fault of ours"
    assert str(told["exc_info"]) == "a bug"
    assert desk.used == []
    await desk.reload()
    assert desk.used == [known]


async def test_asked_while_reading_they_are_read_once_more(tmp_path: Path) -> None:
    loop, reads = asyncio.get_running_loop(), 0

    def read() -> Policies:
        nonlocal reads
        reads += 1
        found = policies.for_service("adda52", tmp_path)
        if reads == 1:
            (tmp_path / "house.yaml").write_text(HOUSE)  # behind our back
            for _ in range(2):
                loop.call_soon_threadsafe(desk.reloading.ask)
        return found

    desk = Desk(read, policies.bundled())
    await desk.reload(times=2)
    assert [one.named("house") is not None for one in desk.used] == [False, True]
    assert reads == 2


async def test_a_file_that_stands_for_a_bundled_policy_is_warned_of(tmp_path: Path) -> None:
    read = partial(policies.for_service, "adda52", tmp_path)
    desk = Desk(read, read())
    (tmp_path / "ours.yaml").write_text("name: relax\ngrace: []\n")
    [told, warned] = await desk.reload()
    was, now = (known.by_name["relax"].digest for known in (policies.bundled(), read()))
    assert told["changed"] == {"relax": f"{was} -> {now}"}
    assert (warned["level"], warned["policy"]) == ("warning", "relax")
    assert (warned["digest"], warned["bundled"]) == (now, was)
