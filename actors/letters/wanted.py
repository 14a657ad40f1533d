"""Which letters are meant."""

from __future__ import annotations

from typing import NamedTuple

from actors.letters.letter import Letter


class Wanted(NamedTuple):
    """Those that meet every condition; the empty ones are met by all."""

    ids: tuple[str, ...] = ()
    """Names of letters, or ids of events."""
    codes: tuple[str, ...] = ()
    source: str | None = None
    table: str | None = None
    type: str | None = None
    """With or without `seatwarden.` and `.v1`."""
    since: int | None = None
    """Refused then or later; `until`: before.  Microseconds since 1970."""
    until: int | None = None

    @property
    def is_everything(self) -> bool:
        """Whether no condition is set."""
        return self == Wanted()

    @property
    def names_them(self) -> bool:
        """Whether they are asked for by id or code: whoever does so knows what they are."""
        return bool(self.ids or self.codes)

    def is_met(self, letter: Letter) -> bool:
        """Say whether a letter is meant."""
        said = letter.attributes
        return (
            (not self.ids or letter.name in self.ids or said.get("id") in self.ids)
            and (not self.codes or letter.code in self.codes)
            and self.source in (None, said.get("source"))
            and self.table in (None, letter.table)
            and self._is_of_type(said.get("type", ""))
            and self._is_of_time(letter.instant)
        )

    def _is_of_type(self, type_: str) -> bool:
        return self.type in (None, type_, type_.removeprefix("seatwarden.").removesuffix(".v1"))

    def _is_of_time(self, instant: int | None) -> bool:
        if self.since is None and self.until is None:
            return True
        if instant is None:
            return False
        return (self.since or 0) <= instant and (self.until is None or instant < self.until)
