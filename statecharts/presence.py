"""Who is connected: the sessions that a seat has heard of.

A seat keeps, per player, each session with the stamp of the last word on it.  Within one session an
older word never overrides a newer one, and at equal stamps `connected` wins.  Stamps of different
sessions are never compared with each other: they are of different clocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

MAX_SESSIONS = 16


class Status(IntEnum):
    """What is known of a session."""

    LIVE = 1
    DEAD = 2  # its own last word, or a reset of its gateway
    KILLED = 3  # another session was `sole`: only a newer word of its own can revive it
    GONE = 4  # forgotten with its player's departure: counts as unknown until a newer word


class Session(NamedTuple):
    """One session.  Ids are digests; `stamp` is the last word's `time`, `since` its reference."""

    id: int
    player: int
    source: int
    stamp: int
    since: int
    status: Status
    reason: str | None = None
    """Of its loss, where the gateway has told one that we know."""


class Word(NamedTuple):
    """One `player.connected` or `player.disconnected`."""

    session: int
    player: int
    source: int
    stamp: int
    reference: int
    connected: bool
    sole: bool = False
    reason: str | None = None


class Reset(NamedTuple):
    """One `gateway.reset`: sessions of `source` whose last word is older are dead."""

    source: int
    stamp: int
    reference: int


Sessions = tuple[Session, ...]


class Attendance(NamedTuple):
    """The sessions of a player as they were at an instant, however late the words about that."""

    at: int
    until: int | None
    """Words that arrive later change nothing; None: until the buffer of the turn is over."""
    sessions: Sessions


Resets = Mapping[int, tuple[Reset, ...]]
"""The latest resets of each source."""


def hear(sessions: Sessions, word: Word, resets: Resets, keep: int | None) -> Sessions | None:
    """Write one word down; None if a word as new or newer about that session is known.

    `keep` is the player whose sessions are forgotten last when there are too many.
    """
    of = (word.player, word.session)
    known = next((session for session in sessions if (session.player, session.id) == of), None)
    if known is not None and not _overrides(word, known):
        return None
    status = Status.LIVE if word.connected else Status.DEAD
    told = Session(
        word.session, word.player, word.source, word.stamp, word.reference, status, word.reason
    )
    for reset in resets.get(word.source, ()):
        told = _after_reset(told, reset)
    others = [session for session in sessions if session is not known]
    if word.sole and told.status is Status.LIVE:
        others = [_after_sole(session, word) for session in others]
    return _bounded([*others, told], keep)


def after_reset(sessions: Sessions, reset: Reset) -> Sessions | None:
    """Apply a gateway's reset; None if it touches no session."""
    told = tuple(_after_reset(session, reset) for session in sessions)
    return None if told == sessions else told


def forget(sessions: Sessions, leaving: Callable[[Session], bool]) -> Sessions:
    """Forget the sessions of a departure; they stay dead for words that are not newer."""
    return tuple(
        session._replace(status=Status.GONE) if leaving(session) else session
        for session in sessions
    )


def is_connected(sessions: Iterable[Session], player: int, told_by_engine: bool | None) -> bool:
    """Say whether a player is connected: the engine's view counts while no session is known."""
    known = False
    for session in sessions:
        if session.player == player:
            if session.status is Status.LIVE:
                return True
            known = known or session.status is not Status.GONE
    return not known and told_by_engine is not False


def latest_heard(sessions: Iterable[Session], player: int) -> Session | None:
    """Return the session of which a player was heard last; None if none is known."""
    known = [one for one in sessions if one.player == player and one.status is not Status.GONE]
    return max(known, key=lambda one: one.since, default=None)


def latest_loss(sessions: Iterable[Session], player: int) -> Session | None:
    """Return the session that a player has lost last; None if none is known."""
    return latest_heard((one for one in sessions if one.status is not Status.LIVE), player)


def _overrides(word: Word, known: Session) -> bool:
    if word.stamp == known.stamp:
        return word.connected and known.status is Status.DEAD
    return word.stamp > known.stamp


def _after_reset(session: Session, reset: Reset) -> Session:
    if session.source != reset.source or session.stamp >= reset.stamp:
        return session
    if session.status is Status.GONE:
        return session
    since = session.since if session.status is not Status.LIVE else reset.reference
    return session._replace(stamp=reset.stamp, since=since, status=Status.DEAD)


def _after_sole(session: Session, word: Word) -> Session:
    if session.player != word.player or session.status is not Status.LIVE:
        return session
    return session._replace(since=word.reference, status=Status.KILLED)


def _bounded(sessions: list[Session], keep: int | None) -> Sessions:
    """Forget the oldest beyond the bound: of other players first, and dead before live."""
    while len(sessions) > MAX_SESSIONS:
        sessions.remove(
            min(
                sessions[:-1],  # never the one just heard of; the first of equals is the oldest
                key=lambda one: (one.player == keep, one.status is Status.LIVE, -one.status),
            )
        )
    return tuple(sessions)
