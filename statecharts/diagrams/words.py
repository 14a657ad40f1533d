"""The words that the diagrams use for what happens; those for the answers are the guards' own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from statecharts.guards import QUESTIONS
from statecharts.lines import State, Trigger, When

HAPPENINGS: Mapping[Trigger, str] = {
    Trigger.TURN_STARTED: "new turn",
    Trigger.TURN_ACTED: "the player acts",
    Trigger.TURN_CANCELLED: "turn called off",
    Trigger.TURN_EXTENDED: "more time for the turn",
    Trigger.CARD_CHOSEN: "choice of a card",
    Trigger.PLAYER_CONNECTED: "news of the connection",
    Trigger.PLAYER_DISCONNECTED: "news of the connection",
    Trigger.GATEWAY_RESET: "news of the connection",
    Trigger.PLAYER_AWAY: "he says that he is away",
    Trigger.PLAYER_BACK: "he says that he is back",
    Trigger.SEAT_VACATED: "player left",
    Trigger.HAND_ENDED: "hand ended",
    Trigger.TABLE_CLOSED: "table closed",
    Trigger.TABLE_PAUSED: "table paused",
    Trigger.TABLE_RESUMED: "table goes on",
    Trigger.PROTECTION_RESET: "all-in protection reset",
    Trigger.DEADLINE: "time over",
    Trigger.ANSWER: "has said that he is away",
    Trigger.INTERRUPTION: "interruption",
}

IN_STATE: Mapping[tuple[State, Trigger], str] = {
    (State.IDLE, Trigger.TURN_STARTED): "turn begins",
    (State.ACTING, Trigger.DEADLINE): "turn time over",
    (State.TIME_BANK, Trigger.DEADLINE): "time bank over",
    (State.BUFFER, Trigger.DEADLINE): "buffer over",
    (State.DISCONNECTION_GRACE, Trigger.DEADLINE): "grace over",
    (State.RETURNED, Trigger.DEADLINE): "grace would be over",
    (State.DISCARDING, Trigger.DEADLINE): "discard timer over",
    (State.AUTO_ACTION, Trigger.TURN_ACTED): "the engine has played it",
}
"""Where a state has a better word for it."""

EXPECTED: When = {
    "deadline": "due",
    "word": "new",
    "turn": "this",
    "hand": "this",
    "departure": "his",
    "own_end": "there",
    "silence": "decided",
    "kind": "betting",
    "storm": "none",
    "protection": "none",
    "uses": "left",
    "start": ("uncovered", "discard", "turn"),
}
"""Answers that a picture leaves out because nobody would expect another; the table has them."""

KNOWN: Mapping[State, When] = {
    State.DISCONNECTION_GRACE: {"turn_end": "away"},
    State.RETURNED: {"turn_end": "away"},
}
"""Answers that a state's caption gives already."""


def happening(state: State, trigger: Trigger) -> str:
    """Return what happens, in words: for a deadline, which time is over."""
    return IN_STATE.get((state, trigger), HAPPENINGS[trigger])


def conditions(when: When) -> tuple[str, ...]:
    """Return a guard in words, whole.

    >>> conditions({"deadline": "due", "price": "free"})
    ('due', 'nothing to call')
    """
    return tuple(_words(when))


def told(state: State, when: When) -> tuple[str, ...]:
    """Return a guard in words, without what is expected anyhow or known in that state.

    >>> told(State.ACTING, {"deadline": "due", "price": "free"})
    ('nothing to call',)
    """
    plain = {**EXPECTED, **KNOWN.get(state, {})}
    return tuple(
        _words({asked: wanted for asked, wanted in when.items() if plain.get(asked) != wanted})
    )


def _words(when: When) -> Iterator[str]:
    for asked, wanted in when.items():
        known = QUESTIONS[asked].answers
        answers = (wanted,) if isinstance(wanted, str) else wanted
        others = [words for answer, words in known.items() if answer not in answers]
        if len(others) == 1 < len(answers):
            yield f"not: {others[0]}"
        else:
            yield " or ".join(known[answer] for answer in answers)
