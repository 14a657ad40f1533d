"""Rooms that differ from adda52 in some keys: all values of each, as far as they go together.

Keys within keys stand with a dot; `nested` makes of them what a file holds.
"""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st
from pydantic import ValidationError

from statecharts.policy import Policy
from tests.property.world import keys_of

ADDA52_LADDER = [{"pot_below_big_blinds": 5, "seconds": 15}, {"seconds": 25}]
LADDERS: list[list[dict[str, float]]] = [
    [],
    [{"seconds": 10}],
    [{"turn_time_factor": 2}],
    [{"pot_at_most_big_blinds": 5, "seconds": 4}, {"seconds": 8}],
    [{"pot_below_big_blinds": 5, "seconds": 0}, {"turn_time_factor": 0.5}],
]
VALUES: Mapping[str, list[Any]] = {
    "grace": [ADDA52_LADDER, *LADDERS],
    "covers_formats": [["cash"], ["tournament", "cash"]],
    "covers_bring_ins": [False, True],
    "covers_draws": [False, True],
    "covers_discards": [["Crazy Pineapple"], []],
    "grace_needs": ["any_chip", "voluntary_chip", "nothing"],
    "pot_that_counts": ["total", "main"],
    "grace_counts_from": ["turn_end", "loss"],
    "grace_uses_per_turn": [None, 1, 2],
    "grace_uses_per_hand": [None, 1],
    "budget.per": ["hand", "session", "table"],
    "budget.seconds": [20, 6],
    "budget.refill_every_hands": [None, 1, 2],
    "budget.refill_seconds": [None, 5],
    "all_in_protection.uses": [1, 2],
    "all_in_protection.not_for_reasons": [[], ["closed", "kicked"]],
    "buffer_seconds": [3, 0, 1],
    "buffer_for": ["everyone", "away"],
    "free_check": ["at_turn_end", "after_grace", "never"],
    "time_bank_while_away": ["in_grace_branch", "always", "never", "with_money_in_pot"],
    "min_seconds_after_return": [0, 5],
    "max_seconds_after_return": [None, 5, 20],
    "away_before_turn": ["same", "no_grace"],
    "away_status": ["not_offered", "check_else_fold", "fold"],
    "connected_but_silent": ["check_else_fold", "engine"],
    "storm.share": [0.5, 0.7],
    "storm.within_seconds": [10, 2],
    "storm.at_least_players": [20, 2],
    "storm.hold_seconds": [0, 60],
    "advice.advise": ["sit_out", "vacate"],
    "advice.after": [{"after_decisions": 2}, {"after_decisions": 1}, {"after_hands": 2}],
    "advice.when": ["at_once", "hand_end"],
    "advice.at_most_seconds": [None, 300],
}
"""The first of each is adda52's; of a key within one that adda52 has not, what it is if another of
them is given."""
WITH_PARTS = ("budget", "all_in_protection", "storm", "advice")
NOT_MODELLED = ("covers_discards", "storm")
OF_NO_GRACE = {"buffer_seconds": 0, "time_bank_while_away": "never"}
"""What keys are, if not given, where the ladder is empty: the model is told of it."""


def nested(room: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys as a file has them."""
    keys = {key: value for key, value in room.items() if "." not in key}
    for whole in WITH_PARTS:
        parts = {key: room[key] for key in room if key.startswith(f"{whole}.")}
        if not parts:
            continue
        usual = {key: values[0] for key, values in VALUES.items() if key.startswith(f"{whole}.")}
        inner = {key.partition(".")[2]: value for key, value in {**usual, **parts}.items()}
        inner |= inner.pop("after", {})
        keys[whole] = [inner] if whole == "advice" else inner
    return keys


def asks_for_the_loss(room: Mapping[str, Any]) -> bool:
    """Whether it matters when a connection was lost, and why.

    Of a session that a reset has ended no older words are kept, nor when they were: then which of
    them is heard first does matter.
    """
    protection = room.get("all_in_protection") or {}
    return room.get("grace_counts_from") == "loss" or bool(protection.get("not_for_reasons"))


def _is_one(room: Mapping[str, Any]) -> bool:
    try:
        Policy.model_validate(keys_of(room))
    except ValidationError:
        return False
    return True


def rooms(keys: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Rooms that differ from adda52 in some of these keys."""
    return (
        st.fixed_dictionaries({}, optional={key: st.sampled_from(VALUES[key]) for key in keys})
        .map(nested)
        .map(lambda room: {**OF_NO_GRACE, **room} if room.get("grace") == [] else room)
        .filter(_is_one)
    )


ROOMS = rooms([key for key in VALUES if key.partition(".")[0] not in NOT_MODELLED])
