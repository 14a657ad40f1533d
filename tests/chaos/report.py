"""What was measured, one row for each disturbance: printed when the run has ended."""

import io
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from tests.chaos.verdict import Verdict


class Row(NamedTuple):
    """One disturbance on one version."""

    what: str
    version: str
    verdict: Verdict
    silence: float | None
    """Seconds for which the deadlines of some shard stood still at the most."""


_rows: list[Row] = []
_lines: list[str] = []


def note(row: Row) -> None:
    """Keep a row for the end."""
    _rows.append(row)


def tell(line: str) -> None:
    """Keep a line for the end."""
    _lines.append(line)


def printed() -> str:
    """Return all that was kept; empty if there is nothing."""
    if not _rows and not _lines:
        return ""
    table = Table(
        "disturbance", "RabbitMQ", "turns", "decided", "missing", "doubled", "different",
        "sent again", "moved", "deadlines stood still, s",
    )  # fmt: skip
    for what, version, verdict, silence in _rows:
        numbers = (
            verdict.turns, verdict.decisions, *verdict.counts, verdict.again, verdict.moved,
        )  # fmt: skip
        stood = "" if silence is None else f"{silence:.1f}"
        table.add_row(what, version, *map(str, numbers), stood)
    out = io.StringIO()
    Console(file=out, width=150).print(table, *_lines, sep="\n", highlight=False)
    return out.getvalue()
