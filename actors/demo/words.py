"""The rules in a few words, for a line; whole sentences are in `statecharts.rules`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from statecharts.rules import Rule

BRIEFLY: Mapping[Rule, str] = {
    Rule.CHECK_AVAILABLE: "away, a check was free",
    Rule.NOTHING_IN_POT: "away, nothing in the pot",
    Rule.GRACE_EXPIRED: "away, the grace is over",
    Rule.TURN_TIMEOUT: "connected, but silent",
    Rule.AWAY_BEFORE_TURN: "away before the turn",
    Rule.NO_GRACE: "away, no grace in this room",
    Rule.CHECK_AFTER_GRACE: "away after the grace, a check was free",
    Rule.NO_FREE_CHECK: "away, no free checks here",
    Rule.CHOSEN_CARD: "a card was chosen",
    Rule.RIGHTMOST_CARD: "no card was chosen",
}


def name_of(event: Mapping[str, Any]) -> str:
    """Return which kind of event it is: `decision.made` of `seatwarden.decision.made.v1`."""
    return str(event["type"]).partition(".")[2].removesuffix(".v1")


def action_of(decision: Mapping[str, Any]) -> str:
    """Say what was decided: `fold`, or `discard 7s`."""
    card = decision.get("card")
    return f"{decision['action']} {card}" if card else str(decision["action"])


def clock_of(stamp: str) -> str:
    """Return the time of day of an RFC 3339 stamp, to tenths of a second."""
    return stamp[11:21]
