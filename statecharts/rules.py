"""The rules that a decision can be answered with: their ids, and the sentence behind each.

The sources `I.i` to `D7` are paragraphs of adda52's published policy; `ours` is what its text
leaves open and we settle (`policies/adda52.md`), or what other rooms have and it has not.  The
sentences are true under every policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Action(StrEnum):
    """What is done for the player."""

    CHECK = "check"
    FOLD = "fold"
    DISCARD = "discard"
    POST = "post"
    STAND_PAT = "stand_pat"
    ALL_IN = "all_in"


class Basis(StrEnum):
    """Whether the published text says so, or our reading of what it leaves open."""

    TEXT = "text"
    OURS = "ours"


class Rule(StrEnum):
    """The id that a decision carries."""

    CHECK_AVAILABLE = "check-available"
    NOTHING_IN_POT = "nothing-in-pot"
    GRACE_EXPIRED = "grace-expired"
    TURN_TIMEOUT = "turn-timeout"
    AWAY_BEFORE_TURN = "away-before-turn"
    NO_GRACE = "no-grace"
    CHECK_AFTER_GRACE = "check-after-grace"
    NO_FREE_CHECK = "no-free-check"
    CHOSEN_CARD = "chosen-card"
    RIGHTMOST_CARD = "rightmost-card"
    BRING_IN_POSTED = "bring-in-posted"
    STOOD_PAT = "stood-pat"
    GRACE_USED_UP = "grace-used-up"
    ALL_IN_PROTECTED = "all-in-protected"
    AWAY_STATUS = "away-status"


@dataclass(frozen=True, slots=True)
class Ground:
    """Why a rule holds: the policy's paragraph, and a sentence for the player."""

    basis: Basis
    source: str
    sentence: str


GROUNDS: Mapping[Rule, Ground] = {
    Rule.CHECK_AVAILABLE: Ground(
        Basis.TEXT,
        "I.i",
        "You were disconnected when your time ran out and a check was free, so you were checked.",
    ),
    Rule.NOTHING_IN_POT: Ground(
        Basis.TEXT,
        "I.ii.A",
        "You were disconnected when your time ran out, faced a bet and had no money in the pot "
        "that counts for the disconnection time, so you were folded.",
    ),
    Rule.GRACE_EXPIRED: Ground(
        Basis.TEXT,
        "I.ii.B",
        "You were disconnected when your time ran out and faced a bet; you were still away when "
        "the disconnection time was over, so you were folded.",
    ),
    Rule.TURN_TIMEOUT: Ground(
        Basis.OURS,
        "ours",
        "You were connected and did not act before your time ran out: a check where it was free, "
        "else a fold.",
    ),
    Rule.AWAY_BEFORE_TURN: Ground(
        Basis.OURS,
        "ours",
        "You were away before your turn began and did not come back during it; this room gives no "
        "disconnection time then, so you were folded.",
    ),
    Rule.NO_GRACE: Ground(
        Basis.OURS,
        "ours",
        "You were disconnected when your time ran out and faced a bet; this room gives no "
        "disconnection time, so you were folded.",
    ),
    Rule.CHECK_AFTER_GRACE: Ground(
        Basis.OURS,
        "ours",
        "You were disconnected when your time ran out and still away when the disconnection time "
        "was over; a check was free, so you were checked.",
    ),
    Rule.NO_FREE_CHECK: Ground(
        Basis.OURS,
        "ours",
        "You were disconnected and did not come back in time; this room folds a disconnected "
        "player also where a check is free, so you were folded.",
    ),
    Rule.CHOSEN_CARD: Ground(
        Basis.TEXT,
        "D6a",
        "Your discard time ran out, so the card that you had chosen was discarded.",
    ),
    Rule.RIGHTMOST_CARD: Ground(
        Basis.TEXT,
        "D6b",
        "Your discard time ran out with no card chosen, so your rightmost card was discarded.",
    ),
    Rule.BRING_IN_POSTED: Ground(
        Basis.OURS,
        "ours",
        "Your time ran out, and the bring-in was yours to post, so it was posted.",
    ),
    Rule.STOOD_PAT: Ground(
        Basis.OURS,
        "ours",
        "Your time to draw ran out, so you kept your cards.",
    ),
    Rule.GRACE_USED_UP: Ground(
        Basis.OURS,
        "ours",
        "You were disconnected when your time ran out and faced a bet; the disconnection time "
        "that you had was used up, so you were folded.",
    ),
    Rule.AWAY_STATUS: Ground(
        Basis.OURS,
        "ours",
        "You had said that you were away, so your turn was answered at once: as the room says, "
        "with a check where it was free, or a fold.",
    ),
    Rule.ALL_IN_PROTECTED: Ground(
        Basis.OURS,
        "ours",
        "You were disconnected when your time was over and faced a bet; you had all-in protection "
        "left, so you play on for the part of the pot that you have paid for.",
    ),
}
