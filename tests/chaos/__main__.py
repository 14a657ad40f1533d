"""`python -m tests.chaos`: the long variants, measured and printed.

scenes [NAME...]   all scenes, or some
takeover           2,000 turns on two workers, one killed: ten times; then once with 10,000
restore            a journal with 100,000 seats, opened in a process of its own
outages            forty seconds without broker, workers or publishing, thirty frozen
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from statistics import median

from tests.broker.installation import FLAVOURS, Installation, find
from tests.broker.nodes import running
from tests.chaos import deaths, outages, restoring, sharing
from tests.chaos.report import printed, tell
from tests.chaos.scenes import SCENES, played
from tests.chaos.stage import stage, threaded


async def _scenes(installation: Installation, names: Sequence[str]) -> bool:
    failed = await played(installation, names or SCENES)
    for name, error in failed.items():
        if error:
            tell(f"FAILED {installation.flavour} {name}: {error!r}")
    return not any(failed.values())


async def _takeover(installation: Installation, times: int, turns: int) -> None:
    async with threaded(running(installation)) as node:
        took = []
        for _ in range(times):
            async with stage(f"{sharing.TURNS} turns, one of two workers killed", node) as on:
                took.append(await sharing.take_over(on, sharing.TURNS, sharing.OPENING_SECONDS))
        for what, values in (
            ("live on the last shard", [one.live for one in took]),
            ("deadlines stood still", [one.stood_still for one in took]),
        ):
            if values:
                numbers = f"median {median(values):.2f} s, worst {max(values):.2f} s"
                tell(f"{node.version}: {what}: {numbers}")
        if turns:
            async with stage(f"{turns} turns, one of two workers killed", node, shards=8) as on:
                await sharing.take_over(on, turns, turns / 250)


async def _restore(installation: Installation, seats: int, *, profile: bool) -> None:
    async with threaded(running(installation)) as node:
        tell(await restoring.measure(node, seats, profile=profile))


async def _outages(installation: Installation) -> None:
    for name, play, seconds in (
        ("40 s without broker", outages.broker_away, 40),
        ("40 s without workers", outages.workers_away, 40),
        ("40 s with publishers blocked", outages.publishers_blocked, 40),
        ("30 s frozen, another stands by", deaths.freeze, 30),
    ):
        async with threaded(running(installation)) as node, stage(name, node) as on:
            await play(on, seconds)


async def _all(arguments: argparse.Namespace) -> bool:
    well = True
    for flavour in arguments.on or FLAVOURS:
        installation = find(flavour)
        match arguments.what:
            case "scenes":
                well &= await _scenes(installation, arguments.names)
            case "takeover":
                await _takeover(installation, arguments.times, arguments.turns)
            case "restore":
                await _restore(installation, arguments.seats, profile=arguments.profile)
            case "outages":
                await _outages(installation)
    return well


def main() -> int:
    """Play what is asked for, and print what was measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--on", action="append", choices=FLAVOURS, help="that RabbitMQ alone")
    commands = parser.add_subparsers(dest="what", required=True)
    commands.add_parser("scenes").add_argument("names", nargs="*", metavar="NAME")
    takeover = commands.add_parser("takeover")
    takeover.add_argument("--times", type=int, default=10)
    takeover.add_argument("--turns", type=int, default=10_000)
    restore = commands.add_parser("restore")
    restore.add_argument("--seats", type=int, default=restoring.SEATS)
    restore.add_argument("--profile", action="store_true")
    commands.add_parser("outages")
    try:
        return 0 if asyncio.run(_all(parser.parse_args())) else 1
    finally:
        sys.stdout.write(printed())


if __name__ == "__main__":
    sys.exit(main())
