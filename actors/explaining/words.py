"""The timeline of a turn in plain words, from its record; no I/O.

A line for each entry, with when it took effect after the turn's start, and below it the stamps of
the source, of the broker and of ours.  Nothing in it is markup: who prints it must not read any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from actors import policies
from actors.explaining.answer import answer
from actors.explaining.spelling import clock, lasting, shown
from actors.stories.timeline import fullness
from statecharts.digests import short
from statecharts.instants import MILLISECOND, SECOND, from_rfc3339

Record = Mapping[str, Any]
Entry = Mapping[str, Any]
INDENT = " " * 11


class Line(NamedTuple):
    """A line of text and the style (of `rich`) in which it is shown."""

    text: str
    style: str = ""


def fullest(records: Iterable[Record]) -> list[Record]:
    """Return one record of each turn, the fuller, in order of their first closing."""
    kept: dict[tuple[str, int, str], Record] = {}
    for record in records:
        data = record["data"]
        key = (data["table_id"], data["seat"], data["turn_id"])
        if key not in kept or fullness(record) > fullness(kept[key]):
            kept[key] = record
    return list(kept.values())


def explained(record: Record) -> dict[str, Any]:
    """Return the answer beside the record itself, as JSON types."""
    return {"answer": answer(record["data"]), "timeline": record}


def told(record: Record) -> Iterator[Line]:
    """Yield the lines that tell a turn."""
    data = record["data"]
    entries = data["entries"]
    start = _start(entries, record["time"])
    yield Line(
        f"Turn {shown(data['turn_id'])} of hand {shown(data['hand_id'])}, "
        f"table {shown(data['table_id'])}, seat {data['seat']}, "
        f"player {shown(data['player_id'])}",
        "bold",
    )
    policy = data["policy"]
    yield Line(
        f"{record['time'][:10]}, all times in UTC; "
        f"policy {shown(policy['name'])} ({shown(policy['digest'])})"
    )
    yield from _sessions(data)
    yield Line("")
    is_decided = False
    for place, entry in enumerate(entries):
        after = entries[place + 1] if place + 1 < len(entries) else {}
        tell: Tell = _TELLERS.get(entry["what"], _unknown)
        yield from tell(entry, _Place(start, data, after, is_decided))
        is_decided = is_decided or entry["what"] == "decision"
    if data["left_out"]:
        yield Line(
            f"{INDENT}({data['left_out']} more entries of the middle were counted and not kept)",
            "dim",
        )
    yield Line("")
    yield Line(answer(data), "bold")


class _Place(NamedTuple):
    """Where an entry stands: in which turn, before which entry, and if after the decision."""

    start: int
    data: Mapping[str, Any]
    after: Entry
    is_decided: bool

    def when(self, stamp: str) -> str:
        """Write how long after the turn's start something was."""
        return f"{(from_rfc3339(stamp) - self.start) / SECOND:+9.3f}  "


def _start(entries: list[Entry], closed: str) -> int:
    """Return the instant from which the turn's time counts, or the first that is known."""
    first = next((one for one in entries if one["what"] == "input"), None)
    if first is None:
        return from_rfc3339(closed)
    return from_rfc3339(first["reference" if first["type"] == "turn.started" else "arrival"])


def _sessions(data: Mapping[str, Any]) -> Iterator[Line]:
    """Tell the sessions known at the start, by their names where a later word gives them."""
    named = {
        f"{short(one['facts']['session_id']):016x}": one["facts"]["session_id"]
        for one in data["entries"]
        if "session_id" in one.get("facts", {})
    }
    for one in data["facts"]["sessions"]:
        name = shown(named.get(one["session"], f"#{one['session'][:8]}"))
        status = {"live": "live", "gone": "forgotten"}.get(one["status"], "dead")
        since = clock(one["since"])
        yield Line(f"known when the turn began: session {name}, {status} since {since}")


# -- Entries


def _input(entry: Entry, place: _Place) -> Iterator[Line]:
    words = _PHRASES.get(entry["type"], _wordless)(entry["facts"], place)
    style = {"applied": "", "ignored": "dim"}.get(entry["verdict"], "yellow")
    name = entry["type"] or "a message that we could not take"
    yield Line(f"{place.when(entry['arrival'])}{name}{f': {words}' if words else ''}", style)
    ours = entry["received"]
    stamps = [
        f"{shown(entry['source'])} said it {clock(entry['time']) if entry['time'] else '?'}",
        f"broker {clock(entry['arrival'])}",
        f"ours {clock(ours)}" if ours else "ours: in virtual time",
    ]
    yield Line(f"{INDENT}{', '.join(stamps)}; {_verdict(entry, place)}", "dim")


def _verdict(entry: Entry, place: _Place) -> str:
    verdict, why = entry["verdict"], entry["why"]
    code = f" ({entry['code']})" if "code" in entry else ""
    if verdict == "applied" and place.after.get("line") == entry["line"]:
        why = None  # the change tells it
    elif verdict == "applied" and place.is_decided:
        why = "noted, but the decision is final"
    about = f", event {shown(entry['id'])}"
    return f"{verdict}{code}{f': {shown(why)}' if why else ''}{about}"


def _change(entry: Entry, place: _Place) -> Iterator[Line]:
    until = entry["until"]
    lasts = ""
    if until:
        span = lasting(from_rfc3339(until) - from_rfc3339(entry["at"]))
        lasts = f", until {clock(until)} ({span})"
    source, target = (entry[name].replace("_", " ") for name in ("from", "to"))
    stays = source == target
    if stays and not until:
        lasts = ", and its time stands still"
    change = source if stays else f"{source} -> {target}"
    yield Line(f"{place.when(entry['at'])}{change}{lasts}", "cyan")
    late = f"; noticed {lasting(entry['late_ms'] * MILLISECOND)} late" if "late_ms" in entry else ""
    why = shown(entry["why"] or entry["line"])
    yield Line(f"{INDENT}{clock(entry['at'])}, by {entry['trigger']}{late}: {why}", "dim")
    yield from _left(entry)


def _left(entry: Entry) -> Iterator[Line]:
    if (left := entry.get("budget_left_ms")) is not None:
        yield Line(
            f"{INDENT}{lasting(left * MILLISECOND)} of his disconnection time is left", "dim"
        )
    if (left := entry.get("protection_left")) is not None:
        yield Line(f"{INDENT}all-in protection is left {left} times", "dim")


def _advice(entry: Entry, place: _Place) -> Iterator[Line]:
    advice = {"sit_out": "have him sit out", "vacate": "give his seat to others"}
    when = " at the hand's end" if entry["when"] == "hand_end" else ""
    yield Line(
        f"{place.when(entry['at'])}advice to the backend: "
        f"{advice.get(entry['advice'], entry['advice'])}{when}"
    )
    yield Line(
        f"{INDENT}after {entry['decisions']} decisions without him, in {entry['hands']} hands",
        "dim",
    )


def _decision(entry: Entry, place: _Place) -> Iterator[Line]:
    card = f" {shown(entry['card'])}" if "card" in entry else ""
    yield Line(f"{place.when(entry['deadline'])}DECISION: {entry['action']}{card}", "bold red")
    point = entry["point"]
    policy = place.data["policy"]["name"]
    if policy != policies.DEFAULT:  # the points are those of its text
        basis = f"of the policy {shown(policy)}"
    elif entry["basis"] == "text":
        basis = f"point {point} of the policy"
    elif point == "ours":
        basis = "our reading of what the policy leaves open"
    else:
        basis = f"our reading of point {point} of the policy"
    late = lasting(entry["late_ms"] * MILLISECOND)
    yield Line(
        f"{INDENT}rule {entry['rule']}, {basis}; due {clock(entry['deadline'])}, made {late} late"
    )
    yield Line(f'{INDENT}"{entry["sentence"]}"', "italic")
    yield from _left(entry)


def _interruption(entry: Entry, place: _Place) -> Iterator[Line]:
    span = "within a time in which nothing could be heard"
    if entry["start"]:
        span = f"nothing could be heard from {clock(entry['start'])} to {clock(entry['end'])}"
    until = f"; the deadline moves to {clock(entry['until'])}" if entry["until"] else ""
    yield Line(f"{place.when(entry['at'])}interruption: {span}{until}", "magenta")


def _uncovered(entry: Entry, place: _Place) -> Iterator[Line]:
    yield Line(f"{place.when(entry['at'])}turn.uncovered ({entry['reason']}): nothing is decided")


def _unknown(entry: Entry, _place: _Place) -> Iterator[Line]:
    yield Line(f"{INDENT}{shown(entry['what'])}: of a newer version than this program")


Tell = Callable[[Entry, _Place], Iterator[Line]]

_TELLERS: Mapping[str, Tell] = {
    "input": _input,
    "change": _change,
    "decision": _decision,
    "interruption": _interruption,
    "advice": _advice,
    "uncovered": _uncovered,
}

# -- Events, by their type

Facts = Mapping[str, Any]


def _started(facts: Facts, place: _Place) -> str:
    if facts["turn_id"] != place.data["turn_id"]:
        return f"another turn, {shown(facts['turn_id'])} of hand {shown(facts['hand_id'])}"
    if "turn_seconds" not in facts:
        return "this turn, told again"
    told = [f"{facts['turn_seconds']:g} s to act", f"{facts['format']} game", facts["kind"]]
    told += [f"{name} {facts[name]}" for name in ("variant", "street", "policy") if name in facts]
    if "to_call" in facts:
        pots = " + ".join(map(str, facts["pots"]))
        own = facts.get("contributed_voluntarily")
        told += [
            f"{facts['to_call']} to call",
            f"{facts['contributed']} of his in the pot",
            *([] if own is None else [f"{own} of it voluntarily"]),
            f"pots {pots}",
            f"big blind {facts['big_blind']}",
        ]
    if "protection_left" in facts:
        told.append(f"all-in protection left {facts['protection_left']} times, says the engine")
    if facts.get("time_bank_seconds"):
        told.append(f"time bank {facts['time_bank_seconds']:g} s")
    if "chosen" in facts:
        told.append(f"chosen {facts['chosen']}")
    if "connected" in facts:
        told.append("connected, says the engine" if facts["connected"] else "away, says the engine")
    return shown(", ".join(told))


def _acted(facts: Facts, place: _Place) -> str:
    action = f": {facts['action']}" if "action" in facts else ""
    return shown(f"{_named(facts, place)} is closed{action}, by {facts.get('by', 'player')}")


def _named(facts: Facts, place: _Place) -> str:
    own = facts["turn_id"] == place.data["turn_id"]
    return "the turn" if own else f"turn {facts['turn_id']}"


def _cancelled(facts: Facts, place: _Place) -> str:
    return shown(f"{_named(facts, place)} is called off")


def _extended(facts: Facts, place: _Place) -> str:
    return shown(f"{_named(facts, place)} lasts {facts['seconds']:g} s longer")


def _chosen(facts: Facts, _place: _Place) -> str:
    if "card" not in facts:
        return "a choice that is none of this discard"
    return (
        "the choice is withdrawn" if facts["card"] is None else shown(f"he chose {facts['card']}")
    )


def _session(facts: Facts, place: _Place) -> str:
    told = [f"session {facts['session_id']}"]
    if facts["player_id"] != place.data["player_id"]:
        told.append(f"of another player, {facts['player_id']}")
    if facts.get("sole"):
        told.append("all his others are dead")
    if "reason" in facts:
        told.append(facts["reason"])
    return shown(", ".join(told))


def _wordless(facts: Facts, _place: _Place) -> str:
    return shown(", ".join(f"{name} {value}" for name, value in facts.items()))


def _whole(name: str, text: str) -> Callable[[Facts, _Place], str]:
    return lambda facts, _: shown(text.format(facts.get(name, "?")))


_PHRASES: Mapping[str, Callable[[Facts, _Place], str]] = {
    "turn.started": _started,
    "turn.acted": _acted,
    "turn.cancelled": _cancelled,
    "turn.extended": _extended,
    "card.chosen": _chosen,
    "player.connected": _session,
    "player.disconnected": _session,
    "player.away": _whole("player_id", "player {} says that he is away"),
    "player.back": _whole("player_id", "player {} says that he is back"),
    "seat.vacated": _whole("player_id", "player {} has left the seat"),
    "hand.ended": _whole("hand_id", "hand {} is over"),
    "table.closed": lambda _facts, _place: "the table is closed",
    "table.paused": lambda _facts, _place: "the table's clocks stand still",
    "table.resumed": lambda _facts, _place: "the table's clocks go on",
    "protection.reset": lambda facts, _place: shown(
        f"the all-in protection of {facts.get('player_id', 'everybody at the table')} is whole"
    ),
    "gateway.reset": _whole("gateway", "all older sessions of {} are dead"),
}
