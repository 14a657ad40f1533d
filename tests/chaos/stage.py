"""Where the tests play: a broker, workers as processes, a crowd, and the reckoning at the end."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from actors.broker.topology import DEAD_LETTERS
from actors.rabbit import RabbitTransport
from actors.transport import Connection
from statecharts.instants import SECOND, from_rfc3339
from tests.broker.nodes import Node
from tests.broker.service import Service
from tests.chaos import journals, verdict
from tests.chaos.crowd import Copy, Crowd, Heard, now
from tests.chaos.failing import Point
from tests.chaos.journals import Journals
from tests.chaos.plans import POLICY
from tests.chaos.report import Row, note
from tests.chaos.verdict import Verdict

T = TypeVar("T")

SHARDS = 4
READY_SECONDS = 60
ROOMY = 120.0
"""Seconds for what takes some on an idle machine."""


class Stage:
    """One virtual host, its workers and its crowd."""

    def __init__(
        self, what: str, node: Node, urls: Sequence[str], stack: AsyncExitStack, shards: int
    ) -> None:
        """`urls` are those of a virtual host on the node, and on others of its cluster."""
        self.what = what
        self.node = node
        self.urls = urls
        self.stamps = node.installation.flavour == "4.x"
        self.crowd = Crowd(*urls)
        self.workers: list[Worker] = []
        self.shards = shards
        self.journals: Journals | None = None
        self.verdict: Verdict | None = None
        self._stack = stack
        self._hit: int | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The settings of the workers."""
        return {
            "SEATWARDEN_POLICY": str(POLICY),
            "SEATWARDEN_BROKER_STAMPS": str(self.stamps).lower(),
            "SEATWARDEN_SHARDS": str(self.shards),
            "SEATWARDEN_ALL_CHANGES": "true",
        }

    async def worker(
        self, dies: Point | None = None, *, url: str | None = None, ready: bool = True,
        env: Mapping[str, str] | None = None,
    ) -> "Worker":  # fmt: skip
        """Start one more worker, and wait until it is ready."""
        made = Worker(url or self.urls[0], {**self.environment, **(env or {})}, dies)
        worker = await self._stack.enter_async_context(made)
        self.workers.append(worker)
        if ready:
            await worker.wait_for("ready", READY_SECONDS)
        return worker

    def hit(self) -> None:
        """Say that the disturbance begins now."""
        self._hit = now()

    async def judge(self, url: str | None = None) -> Verdict:
        """Wait until all turns are over, and judge; the row is printed at the end of the run.

        `url` is that of a node that runs, if not all do.  AssertionError for whatever is missing,
        doubled or different.
        """
        await self.crowd.finish()
        self.journals = await journals.read(url or self.urls[0])
        found = await asyncio.to_thread(
            verdict.judge, self.crowd, self.journals, stamps=self.stamps and self.crowd.overhears
        )
        self.verdict = found
        silence = None if self._hit is None else self.journals.silence(self._hit)
        found.different += self.journals.faults()
        note(Row(self.what, self.node.version, found, silence))
        assert not found.faults, "\n".join(found.faults[:20])
        return found

    def keep(self) -> None:
        """Keep what was logged and heard, in the folder that CHAOS_KEEP names, if any."""
        if not (folder := os.environ.get("CHAOS_KEEP")):
            return
        to = Path(folder) / f"{self.what} {self.node.version}".replace(" ", "-")
        to.mkdir(parents=True, exist_ok=True)
        for number, worker in enumerate(self.workers):
            (to / f"worker-{number}.log").write_bytes(worker.log.read_bytes())
        told = [one for copies in self.crowd.outputs.values() for one in copies]
        both: list[Heard | Copy] = [*self.crowd.heard, *told]
        heard = "".join(f"{one}\n" for one in sorted(both, key=_received))
        (to / "crowd").write_text(heard)
        for shard, entries in enumerate(self.journals.shards if self.journals else ()):
            lines = (f"{one.epoch} {json.dumps(one.plain)} {one.keys}\n" for one in entries)
            (to / f"journal-{shard}").write_text("".join(lines))

    async def dead_letters(self) -> int:
        """Return how many there are."""
        async with connected(self.urls[0]) as connection:
            survey = await connection.survey(DEAD_LETTERS)
            return survey.messages if survey else 0

    async def owned(self) -> None:
        """Wait until the workers that run own all shards between them."""
        async with asyncio.timeout(ROOMY):
            while True:
                owned = [worker.owned() for worker in self.workers if worker.runs]
                if sum(map(len, owned)) == self.shards == len(set().union(*owned)):
                    return
                await asyncio.sleep(0.05)


class Worker(Service):
    """The command as a process, perhaps one that dies at a point."""

    def __init__(self, url: str, env: Mapping[str, str], dies: Point | None = None) -> None:
        super().__init__(url, env)
        self._plain = (self._argv, dict(self._environment))
        self.dies(dies)

    def dies(self, point: Point | None) -> None:
        """Let it die at a point when it is started the next time."""
        argv, environment = self._plain
        if point is None:
            self._argv, self._environment = argv, environment
            return
        self._argv = (sys.executable, "-m", "tests.chaos.failing", *argv[3:])
        self._environment = {**environment, **point.env}

    @property
    def runs(self) -> bool:
        """Whether it has neither ended nor been killed."""
        return self._process is not None and self._process.status is None

    def owned(self) -> set[int]:
        """Return the shards that it owns, by its log since its last start."""
        owned: set[int] = set()
        for line in self.log_lines():
            match line.get("event"):
                case "owns the shard":
                    owned.add(line["shard"])
                case "handed over" | "lease lost" | "cannot serve the shard":
                    owned.discard(line["shard"])
                case "starting" | "connection lost":
                    owned.clear()
        return owned

    def said(self, event: str, after: int = 0) -> list[dict[str, Any]]:
        """Return the lines of its log about something."""
        return [line for line in self.log_lines()[after:] if line.get("event") == event]

    def live_since(self, instant: int) -> float:
        """Return how many seconds after an instant it last came to own a shard."""
        lines = self.said("owns the shard")
        return (max(from_rfc3339(line["timestamp"]) for line in lines) - instant) / SECOND


@asynccontextmanager
async def stage(what: str, node: Node, *others: Node, shards: int = SHARDS) -> AsyncIterator[Stage]:
    """Give a stage on a virtual host of its own, with a crowd that has said nothing yet.

    `others` are nodes of the same cluster.
    """
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(threaded(node.vhost()))
        urls = [url.replace(node.url, each.url) for each in (node, *others)]
        made = Stage(what, node, urls, stack, shards)
        # The crowd leaves last: it hears what the workers say until their end.
        await stack.enter_async_context(made.crowd)
        try:
            yield made
        except Exception:
            made.keep()
            raise


def _received(one: Heard | Copy) -> int:
    return one.received


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Connection]:
    """Give a connection."""
    connection = await RabbitTransport(url).connect()
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def threaded(context: AbstractContextManager[T]) -> AsyncIterator[T]:
    """Enter and leave in a thread what blocks."""
    entered = await asyncio.to_thread(context.__enter__)
    try:
        yield entered
    finally:
        await asyncio.to_thread(context.__exit__, None, None, None)
