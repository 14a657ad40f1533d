"""Records of older versions, made into ones of the next: plain JSON types, in and out.

A version is never written again once a later one exists; what it looked like is told here alone.
"""

from __future__ import annotations

from typing import Any

_TURN, _SESSIONS = 5, 6
_AT_END = 21


def from_1(record: dict[str, Any]) -> dict[str, Any]:
    """Version 2 has the reasons of losses, extensions, statuses, pauses, accounts and storms."""
    return {
        **record,
        "version": 2,
        "facts": {**record["facts"], "storms": []},
        "seats": [[touched, story, _seat_from_1(seat)] for touched, story, seat in record["seats"]],
        "tables": [[*table, [], [], []] for table in record["tables"]],
    }


def _seat_from_1(seat: list[Any]) -> list[Any]:
    upgraded = [2, *seat[1:], 0, [], []]
    upgraded[_SESSIONS] = _sessions_from_1(seat[_SESSIONS])
    if (turn := seat[_TURN]) is not None:
        at_end = [[at, until, _sessions_from_1(sessions)] for at, until, sessions in turn[_AT_END]]
        upgraded[_TURN] = [*turn[:_AT_END], at_end, *turn[_AT_END + 1 :]]
    return upgraded


def _sessions_from_1(sessions: list[list[int]]) -> list[list[Any]]:
    return [[*session, None] for session in sessions]
