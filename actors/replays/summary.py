"""A comparison as text for people."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from statistics import median

from actors.explaining.spelling import shown
from actors.policy_commands.comparing import differences
from actors.policy_commands.sentences import FORMATS
from actors.replays.changes import Change, Pair, Spread, spread
from actors.replays.endings import Kind
from actors.replays.question import Answered
from statecharts.instants import SECOND
from statecharts.pots import in_big_blinds
from statecharts.rules import GROUNDS, Rule

_WIDTH = 100
_COLUMN = 10
"""Of numbers, at the least."""


def summary(answered: Answered, examples: int) -> Iterator[str]:
    """Yield lines; `examples` turns are told of each kind of change."""
    for part in (_record, _endings, _alike):
        yield from part(answered)
        yield ""
    for change in answered.comparison.changes:
        yield from _change(change, answered, examples)
        yield ""
    if answered.comparison.changes:
        yield from _because(answered)
        yield ""
    yield from _waiting(answered)


def _record(answered: Answered) -> Iterator[str]:
    found = answered.comparison
    one, other = answered.labels
    yield f"{one} ({answered.one.digest}) -> {other} ({answered.other.digest})"
    yield (
        f"{_many(len(found.waiting.one), 'hand')}, {_many(len(found.turns), 'turn')}; "
        f"at {found.with_absence} of them the player was away for a time"
    )
    told = ", ".join(
        f"{name.replace('_', ' ')} {_number(value)}" for name, value in answered.record.items()
    )
    yield from _wrapped("replayed: ", told, 10)
    if found.refused:
        line, reason = found.refused[0]
        yield from _wrapped(
            "", f"{_many(len(found.refused), 'message')} would be refused, and changed nothing; "
            f"the first: line {line}: {shown(reason)}", 2,
        )  # fmt: skip
    yield from _uncovered(answered)


def _uncovered(answered: Answered) -> Iterator[str]:
    pairs = answered.comparison.turns.values()
    for label, policy, answers in (
        (answered.labels[0], answered.one, [pair.one.answer for pair in pairs]),
        (answered.labels[1], answered.other, [pair.other.answer for pair in pairs]),
    ):
        why = Counter(one.detail for one in answers if one.kind is Kind.UNCOVERED)
        for detail, number in sorted(why.items()):
            hint = ""
            if detail == "format":
                covered = " and ".join(FORMATS[name] for name in policy.covers_formats)
                hint = f"; it is for {covered} alone, and --format says what these hands are"
            whose = "the engine's, and no waiting is counted for them"
            told = f"{label} does not cover {_many(number, 'turn')} ({detail}): {whose}{hint}"
            yield from _wrapped("", told, 2)


def _endings(answered: Answered) -> Iterator[str]:
    answers = answered.comparison.answers()
    width = max(len(str(answer)) for answer, *_ in answers) + 4
    yield _row("How turns end", answered.labels, width, answered.labels)
    for answer, one, other in answers:
        yield _row(f"  {answer}", (one, other), width, answered.labels)
    made = [numbers for answer, *numbers in answers if answer.kind is Kind.DECIDED]
    totals = [sum(one for one, _ in made), sum(other for _, other in made)]
    yield _row("Decisions", totals, width, answered.labels)


def _alike(answered: Answered) -> Iterator[str]:
    found = answered.comparison
    alike = len(found.turns) - found.changed
    if found.is_uncovered:
        yield "There is nothing to compare: neither policy covers any of these turns."
        return
    if not found.changed:
        yield f"Nothing changes: all {_many(alike, 'turn')} end alike."
    else:
        yield f"{_many(found.changed, 'turn')} of {len(found.turns)} change; {alike} end alike."
    one, other = answered.labels
    for number, decides, lets in zip(found.decided_alone, (one, other), (other, one), strict=True):
        if number:
            yield f"{_many(number, 'turn')} that {decides} decides, the player ends under {lets}."
    for word, moved in (
        ("later", [later for later in found.moved if later > 0]),
        ("earlier", [-later for later in found.moved if later < 0]),
    ):
        if moved:
            yield (
                f"{len(moved)} of those that end alike end {word} under {other}: "
                f"by {_s(median(moved))} s in the middle, {_s(max(moved))} s at the most."
            )


def _change(change: Change, answered: Answered, examples: int) -> Iterator[str]:
    yield f"{len(change.turns):>5}  {change.one} -> {change.other}"
    if change.later is not None:
        yield f"       {_later(change.later)}"
    because = Counter(heading for key in change.turns for heading in answered.reasons[key])
    told = ", ".join(
        heading if number == len(change.turns) else f"{heading} (at {number})"
        for heading, number in sorted(because.items(), key=lambda one: (-one[1], one[0]))
    )
    yield from _wrapped("       because of: ", told, 9)
    for (_, turn_id), pair in islice(change.turns.items(), examples):
        yield from _wrapped("       ", f"{shown(turn_id)}: {_seen(pair, answered.labels)}", 9)


def _later(found: Spread) -> str:
    def word(duration: float) -> str:
        return "later" if duration > 0 else "earlier"

    if found.least == found.most:
        if not found.least:
            return "at the same instant"
        return f"{_s(abs(found.least))} s {word(found.least)}"
    if found.least >= 0 or found.most <= 0:
        near, far = sorted((abs(found.least), abs(found.most)))
        return (
            f"{_s(abs(found.median))} s {word(found.median)} in the middle "
            f"({_s(near)} to {_s(far)} s)"
        )
    return (
        f"from {_s(-found.least)} s earlier to {_s(found.most)} s later, "
        f"{_s(abs(found.median))} s {word(found.median)} in the middle"
    )


def _seen(pair: Pair, labels: tuple[str, str]) -> str:
    """Tell one turn: what it was about, his connection, and both endings, from its start."""
    met = pair.met
    told = [f"seat {met.event.seat}, {_money(pair)}", *_presence(pair)]
    for label, ending in zip(labels, (pair.one, pair.other), strict=True):
        when = f" at {_s(ending.at - met.started)} s"
        uncovered = ending.answer.kind is Kind.UNCOVERED
        told.append(f"{label}: {ending.answer}{'' if uncovered else when}")
    return "; ".join(told)


def _money(pair: Pair) -> str:
    data = pair.met.data
    turn = f"{data.turn_seconds:g} s to act"
    if data.kind != "betting":
        return f"{turn}, {data.kind}"
    amounts = data.in_one_unit()
    price = f"{data.to_call} to call" if amounts.to_call else "nothing to call"
    pot = float(in_big_blinds(amounts.pot, amounts.big_blind))
    bank = f" and a time bank of {data.time_bank_seconds:g} s" if data.time_bank_seconds else ""
    return f"{turn}{bank}, {price}, {data.contributed} of his in a pot of {pot:.1f} big blinds"


def _presence(pair: Pair) -> Iterator[str]:
    met = pair.met
    if not met.is_with_absence:
        return
    (_, first), *changes = met.presence
    told = [] if first else ["away when it began"]
    told += [f"{'back' if now else 'away'} at {_s(at - met.started)} s" for at, now in changes]
    yield ", ".join(told)


def _because(answered: Answered) -> Iterator[str]:
    """Tell once what the reasons are: what each policy says, and what the rules tell a player."""
    headings = {heading for told in answered.reasons.values() for heading in told}
    for found in differences(answered.one, answered.other):
        if found.heading in headings:
            yield f"{found.heading} ({', '.join(found.keys)})"
            for label, told in zip(answered.labels, (found.one, found.other), strict=True):
                yield from _wrapped(f"  {label}: ", told, 4)
    changes = answered.comparison.changes
    rules = {answer.rule for change in changes for answer in (change.one, change.other)}
    if any(rules):
        yield "What the rules tell the player"
        for rule in Rule:
            if rule in rules:
                yield from _wrapped(f"  {rule}: ", GROUNDS[rule].sentence, 4)


def _waiting(answered: Answered) -> Iterator[str]:
    waiting = answered.comparison.waiting
    spreads = [spread(waits.values()) for waits in (waiting.one, waiting.other, waiting.added)]
    yield "Seconds per hand that a table waits beyond the turns' own time (time banks are in it)"
    yield _row("", (*answered.labels, "added"), 8, answered.labels)
    for name, field in (("median", "median"), ("mean", "mean"), ("worst", "most")):
        cells = [_s(getattr(one, field)) for one in spreads if one]
        yield _row(f"  {name}", cells, 8, answered.labels)


# -- Spelling


def _row(label: str, cells: Sequence[object], width: int, labels: tuple[str, str]) -> str:
    """Write a line of a table; its columns are as wide as the policies' names."""
    column = max(_COLUMN, *map(len, labels))
    return f"{label:<{width}}" + "".join(f"  {cell:>{column}}" for cell in map(str, cells))


def _wrapped(head: str, told: str, indent: int) -> Iterable[str]:
    return textwrap.wrap(
        f"{head}{told}", _WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False,
        drop_whitespace=True,
    )  # fmt: skip


def _many(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else shown(value)


def _s(microseconds: float) -> str:
    """Write seconds, to the tenth."""
    return f"{microseconds / SECOND:.1f}"
