"""How instants, spans and strange strings are written for people."""

from __future__ import annotations

from statecharts.instants import MILLISECOND, SECOND


def clock(stamp: str) -> str:
    """Return the time of day (UTC) of a stamp of ours, to the millisecond where that is all.

    >>> clock("2026-03-01T20:16:03.250000Z"), clock("2026-03-01T20:16:03.250001Z")
    ('20:16:03.250', '20:16:03.250001')
    """
    return stamp[11:-1].removesuffix("000") if stamp[-4:-1] == "000" else stamp[11:-1]


def lasting(span: int) -> str:
    """Write a span of microseconds: milliseconds below ten seconds, whole seconds as such.

    >>> lasting(850_000), lasting(3_000_000), lasting(28_853_000)
    ('850 ms', '3 s', '28.853 s')
    """
    milliseconds = span // MILLISECOND
    if abs(span) < 10 * SECOND and (span % SECOND or not span):
        return f"{milliseconds} ms"
    return f"{milliseconds / 1000:.3f}".rstrip("0").rstrip(".") + " s"


def shown(text: object) -> str:
    r"""Write what others have chosen so that it cannot act on a terminal.

    >>> shown("p\x1b[31m"), shown("Jos\u00e9")
    ('p\\x1b[31m', 'José')
    """
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in str(text))
