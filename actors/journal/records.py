"""The records of a shard's journal, and their form in the stream.

One record is one group of deliveries as a whole: what changed, what is to be sent, which
deliveries it covers.  It is JSON, in parts of at most `PART` bytes, each a message of its own;
epoch and number stand in the headers, so that a reader can tell what counts without looking inside.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pydantic_core
from pydantic import ValidationError

from actors.journal import upgrades
from actors.shards import pictures
from actors.shards.pictures import Picture
from actors.transport import Delivery, Message
from statecharts.policy import Policies, Policy
from statecharts.seat import SnapshotError

VERSION = 2
"""Of the whole record, snapshots of seats included; see `UPGRADES`."""
UPGRADES: Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: upgrades.from_1}
"""For each older version that can still be read, what makes a record of the next one of it."""

PART = 1 << 20
RECORD = "seatwarden.record"
MARKER = "seatwarden.marker"
EPOCH, NUMBER, PART_OF, MORE = "epoch", "number", "part", "more"


class Outgoing(NamedTuple):
    """A message to be sent, numbered in the order of the shard's outputs."""

    number: int
    message: Message


class Owner(NamedTuple):
    """Who has written a record: the worker's name, and since when it owns the shard."""

    worker: str
    since: int


@dataclass(frozen=True, slots=True)
class Record:
    """One group: seats and tables that changed (with some that did not), and all other facts.

    Instants are microseconds since 1970.
    """

    changes: Picture
    outbox: tuple[Outgoing, ...] = ()
    sent_through: int = 0
    """All up to this number has been confirmed."""
    covered: tuple[str, ...] = ()
    """Keys of the deliveries, whatever their verdict; delivered again, they are skipped."""
    keep: int = 0
    """How many keys are to be kept: as many as can be delivered again."""
    sign_of_life: int | None = None
    """When a tick was last back: the shard was alive then."""
    trying: Mapping[str, int] = field(default_factory=dict)
    """Deliveries under suspicion, by key: how often they were tried without a verdict."""
    owner: Owner | None = None


class Place(NamedTuple):
    """Where a part stands in the order of what counts."""

    epoch: int
    number: int
    part: int
    """Which part of its record it is, from 0."""
    more: bool
    """Whether the record goes on in the next part."""


def encoded(record: Record, complete_from: int | None, *, all_keys: bool) -> bytes:
    """Return a record's bytes.

    `complete_from` is the offset from which on the records give the whole picture; None: this one's
    own.  `all_keys`: its covered keys are all that are kept.
    """
    picture = record.changes
    seats = [known for known in picture.seats.values() if known is not None]
    turns = [known.value.turn for known in seats if known.value.turn]
    plain = {
        "version": VERSION,
        "complete_from": complete_from,
        "owner": record.owner,
        "sign_of_life": record.sign_of_life,
        "facts": pictures.dump_facts(picture),
        "seats": [pictures.dump_seat(known) for known in seats],
        "seats_gone": [key for key, known in picture.seats.items() if known is None],
        "tables": [
            pictures.dump_table(table_id, known)
            for table_id, known in picture.tables.items()
            if known is not None
        ],
        "tables_gone": [table_id for table_id, known in picture.tables.items() if known is None],
        "policies": {
            turn.policy.digest: turn.policy.model_dump(mode="json", exclude_defaults=True)
            for turn in turns
        },
        "outbox": [_dump(outgoing) for outgoing in record.outbox],
        "sent_through": record.sent_through,
        "covered": record.covered,
        "all_keys": all_keys,
        "keep": record.keep,
        "trying": record.trying,
    }
    return pydantic_core.to_json(plain)


def messages(stream: str, body: bytes, epoch: int, number: int) -> Iterator[Message]:
    """Yield the messages that write a record's bytes, the first one with that number."""
    for part, start in enumerate(range(0, len(body), PART)):
        more = int(start + PART < len(body))
        headers = {EPOCH: epoch, NUMBER: number + part, PART_OF: part, MORE: more}
        yield Message(
            "", stream, body[start : start + PART], "application/json", RECORD, headers
        )  # fmt: skip


def place(delivery: Delivery) -> Place | None:
    """Return the place of a part; None if the message is none."""
    if delivery.kind != RECORD:
        return None
    found = [delivery.headers.get(name) for name in (EPOCH, NUMBER, PART_OF, MORE)]
    epoch, number, part, more = (one if isinstance(one, int) else -1 for one in found)
    return None if -1 in (epoch, number, part, more) else Place(epoch, number, part, bool(more))


def plain(body: bytes) -> dict[str, Any]:
    """Return a record's JSON in this program's version; raises SnapshotError."""
    try:
        found = pydantic_core.from_json(body)
        version = found["version"]
        while version != VERSION:
            found = UPGRADES[version](found)
            version += 1
    except KeyError:
        told = f"a record of version {found.get('version')!r}; this program reads {VERSION}"
        raise SnapshotError(told) from None
    except (ValueError, TypeError, AttributeError) as error:
        raise SnapshotError(f"a record that cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise SnapshotError("a record that is no JSON object")
    return found


def outgoing(entry: list[Any]) -> Outgoing:
    """Return the message of one entry of a record's `outbox`."""
    number, exchange, key, body, content_type, kind, headers, id_ = entry
    data = body.encode() if isinstance(body, str) else b64decode(body[0])
    return Outgoing(number, Message(exchange, key, data, content_type, kind, headers, id_))


def policies(found: Mapping[str, Any], known: Policies) -> dict[str, Policy]:
    """Return the policies by digest: those that a record brings, and those at hand."""
    try:
        told = {digest: Policy.model_validate(keys) for digest, keys in found.items()}
    except ValidationError as error:
        raise SnapshotError(f"a policy in the journal cannot be read: {error}") from None
    return {**told, **known.by_digest}


def _dump(outgoing: Outgoing) -> list[Any]:
    number, message = outgoing
    body: str | list[str]
    try:
        body = message.body.decode()
    except UnicodeDecodeError:
        body = [b64encode(message.body).decode()]
    return [
        number, message.exchange, message.routing_key, body,
        message.content_type, message.kind, dict(message.headers), message.id,
    ]  # fmt: skip
