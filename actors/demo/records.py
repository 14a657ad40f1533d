"""Hands on record: PHH files, read by PokerKit, with three fields of ours for Crazy Pineapple."""

from __future__ import annotations

import tomllib
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from importlib import resources
from pathlib import Path

from pokerkit import HandHistory

from statecharts.cards import variant_name

MAX_SEATS = 10
CRAZY_PINEAPPLE = variant_name("Crazy Pineapple")

VARIANTS = {
    "NT": "no_limit_holdem",
    "NS": "no_limit_short_deck",
    "FT": "fixed_limit_holdem",
    "PO": "pot_limit_omaha",
    "FO/8": "fixed_limit_omaha_hi_lo",
    "N2L1D": "no_limit_single_draw",
    "F2L3D": "fixed_limit_triple_draw",
    "FB": "fixed_limit_badugi",
}
"""Our name for PHH's code; stud and razz have no blinds and are not played."""


Bets = Mapping[tuple[int, int], Sequence[tuple[str, Decimal]]]
"""What each player does on each street: `f`, `cc` or `cbr` as in PHH, and to how much.  Both count
from 0.

Sorted so because a decision of ours can change the order of the others' actions.
"""


class RecordError(Exception):
    """A file of hands that cannot be played; the message names file and reason."""


@dataclass(frozen=True, slots=True)
class Record:
    """One hand as it was played."""

    name: str
    """File and number: `real 12`."""
    variant: str
    history: HandHistory
    seats: tuple[int, ...]
    """The seat of each player, in the order of the record."""
    bets: Bets
    board: str
    """All cards of the board that the record knows."""
    cards: tuple[tuple[str, ...], ...] = ()
    """Crazy Pineapple: each player's cards, left to right."""
    discards: tuple[str, ...] = ()
    """Crazy Pineapple: the card that each let go."""


def bundled() -> list[Record]:
    """Return the hands that come with the product, those without blinds left out."""
    folder = resources.files("actors.demo") / "hands"
    files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".phhs"))
    return [
        record
        for name in files
        for record in parse((folder / name).read_text("utf-8"), Path(name).stem)
    ]


def read(path: Path) -> list[Record]:
    """Read a PHH file, of one hand or of many; raises RecordError."""
    try:
        found = parse(path.read_text("utf-8"), path.stem)
        for record in found:
            record.history.create_state()
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{path}: cannot be read: {error}") from None
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
        raise RecordError(f"{path}: no hands in the PHH format: {error}") from None
    return found


def parse(text: str, name: str) -> list[Record]:
    """Read the hands of a text and leave out those without blinds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PokerKit's, about fields that it does not know
        is_one = "variant" in tomllib.loads(text)
        histories = [HandHistory.loads(text)] if is_one else list(HandHistory.loads_all(text))
    return [
        record
        for number, history in enumerate(histories, 1)
        for record in _playable(history, f"{name} {number}")
    ]


def _playable(history: HandHistory, name: str) -> Iterator[Record]:
    if not any(history.blinds_or_straddles or ()) or history.variant not in VARIANTS:
        return
    fields = history.user_defined_fields
    game = fields.get("_game")
    yield Record(
        name=name,
        variant=variant_name(game) if game else VARIANTS[history.variant],
        history=_with_dead_posts_apart(history),
        seats=_seats(history),
        bets=_bets(history.actions),
        board="".join(action.split()[2] for action in history.actions if action[:4] == "d db"),
        cards=tuple(map(_cards, fields.get("_cards", ()))),
        discards=tuple(fields.get("_discards", ())),
    )


def _with_dead_posts_apart(history: HandHistory) -> HandHistory:
    """Move what a returning player has posted above the big blind to the antes.

    PHH has it all as one live post, but the part above is dead: nobody has to match it.
    """
    posts = list(history.blinds_or_straddles or ())
    antes = list(history.antes)
    blind = nominal_big_blind(history)
    dead = [max(0, -post - blind) for post in posts]
    if not any(dead):
        return history
    return replace(
        history,
        antes=[ante + extra for ante, extra in zip(antes, dead, strict=True)],
        blinds_or_straddles=[post + extra for post, extra in zip(posts, dead, strict=True)],
        ante_trimming_status=False,  # else an ante that one alone has paid would go back to him
    )


def nominal_big_blind(history: HandHistory) -> int:
    """Return the policy's X, in PokerKit's amounts: the big blind, or else the button blind."""
    posts: Sequence[int] = history.blinds_or_straddles or ()
    return posts[1] if posts[1] > 0 else max(posts)


def _seats(history: HandHistory) -> tuple[int, ...]:
    count = len(history.starting_stacks)
    seats = tuple(history.seats or ())
    fit = len(set(seats)) == count and all(1 <= seat <= MAX_SEATS for seat in seats)
    return seats if fit else tuple(range(1, count + 1))


def _cards(text: str) -> tuple[str, ...]:
    return tuple(text[at : at + 2] for at in range(0, len(text), 2))


def _bets(actions: Sequence[str]) -> Bets:
    bets: dict[tuple[int, int], list[tuple[str, Decimal]]] = defaultdict(list)
    street, draws = 0, False
    for action in actions:
        match action.partition("#")[0].split():
            case ["d", "db", _]:
                street += 1
            case [_, "sd", *_]:
                street += not draws
                draws = True
            case [player, "f" | "cc" | "cbr" as verb, *to]:
                draws = False
                bets[int(player[1:]) - 1, street].append((verb, Decimal(to[0] if to else 0)))
            case _:
                pass  # cards dealt and shown
    return dict(bets)
