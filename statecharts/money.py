"""Amounts of money: integers in the currency's minor unit, or decimal strings; never floats.

All amounts of one message are brought to one scale, as integers, so that every sum and comparison
is exact however many decimals a currency has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_DIGITS = 18

_DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII)


def check(amount: object) -> int | str:
    """Return an amount as given, or raise ValueError with what is wrong with it."""
    if isinstance(amount, bool) or not isinstance(amount, int | str):
        msg = 'must be an integer in minor units or a decimal string such as "0.50"'
        raise ValueError(msg)  # noqa: TRY004 - pydantic takes a ValueError for a fault of the input
    if isinstance(amount, int):
        if amount < 0:
            msg = "must not be negative"
            raise ValueError(msg)
        digits = str(amount) if amount < 10**MAX_DIGITS else "9" * (MAX_DIGITS + 1)
    else:
        if not _DECIMAL.fullmatch(amount):
            msg = 'must be digits with an optional fraction, such as "0.50"'
            raise ValueError(msg)
        digits = amount.replace(".", "").lstrip("0")
    if len(digits) > MAX_DIGITS:
        msg = f"must have at most {MAX_DIGITS} significant digits"
        raise ValueError(msg)
    return amount


def is_zero(amount: int | str) -> bool:
    """Say whether an amount is nothing, in either form."""
    return not str(amount).strip("0.")


def check_one_unit(amounts: Iterable[int | str]) -> None:
    """Raise ValueError if integers and decimal strings are mixed (0 goes with both)."""
    kinds = {type(amount) for amount in amounts if amount != 0}
    if len(kinds) > 1:
        msg = "integers (minor units) and decimal strings must not be mixed in one message"
        raise ValueError(msg)


def scale_of(amounts: Iterable[int | str]) -> int:
    """Return the number of decimals of the finest amount."""
    return max((_decimals(amount) for amount in amounts if isinstance(amount, str)), default=0)


def scaled(amount: int | str, scale: int) -> int:
    """Return an amount as an integer count of its message's finest unit.

    >>> scaled("0.5", 2), scaled(0, 2), scaled(150, 0)
    (50, 0, 150)
    """
    if isinstance(amount, int):
        return amount * _power(scale)
    return int(amount.replace(".", "")) * _power(scale - _decimals(amount))


def _power(exponent: int) -> int:
    return int(10**exponent)


def _decimals(amount: str) -> int:
    return len(amount.partition(".")[2])
