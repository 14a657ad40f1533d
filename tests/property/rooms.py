"""Rooms that differ from adda52 in some keys: all values of each, as far as they go together."""

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
    "grace_needs": ["any_chip", "voluntary_chip", "nothing"],
    "pot_that_counts": ["total", "main"],
    "buffer_seconds": [3, 0, 1],
    "buffer_for": ["everyone", "away"],
    "free_check": ["at_turn_end", "after_grace", "never"],
    "time_bank_while_away": ["in_grace_branch", "always", "never", "with_money_in_pot"],
    "min_seconds_after_return": [0, 5],
    "max_seconds_after_return": [None, 5, 20],
    "connected_but_silent": ["check_else_fold", "engine"],
}
"""The first of each is adda52's."""
OF_NO_GRACE = {"buffer_seconds": 0, "time_bank_while_away": "never"}
"""What keys are, if not given, where the ladder is empty: the model is told of it."""


def _is_one(room: Mapping[str, Any]) -> bool:
    try:
        Policy.model_validate(keys_of(room))
    except ValidationError:
        return False
    return True


ROOMS = (
    st.fixed_dictionaries({}, optional={key: st.sampled_from(VALUES[key]) for key in VALUES})
    .map(lambda room: {**OF_NO_GRACE, **room} if room.get("grace") == [] else room)
    .filter(_is_one)
)
