"""Dead letters for people and for programs."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from actors.explaining.spelling import shown
from actors.letters.advice import advice
from actors.letters.letter import Letter

SOURCES_TOLD = 3
BYTES_SHOWN = 2000
"""Of a body that is no JSON; `--json` has all of it."""


def groups(letters: Iterable[Letter]) -> list[dict[str, Any]]:
    """Return what there is of each code, the most frequent first."""
    by_code: dict[str, list[Letter]] = {}
    for letter in letters:
        by_code.setdefault(letter.code, []).append(letter)
    return [
        {
            "code": code,
            "letters": len(ones),
            "redriven": sum(1 for one in ones if one.redriven),
            "oldest": min((one.received for one in ones if one.received), default=None),
            "newest": max((one.received for one in ones if one.received), default=None),
            "sources": dict(_sources(ones)),
            "to_do": advice(code),
        }
        for code, ones in sorted(by_code.items(), key=lambda each: (-len(each[1]), each[0]))
    ]


def listed(group: dict[str, Any]) -> Iterator[str]:
    """Yield the lines that tell of a group."""
    sources = [f"{shown(source)} ({count})" for source, count in group["sources"].items()]
    more = len(sources) - SOURCES_TOLD
    others = [f"and {more} others"] if more > 0 else []
    redriven = f", {group['redriven']} redriven before" if group["redriven"] else ""
    yield f"{shown(group['code']) or 'without a code'}: {group['letters']}{redriven}"
    if group["oldest"]:
        yield f"  refused  {shown(group['oldest'])} to {shown(group['newest'])}"
    yield f"  from     {', '.join((*sources[:SOURCES_TOLD], *others))}"
    yield f"  to do    {group['to_do']}"


def summary(letter: Letter) -> dict[str, Any]:
    """Return what identifies a letter, for programs."""
    return {
        "letter": letter.name,
        "code": letter.code,
        "detail": letter.detail,
        "received": letter.received,
        "redriven": letter.redriven,
        **{name: letter.attributes.get(name) for name in ("id", "source", "type", "time")},
        "table": letter.table,
    }


def whole(letter: Letter) -> dict[str, Any]:
    """Return all of a letter, for programs: `body` is the event, or `base64` the bytes."""
    body = {"body": letter.event} if letter.event is not None else {"base64": _base64(letter)}
    return {**summary(letter), "bytes": len(letter.body), **body}


def told(letter: Letter) -> Iterator[str]:
    """Yield the lines that tell a letter in full."""
    said = {name: shown(value) for name, value in letter.attributes.items()}
    yield f"letter {letter.name}"
    yield f"  refused   {shown(letter.received) or 'unknown when'}, {shown(letter.code) or '-'}"
    yield f"  why       {shown(letter.detail) or 'it does not say'}"
    yield f"  to do     {advice(letter.code)}"
    if letter.redriven:
        yield f"  redriven  {letter.redriven} times"
    names = ("type", "id", "source", "time", "subject")
    yield "  event     " + ", ".join(f"{name} {said.get(name, '-')}" for name in names)
    yield f"  body      {len(letter.body)} bytes"
    yield from (f"    {line}" for line in _body(letter))


def line(letter: Letter) -> str:
    """Return one line that identifies a letter."""
    said = letter.attributes
    what = f"{said.get('type', 'no type')} {said.get('id', 'without id')}"
    return f"{letter.name}  {shown(what)}  {shown(said.get('subject', '-'))}"


def _sources(letters: Iterable[Letter]) -> list[tuple[str, int]]:
    return Counter(one.attributes.get("source", "unreadable") for one in letters).most_common()


def _body(letter: Letter) -> list[str]:
    if letter.event is not None:
        return json.dumps(letter.event, indent=2, ensure_ascii=True).splitlines()
    start = shown(letter.body[:BYTES_SHOWN].decode(errors="backslashreplace"))
    more = len(letter.body) - BYTES_SHOWN
    return [start, f"and {more} bytes more, see --json"] if more > 0 else [start]


def _base64(letter: Letter) -> str:
    return base64.b64encode(letter.body).decode()
