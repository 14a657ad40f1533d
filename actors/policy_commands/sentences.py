"""A policy in plain sentences, with its numbers in them, for who does not know the keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from statecharts.ladder import GraceStep
from statecharts.limits import Advice
from statecharts.policy import Policy

FORMATS: Mapping[str, str] = {"cash": "cash games", "tournament": "tournaments"}


def explained(policy: Policy) -> Iterator[tuple[str, str]]:
    """Yield what each heading says of a policy, without those that do not concern it."""
    for heading, tell in HEADINGS.items():
        if told := tell(policy):
            yield heading, told


def number(value: float) -> str:
    """Write a number as people do: 3, not 3.0.

    >>> number(3.0), number(0.5)
    ('3', '0.5')
    """
    return str(int(value)) if value == int(value) else repr(value)


def seconds(value: float) -> str:
    """Write a duration."""
    return f"{number(value)} second{'' if value == 1 else 's'}"


# -- One function for each heading


def _games(policy: Policy) -> str:
    covered = [words for name, words in FORMATS.items() if name in policy.covers_formats]
    others = [words for name, words in FORMATS.items() if name not in policy.covers_formats]
    told = f"{' and '.join(covered).capitalize()}."
    return f"{told} In {others[0]} nothing is decided; the engine is told so." if others else told


def _extra_time(policy: Policy) -> str:
    if not policy.grace:
        return "None. Who is away when his turn time is over is decided for at once."
    *steps, last = policy.grace
    after = "buffer" if policy.buffer_seconds else "turn time"
    told = [f"{_lasts(step)} {_pot(step)}" for step in steps]
    told.append(f"{_lasts(last)} {'in a larger one' if steps else 'whatever the pot'}")
    start = f"From the end of the {after} on"
    if policy.grace_counts_from == "loss":
        start = "From the moment of the loss on, be it before the turn"
    text = f"{start}: {', '.join(told)}."
    if not steps:
        return text
    pot = "Main and side pots count together."
    if policy.pot_that_counts == "main":
        pot = "Only the main pot counts, not the side pots."
    return f"{text} {pot}"


def _budget(policy: Policy) -> str:
    budget = policy.budget
    if budget is None:
        return ""
    per = {
        "hand": "in a hand",
        "session": "at a table, until he leaves his seat",
        "table": "at a table, also if he leaves it and comes back",
    }[budget.per]
    counts = "his loss" if policy.grace_counts_from == "loss" else "where the extra time begins"
    told = (
        f"{seconds(budget.seconds)} of extra time for all his turns {per}. What a turn takes of it "
        f"is the time from {counts} until the turn is over; who is back before his turn time is "
        "over uses nothing."
    )
    every = budget.refill_every_hands
    if every is None:
        return told
    much = "all of it" if budget.refill_seconds is None else seconds(budget.refill_seconds)
    hands = "each hand" if every == 1 else f"{every} hands"
    return f"{told} After {hands} {much} is back, never more than {seconds(budget.seconds)}."


def _uses(policy: Policy) -> str:
    told = []
    if (most := policy.grace_uses_per_turn) is not None:
        told.append(
            f"He may be away in it {_times(most)} in one turn; who leaves once more is decided for."
        )
    if (most := policy.grace_uses_per_hand) is not None:
        turns = "one turn" if most == 1 else f"{most} turns"
        told.append(f"In a hand he has it in {turns} at the most.")
    return " ".join(told)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _protection(policy: Policy) -> str:
    protection = policy.all_in_protection
    if protection is None:
        return "None."
    told = (
        "Who would be folded to a bet because he is away, and has money in the pot, is all in for "
        f"what he has paid: {_times(protection.uses)} for each player at a table, until the "
        "backend resets it (protection.reset); where the engine tells how often it is left, that "
        "counts."
    )
    if protection.not_for_reasons:
        reasons = " or ".join(protection.not_for_reasons)
        told += f" Not for a connection that was lost for the reason {reasons}."
    return told


def _away_status(policy: Policy) -> str:
    if policy.away_status == "not_offered":
        return ""
    done = "a fold" if policy.away_status == "fold" else "a check if it is free, else a fold"
    return (
        f"Who says that he is away (player.away) is answered for at once: {done}; until he says "
        "that he is back, or acts."
    )


def _advice(policy: Policy) -> str:
    return " ".join(_advised(one) for one in policy.advice)


def _advised(advice: Advice) -> str:
    what = "he should sit out" if advice.advise == "sit_out" else "his seat should be given away"
    if advice.at_most_seconds is not None:
        what += f", for {seconds(advice.at_most_seconds)} at the most"
    if advice.when == "hand_end":
        what += ", when the hand is over"
    if advice.after_decisions is not None:
        count = advice.after_decisions
        after = "a decision" if count == 1 else f"{count} decisions"
    else:
        count = advice.after_hands or 0
        after = "a decision in a hand" if count == 1 else f"decisions in {count} hands"
    return f"After {after} made while he was away the backend is told that {what}."


def _storm(policy: Policy) -> str:
    storm = policy.storm
    told = (
        f"If {storm.at_least_players} players or more, and more than {number(storm.share * 100)} "
        f"percent of those on turn (of all, or of one gateway's), are lost within "
        f"{seconds(storm.within_seconds)}, that is told (connection.storm)"
    )
    if not storm.hold_seconds:
        return f"{told}; it changes no decision."
    return (
        f"{told}, and what would be decided for those who are away is held until "
        f"{seconds(storm.hold_seconds)} after that, once in a turn."
    )


def _lasts(step: GraceStep) -> str:
    factor = step.turn_time_factor
    if factor is None:
        return seconds(step.seconds or 0)
    short, middle, long = (number(factor * turn) for turn in (10, 20, 30))
    times = {1.0: "once", 2.0: "twice"}.get(factor, f"{number(factor)} times")
    return f"{times} the turn time ({short}, {middle} or {long} seconds for turns of 10, 20 or 30)"


def _pot(step: GraceStep) -> str:
    limit, is_within = step.bound or (0.0, False)
    most = number(limit)
    if is_within:
        return f"in a pot of up to {most} big blinds (exactly {most} included)"
    return f"in a pot below {most} big blinds (exactly {most} is a larger one)"


def _buffer(policy: Policy) -> str:
    if not policy.grace:
        return ""
    if not policy.buffer_seconds:
        return "None: the extra time begins when the turn time is over."
    told = (
        f"{seconds(policy.buffer_seconds)} between turn time and extra time, in which words that "
        "were on their way still arrive"
    )
    if policy.buffer_for == "everyone":
        return f"{told}; also for one who seems connected, since his loss may not be known yet."
    return f"{told}; only for those known to be away."


def _money(policy: Policy) -> str:
    if not policy.grace:
        return ""
    if policy.grace_needs == "nothing":
        return "Not needed for the extra time."
    needed = "a chip of his, blinds and antes included"
    if policy.grace_needs == "voluntary_chip":
        needed = (
            "a chip that he put in of his own will; blinds, antes and other forced bets do not "
            "count (where the engine does not tell which were forced, any chip does)"
        )
    at_once = "a fold" if policy.free_check == "never" else "a check if it is free, else a fold"
    return (
        f"Needed for the extra time: {needed}. Without it: {at_once}, when the turn time is over."
    )


def _time_bank(policy: Policy) -> str:
    return {
        "always": "Used up first, whether he is away or not.",
        "never": "Only the connected have theirs; for one who is away it does not run.",
        "in_grace_branch": "Used up first; if he is away, only where the extra time would follow.",
        "with_money_in_pot": "Used up first; if he is away, only with money of his in the pot.",
    }[policy.time_bank_while_away]


def _on_return(policy: Policy) -> str:
    if not policy.grace:
        return "Who is back before the turn time is over plays on."
    least, most = policy.min_seconds_after_return, policy.max_seconds_after_return
    has = "Who comes back has the rest of the extra time to act"
    if most is not None and most == least:
        has = (
            f"Who comes back has {seconds(least)} more to act, whatever was left of the extra time"
        )
    elif most is not None and least:
        has += f", at least {seconds(least)} and at most {number(most)}"
    elif most is not None:
        has += f", but at most {seconds(most)}"
    elif least:
        has += f", and at least {seconds(least)}"
    silent = (
        "a fold" if policy.free_check == "at_turn_end" else "a check if it is free, else a fold"
    )
    return f"{has}; leaving again gives no more. If he does not act: {silent}."


def _over(policy: Policy) -> str:
    over = "the extra time" if policy.grace else "the turn time"
    if policy.free_check == "never":
        return f"Still away when {over} is over: a fold, even where a check is free."
    if policy.free_check == "after_grace":
        return (
            "Still away when the extra time is over: a check if it is free, else a fold. The extra "
            "time runs even if a check is free."
        )
    if not policy.grace:
        return "Still away when the turn time is over: a check if it is free, else a fold."
    return (
        "A free check is taken as soon as the turn time is over, with no extra time; who faces a "
        "bet and is still away when the extra time is over is folded."
    )


def _away_before(policy: Policy) -> str:
    if policy.away_before_turn == "no_grace":
        return "Who was away before his turn began and stays away gets no extra time."
    return "The same as for one who leaves during his turn." if policy.grace else ""


def _silent(policy: Policy) -> str:
    if policy.connected_but_silent == "engine":
        return (
            "Nothing is decided for one who was connected when his time was over: the engine is "
            "told (seat.changed to idle, trigger deadline) and does what it does."
        )
    return "A check if it is free, else a fold."


def _discards(policy: Policy) -> str:
    what = "the card that was chosen goes, else the rightmost"
    if not policy.covers_discards:
        return f"Covered only where the engine names no variant: {what}."
    return f"When the time is over {what}; in {', '.join(policy.covers_discards)}."


def _others(policy: Policy) -> str:
    told = []
    if policy.covers_bring_ins:
        told.append("A bring-in is posted when the time is over.")
    if policy.covers_draws:
        told.append("Who does not draw in time stands pat.")
    return " ".join(told)


HEADINGS: Mapping[str, Callable[[Policy], str]] = {
    "Games": _games,
    "Extra time": _extra_time,
    "Budget": _budget,
    "Limits": _uses,
    "Buffer": _buffer,
    "Money in the pot": _money,
    "Time bank": _time_bank,
    "On return": _on_return,
    "When it is over": _over,
    "All-in protection": _protection,
    "Away before the turn": _away_before,
    "Connected but silent": _silent,
    "Says he is away": _away_status,
    "Discards": _discards,
    "Bring-ins and draws": _others,
    "Afterwards": _advice,
    "Many at once": _storm,
}
"""In the order in which a turn meets them; a heading that does not concern a policy is empty."""
