"""The answer to "why was I folded?": a closed turn in one paragraph, from its timeline's record.

What counts is when a word reached the broker; where that differs from what its source says, both
are told, since a complaint mostly lies between the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from actors.explaining.spelling import clock, lasting, shown
from statecharts.instants import SECOND, from_rfc3339
from statecharts.rules import Rule

Entry = Mapping[str, Any]

_REASONS: Mapping[str, str] = {
    Rule.CHECK_AVAILABLE: "he was away when his time was over, and a check was free",
    Rule.NOTHING_IN_POT: (
        "he was away when his time was over, faced a bet and had no money in the pot"
    ),
    Rule.GRACE_EXPIRED: "the grace was over",
    Rule.TURN_TIMEOUT: "his time was over, and he had not acted",
    Rule.AWAY_BEFORE_TURN: "he was away before his turn began, and this room gives no grace then",
    Rule.NO_GRACE: "he was away when his time was over, and this room gives no grace",
    Rule.CHECK_AFTER_GRACE: "the grace was over, and a check was free",
    Rule.NO_FREE_CHECK: "he was away, and this room takes no free check for one who is",
    Rule.GRACE_USED_UP: (
        "he was away when his time was over, and his disconnection time was used up"
    ),
    Rule.ALL_IN_PROTECTED: "he was away, faced a bet, and had all-in protection left",
    Rule.AWAY_STATUS: "he had said that he was away",
    Rule.BRING_IN_POSTED: "his time was over, and the bring-in was his to post",
    Rule.STOOD_PAT: "his time to draw was over",
    Rule.CHOSEN_CARD: "his time was over, and this card he had chosen",
    Rule.RIGHTMOST_CARD: "his time was over with no card chosen, so the rightmost went",
}
_UNCOVERED: Mapping[str, str] = {
    "format": "the policy does not cover this format of game; the turn was the engine's",
    "kind": "the policy does not cover this kind of turn; the turn was the engine's",
    "variant": "the policy does not cover this variant; the turn was the engine's",
    "failed": "an error of ours kept us from deciding; the turn was the engine's",
}
_DONE = {
    "fold": "Folded",
    "check": "Checked",
    "discard": "Discarded",
    "all_in": "All in for what he had paid",
    "post": "Posted",
    "stand_pat": "Stood pat",
}


class _Word(NamedTuple):
    """From here on he was connected, or away; no entry: so it was when the turn began."""

    connected: bool
    entry: Entry | None


def answer(data: Mapping[str, Any]) -> str:
    """Say what became of the turn and why; `data` is that of a record."""
    entries = data["entries"]
    place = next((n for n, one in enumerate(entries) if one["what"] == "decision"), None)
    if place is None:
        told = [_undecided(entries)]
    else:
        decision = entries[place]
        words = [*_words(entries[:place])]
        later = [*_words(entries[place + 1 :], decision["connected"])]
        told = [
            _decided(decision),
            *_presence(data, decision, words, later),
            *_lateness(decision),
            *_ending(decision, entries[place + 1 :]),
        ]
    moved = [one for one in entries if one["what"] == "interruption" and one["until"]]
    if moved:
        until = clock(moved[-1]["until"])
        told.append(f"An interruption had moved his deadline to {until}, which gave him more time.")
    return " ".join(told)


# -- Decided


def _decided(decision: Entry) -> str:
    card = f" {shown(decision['card'])}" if "card" in decision else ""
    done = _DONE.get(decision["action"], decision["action"])
    reason = _REASONS.get(decision["rule"], f"by the rule {decision['rule']}")
    return f"{done}{card} at {clock(decision['deadline'])}: {reason}."


def _presence(
    data: Mapping[str, Any], decision: Entry, words: list[_Word], later: list[_Word]
) -> Iterator[str]:
    last = words[-1] if words else None
    if decision["connected"]:
        if last is None or last.entry is None or not last.connected:
            told = "For us he was connected"
        else:
            told = f"For us he was back since {clock(last.entry['arrival'])}{_said(last.entry)}"
        lost = later[0].entry if later else None
        if lost is None:
            yield f"{told}."
        else:
            after = _after(lost, decision)
            yield f"{told}; the word that he was lost came {after}{_said(lost)}."
        return
    told = f"He had been away {_since(data, last)}"
    back = later[0].entry if later else None
    if back is None:
        yield f"{told}; no word of a return came before this was written."
        return
    yield f"{told}, and came back, for us, at {clock(back['arrival'])}, {_after(back, decision)}."
    if from_rfc3339(back["time"]) <= from_rfc3339(decision["deadline"]):
        yield (
            f"The gateway stamped that word {clock(back['time'])}, before the deadline;"
            " what counts is when it reached the broker."
        )


def _since(data: Mapping[str, Any], last: _Word | None) -> str:
    if last is not None and last.entry is not None and not last.connected:
        entry = last.entry
        late = from_rfc3339(entry["arrival"]) - from_rfc3339(entry["time"])
        heard = f"we heard it {lasting(late)} later" if late >= 0 else "its clock is ahead of ours"
        return f"since {clock(entry['time'])} (the gateway's stamp; {heard})"
    ends = [one["since"] for one in data["facts"]["sessions"] if one["status"] != "gone"]
    if ends:
        return f"since {clock(max(ends))}, before his turn began"
    return "since before his turn began, as the engine said"


def _lateness(decision: Entry) -> Iterator[str]:
    late = decision["late_ms"]
    yield f"We made the decision {lasting(late * 1000)} after its deadline."


def _ending(decision: Entry, entries: list[Entry]) -> Iterator[str]:
    closing = next((pair for pair in pairwise(entries) if pair[1].get("to") == "idle"), None)
    if closing is None:
        return
    cause, change = closing
    when = clock(change["at"])
    if cause.get("type") != "turn.acted":
        yield f"The turn was over at {when}: {change['why']}."
        return
    by, action = cause["facts"].get("by"), cause["facts"].get("action")
    what = f" ({shown(action)})" if action else ""
    if by == "decision":
        yield f"The engine has played it{what}: it said so at {when}."
    elif by == "engine":
        yield f"The engine has closed the turn by itself{what}: it said so at {when}."
    else:
        after = _after(cause, decision)
        yield f"The engine closed the turn with his own action{what}: its word came {after}."


# -- Not decided


def _undecided(entries: list[Entry]) -> str:
    nothing = "Nothing was decided for him:"
    uncovered = next((one for one in entries if one["what"] == "uncovered"), None)
    if uncovered is not None:
        return f"{nothing} {_UNCOVERED.get(uncovered['reason'], uncovered['reason'])}."
    change = next((one for one in reversed(entries) if one["what"] == "change"), None)
    if change is None:
        return f"{nothing} the policy does not cover this turn, as was told before in this hand."
    when = clock(change["at"])
    acted = next(
        (one for one in entries if one.get("type") == "turn.acted" and one["verdict"] == "applied"),
        None,
    )
    if change["trigger"] != "turn.acted" or acted is None:
        return f"{nothing} at {when}, {change['why']}."
    by, action = acted["facts"].get("by"), acted["facts"].get("action")
    what = f" ({shown(action)})" if action else ""
    if by == "engine":
        return f"{nothing} the engine has closed the turn by itself{what}, at {when}."
    return f"{nothing} he acted in time{what}, at {when}."


# -- Shared


def _words(entries: list[Entry], connected: bool | None = None) -> Iterator[_Word]:
    """Yield how it was at first, if that is not known, and each change of it."""
    for entry in entries:
        now = entry.get("connected")
        if now is None or entry["what"] == "decision":
            continue
        if connected is None and entry["what"] == "change":
            yield _Word(now, None)
            connected = now
        elif entry["what"] == "input" and now != connected:
            yield _Word(now, entry)
            connected = now


def _said(entry: Entry) -> str:
    """Tell the source's own stamp, where it differs from the broker's by what can be noticed."""
    late = from_rfc3339(entry["arrival"]) - from_rfc3339(entry["time"])
    return "" if abs(late) < SECOND // 100 else f" (the gateway's stamp: {clock(entry['time'])})"


def _after(entry: Entry, decision: Entry) -> str:
    after = from_rfc3339(entry["arrival"]) - from_rfc3339(decision["deadline"])
    return f"{lasting(after)} after the deadline"
