"""The effects that the table's rows name: what a step changes in the seat, and what it publishes.

One small function for each name; no clock, no I/O.  The machine has already set the new state when
an effect runs; the row tells the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from statecharts.effects.choices import choose, keep_choice
from statecharts.effects.closing import (
    close_turn,
    forget,
    forget_and_go_on,
    leave,
    remember_turn,
)
from statecharts.effects.deadlines import (
    decide,
    enter_buffer,
    enter_grace,
    enter_grace_at_once,
    enter_returned,
    hold,
    hold_at_end,
    start_bank,
)
from statecharts.effects.moves import (
    extend_turn,
    keep_extension,
    move_deadlines,
    move_turn_end,
    start_clock,
    stop_clock,
)
from statecharts.effects.opening import open_turn, tell_uncovered
from statecharts.effects.presence import (
    back_to_buffer,
    come_back,
    keep,
    leave_again,
    leave_for_good,
)
from statecharts.effects.status import act, act_elsewhere, answer_at_once, note_status
from statecharts.lines import Row
from statecharts.step import Step

EFFECTS: Mapping[str, Callable[[Step, Row], None]] = {
    effect.__name__: effect
    for effect in (
        open_turn, tell_uncovered, start_bank, enter_buffer, enter_grace, enter_grace_at_once,
        enter_returned, decide, move_turn_end, move_deadlines, keep, come_back, leave_again,
        leave_for_good, back_to_buffer, choose, keep_choice, close_turn, remember_turn, leave,
        forget, forget_and_go_on, extend_turn, keep_extension, stop_clock, start_clock,
        act, act_elsewhere, note_status, answer_at_once, hold, hold_at_end,
    )
}  # fmt: skip
