"""Reading one message: `decode` beside `json.loads` of the same bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice

from statecharts.events import decode
from tests.bench import simulation
from tests.bench.rounds import Rounds, table

EVENTS = 5_000
ROUNDS = 15
FLOOR, OURS = "floor: json.loads", "decode"


def measure() -> str:
    """Time both over all kinds of messages, as they come."""
    lines = [line.strip() for line in islice(simulation.lines(), EVENTS)]

    def ready(read: Callable[[bytes], object]) -> Callable[[], None]:
        return partial(_read_all, read, lines)

    rounds = Rounds({FLOOR: partial(ready, json.loads), OURS: partial(ready, decode)}, ROUNDS)
    return table(
        f"Decoding: {EVENTS:,} messages of {sum(map(len, lines)) // EVENTS} bytes on average,"
        f" median of {ROUNDS} rounds",
        ("", "us/message", "x floor"),
        (
            (name, f"{rounds.seconds(name) / EVENTS * 1e6:.2f}", f"{rounds.ratio(name, FLOOR):.1f}")
            for name in (FLOOR, OURS)
        ),
    )


def _read_all(read: Callable[[bytes], object], lines: Iterable[bytes]) -> None:
    for line in lines:
        read(line)
