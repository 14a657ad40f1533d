"""What the demo says at its end: the decisions by rule, and the comparison with `simulate`."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from actors.demo.tally import Comparison, Tally
from statecharts.rules import GROUNDS

MOST_SHOWN = 20


def show(
    console: Console, tally: Tally, comparison: Comparison, seconds: float, *, is_pretty: bool
) -> None:
    """Print the summary: a table on a terminal, plain lines elsewhere."""
    if is_pretty:
        console.print(_table(tally))
    else:
        console.out(_lines(tally))
    console.out(
        f"{tally.turns} turns of {len(tally.hands)} hands in {seconds:.0f} s: "
        f"{tally.by_players} ended by the player, {len(tally.decisions)} by a decision\n"
        f"{len(comparison.differences)} differ from what `seatwarden simulate` decides for "
        f"the same events; deadlines agree to {comparison.gap_ms} ms"
    )
    for difference in comparison.differences[:MOST_SHOWN]:
        console.out(f"  {difference}")
    for refused in tally.refused[:MOST_SHOWN]:
        console.out(f"  refused: {refused}")


def _table(tally: Tally) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("rule", no_wrap=True)
    table.add_column("decided", justify="right")
    table.add_column("policy", no_wrap=True)
    table.add_column("what the player is told")
    for rule, ground in GROUNDS.items():
        if tally.by_rule[rule]:
            table.add_row(rule, str(tally.by_rule[rule]), ground.source, ground.sentence)
    return table


def _lines(tally: Tally) -> str:
    return "\n".join(
        f"{rule:<17}{tally.by_rule[rule]:>5}  {ground.sentence} ({ground.source})"
        for rule, ground in GROUNDS.items()
        if tally.by_rule[rule]
    )
