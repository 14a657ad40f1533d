"""The questions that the table's guards ask, each with its possible answers.

A line of the table applies when every question that it names has one of the answers that it wants.
Each question gives exactly one answer, so that a cell whose lines cover all combinations of answers
neither overlaps nor leaves a gap.  One small pure function for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from statecharts import accounts, money, statuses
from statecharts.chart import (
    ACTING,
    BUFFER,
    DISCARDING,
    GRACE,
    OPEN,
    RETURNED,
    TIME_BANK,
    WITH_TURN,
)
from statecharts.digests import short
from statecharts.graces import is_used_up, protection_left
from statecharts.instants import SECOND
from statecharts.lines import State, Trigger, When
from statecharts.payloads import DiscardTurn
from statecharts.presence import Attendance, is_connected, latest_loss
from statecharts.seat import Turn
from statecharts.step import Interrupted, Step, WakeUp

STALE_AFTER = 600 * SECOND


def start(step: Step) -> str:  # noqa: PLR0911 - one return for each answer, in the order asked
    """What becomes of a `turn.started`."""
    data, seat = step.data, step.seat
    if step.stamp < step.at - STALE_AFTER:
        return "stale"
    if data.kind == "betting" and data.stack is not None and money.is_zero(data.stack):
        return "no_chips"
    if isinstance(data, DiscardTurn) and data.chosen not in (None, *data.cards):
        return "unknown_card"
    if turn_named(step, data.turn_id) != "unknown":
        return "repeated"
    if short(data.hand_id) in step.around.table.ended_hands:
        return "hand_over"
    if step.stamp < dict(seat.latest_starts).get(step.source, step.stamp):
        return "overtaken"
    if _has_departed(step):
        return "departed"
    if step.policy.uncovered(data.format, data.kind, data.variant):
        return "uncovered"
    return "discard" if data.kind == "discard" else "turn"


def turn(step: Step) -> str:
    """Which turn a `turn.acted` is about."""
    return turn_named(step, step.data.turn_id)


def turn_named(step: Step, turn_id: str) -> str:
    """Which turn an id names: the one that stands here, a closed one, or one not heard of."""
    seat = step.seat
    if seat.turn and seat.turn.turn_id == turn_id:
        return "this"
    return "closed" if short(turn_id) in seat.closed_turns else "unknown"


def extension(step: Step) -> str:
    """Which turn a `turn.extended` is about, or whether it is known."""
    made = step.extension()
    if made in step.seat.extensions:
        return "known"
    return turn_named(step, step.data.turn_id)


def status(step: Step) -> str:
    """What a player's word on whether he is away tells, and if the open turn hangs on it."""
    away = step.event.name is Trigger.PLAYER_AWAY
    said = step.status(short(step.data.player_id), away=away)
    seat, here = step.seat, step.seat.turn
    if not statuses.is_news(seat.statuses, said):
        return "old"
    if here is None or seat.state not in OPEN or short(here.player_id) != said.player:
        return "new"
    if here.policy.away_status == "not_offered":
        return "new"
    is_away = statuses.is_away(statuses.noted(seat.statuses, said), said.player)
    return "his" if is_away != (here.answer_at is not None) else "new"


def action(step: Step) -> str:
    """Whether an action in no open turn is one of the player's own, and news of him."""
    seat = step.seat
    player = seat.whose
    if step.data.by != "player" or not player:
        return "nothing"
    is_counted = accounts.of(step.table.accounts, player).decisions > 0
    if not is_counted and not statuses.is_away(seat.statuses, player):
        return "nothing"
    back = step.status(player, away=False)
    return "his" if statuses.is_news(seat.statuses, back) else "nothing"


def away_answer(step: Step) -> str:
    """What is answered for one who has said that he is away."""
    here = step.turn
    if here.kind != "betting":
        return here.kind
    return "check" if not here.bet and here.policy.away_status == "check_else_fold" else "fold"


def clock(step: Step) -> str:
    """Whether the turn's clock runs, or stands still since the table is paused."""
    return "runs" if step.turn.paused_at is None else "stands"


def kind(step: Step) -> str:
    """What the turn is for."""
    return step.turn.kind


def hand(step: Step) -> str:
    """Which hand has ended."""
    here = step.seat.turn
    return "this" if here and here.hand_id == step.data.hand_id else "another"


def departure(step: Step) -> str:
    """Whom a `seat.vacated` or `table.closed` is about, and whether it is older than the turn."""
    seat, here = step.seat, step.seat.turn
    player_id = getattr(step.data, "player_id", None)
    if player_id is not None and any(
        known.player == short(player_id)
        and known.source == step.source
        and known.stamp >= step.stamp
        for known in seat.departures
    ):
        return "repeated"
    if here is None or player_id not in (None, here.player_id):
        return "another"
    return "earlier" if here.source == step.source and here.stamp > step.stamp else "his"


def deadline(step: Step) -> str:
    """Whether the deadline that a wake-up names is the one that runs."""
    assert isinstance(step.event, WakeUp)  # noqa: S101 - asked in cells of that trigger alone
    return "due" if step.turn.runs_until == step.event.due else "moved"


def player(step: Step) -> str:
    """Whether the player on turn is connected now."""
    return "connected" if step.connected() else "away"


def turn_end(step: Step) -> str:
    """Whether he was connected at the turn end, by the stamps; settled when the buffer is over.

    Where an interruption has moved it: at its own instant and at the moved one.
    """
    there = _was_there(step.turn, step.turn.at_end)
    return "connected" if there and all(there) else "away"


def own_end(step: Step) -> str:
    """Whether he was away at the turn end itself, before an interruption moved it.

    Where no grace could follow that is no matter.
    """
    here = step.turn
    if _in_grace_branch(here) and not all(_was_there(here, here.at_end)):
        return "away"
    return "there"


def price(step: Step) -> str:
    """Whether a check is available: `to_call` is 0."""
    return "bet" if step.turn.bet else "free"


def check(step: Step) -> str:
    """Whether a check is available, and taken for one who is away."""
    here = step.turn
    if here.bet:
        return "bet"
    return "refused" if here.policy.free_check == "never" else "taken"


def bank(step: Step) -> str:
    """Whether a time bank begins now (reading 3), or would have begun but for an interruption."""
    here = step.turn
    if not here.bank:
        return "none"
    while_away = here.policy.time_bank_while_away
    if step.connected() or while_away == "always":
        return "runs"
    began = [there for there in here.at_end if there.at == here.at_end[0].at]
    if any(_was_there(here, began)):
        return "runs"
    has_money = while_away == "with_money_in_pot" and bool(here.contributed)
    follows = while_away == "in_grace_branch" and _in_grace_branch(here)
    return "runs" if has_money or follows else "none"


def grace(step: Step) -> str:
    """What the policy has for one who is away at the turn end: the grace, or why there is none."""
    here = step.turn
    if _in_grace_branch(here) and not _was_away_before(step):
        used_up = is_used_up(here, step.account, step.at, step.sessions())
        return "used_up" if used_up else "his"
    if not here.bet:
        return "no_check" if here.policy.free_check == "never" else "check"
    if not here.policy.grace:
        return "none"
    return "away_before" if _in_grace_branch(here) else "nothing"


def protection(step: Step) -> str:
    """Whether all-in protection is left to one who is away: facing a bet, with money in the pot."""
    here = step.turn
    rule = here.policy.all_in_protection
    if rule is None or not here.bet or not here.contributed:
        return "none"
    loss = latest_loss(step.sessions(), short(here.player_id))
    if loss is not None and loss.reason in rule.not_for_reasons:
        return "none"
    return "left" if protection_left(step.account, here) else "none"


def storm(step: Step) -> str:
    """Whether a storm holds what would be decided for one who is away; once in a turn."""
    return "none" if step.turn.is_held or step.held_until() is None else "holds"


def uses(step: Step) -> str:
    """Whether he may be away in the grace once more."""
    most = step.turn.policy.grace_uses_per_turn
    return "left" if most is None or step.turn.grace_uses < most else "none"


def buffer(step: Step) -> str:
    """Whether he passes a buffer (T7): also one whom we take for connected (reading 1)."""
    here = step.turn
    if not here.policy.buffer or not _in_grace_branch(here):
        return "skips"
    everyone = here.policy.buffer_for == "everyone" or here.at_end
    return "passes" if everyone or not step.connected() else "skips"


def silence(step: Step) -> str:
    """Whether who was connected at the turn end is decided for, or left to the engine."""
    if step.turn.policy.connected_but_silent != "engine":
        return "decided"
    there = turn_end(step) == "connected" if step.state is BUFFER else step.connected()
    return "left" if there else "decided"


def word(step: Step) -> str:
    """Whether a word of presence told something new."""
    return "new" if step.word_is_new else "old"


def card(step: Step) -> str:
    """Whether a card is chosen for the open discard."""
    choice = step.turn.choice
    return "chosen" if choice and choice.card is not None else "none"


def choice(step: Step) -> str:  # noqa: PLR0911 - one return for each answer, in the order asked
    """What becomes of a `card.chosen`."""
    data, seat = step.data, step.seat
    if short(data.hand_id) in step.around.table.ended_hands:
        return "closed"
    if data.turn_id is not None and short(data.turn_id) in seat.closed_turns:
        return "closed"
    made = step.choice(data.card)
    here = seat.turn
    if here is None or here.kind != "discard" or here.hand_id != data.hand_id:
        return "known" if any(map(made.is_same, seat.choices)) else "early"
    if data.turn_id not in (None, here.turn_id):
        return "known" if any(map(made.is_same, seat.choices)) else "early"
    if seat.state is not DISCARDING:
        return "closed"
    if data.card is not None and data.card not in here.cards:
        return "unknown_card"
    return "known" if any(map(made.is_same, seat.choices)) or _is_older(step, here) else "counts"


def interrupted(step: Step) -> str:
    """Whether the running deadline lies within the interruption."""
    assert isinstance(step.event, Interrupted)  # noqa: S101 - asked in cells of that trigger alone
    start_, end = step.event.interruption
    running = step.turn.runs_until
    return "deadline" if running is not None and start_ <= running < end else "none"


def _in_grace_branch(here: Turn) -> bool:
    """Whether a grace follows if he is away at the turn end (I.ii.B)."""
    policy = here.policy
    return (
        here.kind == "betting"
        and bool(policy.grace)
        and (policy.grace_needs == "nothing" or here.contributed > 0)
        and (here.bet > 0 or policy.free_check != "at_turn_end")
    )


def _was_away_before(step: Step) -> bool:
    """Whether the policy gives him no grace because he left before his turn began (reading 8)."""
    here = step.turn
    if here.policy.away_before_turn == "same":
        return False
    his = short(here.player_id)
    return not any(one.player == his and one.since > here.started for one in step.seat.sessions)


def _was_there(here: Turn, at_end: Iterable[Attendance]) -> list[bool]:
    his = short(here.player_id)
    return [is_connected(there.sessions, his, here.told_connected) for there in at_end]


def _has_departed(step: Step) -> bool:
    """Whether the start's source has said later that the player left or the table closed."""
    his = short(step.data.player_id)
    closed = dict(step.around.table.closings).get(step.source, step.stamp)
    return closed > step.stamp or any(
        one.player == his and one.source == step.source and one.stamp > step.stamp
        for one in step.seat.departures
    )


def _is_older(step: Step, here: Turn) -> bool:
    """Whether the choice's source has made a later one that could count for the open discard."""
    return any(
        one.source == step.source
        and one.stamp > step.stamp
        and one.hand == short(here.hand_id)
        and one.turn in (None, short(here.turn_id))
        and one.card in (None, *here.cards)
        for one in (*step.seat.choices, *([here.choice] if here.choice else ()))
    )


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its answers in words for the diagrams, and where an answer cannot come."""

    ask: Callable[[Step], str]
    answers: Mapping[str, str]
    only: Mapping[str, Callable[[State, Trigger], bool]] = field(default_factory=dict)
    """Answers that are possible in some cells alone."""

    def possible(self, state: State, trigger: Trigger) -> tuple[str, ...]:
        """Return the answers that can come in a cell."""
        return tuple(
            answer
            for answer in self.answers
            if answer not in self.only or self.only[answer](state, trigger)
        )


def _with_turn(state: State, _: Trigger) -> bool:
    return state in WITH_TURN


def _undecided(state: State, _: Trigger) -> bool:
    return state in OPEN


def _may_bet(state: State, _: Trigger) -> bool:
    return state is not DISCARDING


def _in_turn_time(state: State, _: Trigger) -> bool:
    return state in (ACTING, TIME_BANK)


def _in_discard(state: State, _: Trigger) -> bool:
    return state is DISCARDING


def _by_a_return(state: State, trigger: Trigger) -> bool:
    """He who was away can turn out to be connected by the word of a return alone."""
    return state not in (GRACE, RETURNED) or trigger is Trigger.PLAYER_CONNECTED


def _somebody_else(state: State, trigger: Trigger) -> bool:
    """A table's closing concerns every open turn."""
    return state not in WITH_TURN or trigger is not Trigger.TABLE_CLOSED


def _told_by_seat(_: State, trigger: Trigger) -> bool:
    """The closings of a table are remembered with the table, not in its seats."""
    return trigger is not Trigger.TABLE_CLOSED


QUESTIONS: Mapping[str, Question] = {
    "start": Question(start, {
        "stale": "older than 10 minutes",
        "no_chips": "a bet to a seat without chips",
        "unknown_card": "a chosen card that is not held",
        "repeated": "the turn is known",
        "hand_over": "its hand has ended",
        "overtaken": "a later turn has begun",
        "departed": "the player has left since",
        "uncovered": "not covered by the policy",
        "discard": "a discard",
        "turn": "a turn to bet, post or draw",
    }),
    "turn": Question(turn, {
        "this": "this turn",
        "closed": "a closed turn",
        "unknown": "a turn not heard of",
    }, {"this": _with_turn}),
    "action": Question(action, {
        "his": "an action of his own, where he was counted as away",
        "nothing": "nothing new of him",
    }),
    "extension": Question(extension, {
        "this": "for this turn",
        "closed": "for a closed turn",
        "unknown": "for a turn to come",
        "known": "an extension that is known",
    }, {"this": _with_turn}),
    "status": Question(status, {
        "his": "the open turn hangs on it",
        "new": "a new word on his status",
        "old": "an older word on his status",
    }, {"his": _undecided}),
    "away_answer": Question(away_answer, {
        "check": "answered with a check",
        "fold": "answered with a fold",
        "bring_in": "answered with the bring-in",
        "draw": "answered by standing pat",
        "discard": "answered with a discard",
    }, {
        "check": _may_bet,
        "fold": _may_bet,
        "bring_in": _in_turn_time,
        "draw": _in_turn_time,
        "discard": _in_discard,
    }),
    "clock": Question(clock, {"runs": "the clock runs", "stands": "the clock stands still"}),
    "kind": Question(kind, {
        "betting": "a betting turn",
        "bring_in": "the bring-in is to be posted",
        "draw": "a draw",
    }),
    "hand": Question(hand, {"this": "this hand", "another": "another hand"}, {"this": _with_turn}),
    "departure": Question(departure, {
        "his": "the player on turn",
        "earlier": "before this turn began",
        "another": "somebody else",
        "repeated": "known already",
    }, {
        "his": _with_turn,
        "earlier": _with_turn,
        "another": _somebody_else,
        "repeated": _told_by_seat,
    }),
    "deadline": Question(deadline, {"due": "due", "moved": "moved"}),
    "player": Question(player, {"connected": "connected", "away": "away"}),
    "turn_end": Question(turn_end, {
        "connected": "was connected at the turn end",
        "away": "was away at the turn end",
    }, {"connected": _by_a_return}),
    "own_end": Question(own_end, {
        "there": "not away before an interruption moved the end",
        "away": "was away before an interruption moved the end",
    }),
    "price": Question(price, {"free": "nothing to call", "bet": "a bet to call"}),
    "check": Question(check, {
        "bet": "facing a bet",
        "taken": "a free check is taken",
        "refused": "no free check is taken",
    }),
    "bank": Question(bank, {"runs": "has a time bank", "none": "no time bank to run"}),
    "grace": Question(grace, {
        "his": "the grace is his",
        "used_up": "the grace is used up",
        "check": "check is free",
        "no_check": "check is free, not taken",
        "nothing": "bet, nothing in the pot",
        "away_before": "bet, away before the turn",
        "none": "bet, no grace in this room",
    }),
    "protection": Question(protection, {
        "left": "all-in protection is left",
        "none": "no all-in protection",
    }),
    "storm": Question(storm, {"none": "no storm holds it", "holds": "a storm holds it"}),
    "uses": Question(uses, {"left": "may leave once more", "none": "has left too often"}),
    "buffer": Question(buffer, {
        "passes": "a buffer is first",
        "skips": "no buffer",
    }),
    "silence": Question(silence, {
        "decided": "decided for",
        "left": "left to the engine",
    }),
    "word": Question(word, {"new": "a new word", "old": "an old word"}),
    "card": Question(card, {"chosen": "a card is chosen", "none": "no card is chosen"}),
    "choice": Question(choice, {
        "counts": "for this discard",
        "unknown_card": "a card that is not held",
        "known": "known already, or older than another",
        "closed": "for a closed discard",
        "early": "for a discard to come",
    }, {"counts": _in_discard, "unknown_card": _in_discard}),
    "interrupted": Question(interrupted, {
        "deadline": "the deadline lies in it",
        "none": "the deadline lies outside",
    }),
}  # fmt: skip


def holds(step: Step, when: When) -> bool:
    """Say whether a line's guard holds."""
    answers = step.answers
    for question, wanted in when.items():
        answer = answers.get(question)
        if answer is None:
            answer = answers[question] = QUESTIONS[question].ask(step)
        if answer != wanted and (isinstance(wanted, str) or answer not in wanted):
            return False
    return True
