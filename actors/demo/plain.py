"""The demo where the output is no terminal: one line for each decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from actors.demo.sent import Scene, Sent
from actors.demo.words import BRIEFLY, action_of, clock_of, name_of
from statecharts.decisions import DecisionMade
from statecharts.rules import GROUNDS, Rule


class Plain:
    """Prints decisions as they come."""

    def __init__(self, console: Console) -> None:
        """Print to a console."""
        self._console = console
        self._scenes: dict[str, Scene] = {}

    def sent(self, sent: Sent) -> None:
        """Remember the table."""
        self._scenes[sent.table_id] = sent.scene

    def received(self, event: Mapping[str, Any]) -> None:
        """Print a decision."""
        if name_of(event) != DecisionMade.name:
            return
        data = event["data"]
        table, seat = data["table_id"], data["seat"]
        name, _ = self._scenes[table].seats[seat]
        rule = Rule(data["rule"])
        self._console.out(
            f"{clock_of(event['time'])}  {table}/{seat:<2}  {name:<6}{action_of(data):<11}"
            f"{rule:<17}{BRIEFLY[rule]} ({GROUNDS[rule].source})"
        )
