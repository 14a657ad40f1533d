"""The journal: what counts, what is restored, and what is refused."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors import policies
from actors.broker import streams
from actors.journal import (
    Journal,
    JournalError,
    LeaseLost,
    Outgoing,
    Record,
    begin,
    reading,
    records,
)
from actors.journal.checkpoint import Entry
from actors.journal.collector import collector
from actors.journal.reading import Counting
from actors.journal.records import MARKER, RECORD
from actors.memory import MemoryBroker, MemoryTransport
from actors.shards.deadlines import SeatKey
from actors.shards.pictures import Known, Picture
from actors.transport import Connection, Delivery, Message, Queue, Topology
from statecharts.seat import Seat
from statecharts.surroundings import Interruption
from statecharts.tables import Table

STREAM = "journal"
KNOWN = policies.bundled()
EMPTY = Record(Picture({}, {}), sign_of_life=7)


async def connected(broker: MemoryBroker | None = None) -> tuple[MemoryBroker, Connection]:
    broker = broker or MemoryBroker()
    connection = await MemoryTransport(broker).connect()
    await connection.declare(Topology(queues=(Queue(STREAM, "stream"),)))
    return broker, connection


def picture(seats: Iterable[tuple[str, int, int]], gone: Iterable[SeatKey] = ()) -> Picture:
    """Return seats by table, number and `seq`, each with its table."""
    found: dict[SeatKey, Known[Seat] | None] = {
        (table, number): Known(Seat(table, number, seq=seq), seq) for table, number, seq in seats
    }
    return Picture(
        {**found, **dict.fromkeys(gone)},
        {table: Known(Table((seq,)), seq) for table, _, seq in seats},
    )


class Shard:
    """What a shard knows, in a test: it gives changes and looks entries up."""

    def __init__(self) -> None:
        self.seats: dict[SeatKey, Known[Seat] | None] = {}
        self.tables: dict[str, Known[Table] | None] = {}

    def take(self, changes: Picture) -> None:
        for key, known in changes.seats.items():
            if known is None:
                self.seats.pop(key, None)
            else:
                self.seats[key] = known
        self.tables.update(changes.tables)

    def entries(self, keys: Iterable[Entry]) -> Picture:
        return Picture(
            {key: self.seats.get(key) for key in keys if isinstance(key, tuple)},
            {key: self.tables.get(key) for key in keys if isinstance(key, str)},
        )


async def test_what_is_committed_is_what_the_next_owner_finds() -> None:
    _, connection = await connected()
    await begin(connection, STREAM, EMPTY)
    first = Journal(connection, STREAM, "first")
    assert (await first.open(KNOWN)).sign_of_life == 7
    outgoing = Outgoing(1, Message("x", "k", b"\xff\x00{", headers={"n": 1, "s": "t"}, id="i"))
    record = Record(
        replace(picture([("t", 1, 5)]), interruptions=(Interruption(1, 2),), mark=9),
        (outgoing,), 0, ("a", "b"), 10, 8, {"c": 2},
    )  # fmt: skip
    await first.commit(record)
    second = Journal(connection, STREAM, "second")
    found = await second.open(KNOWN)
    assert found.changes == record.changes
    assert (found.outbox, found.covered, found.trying) == ((outgoing,), ("a", "b"), {"c": 2})
    assert (found.sign_of_life, found.keep) == (8, 10)


async def test_who_reads_a_later_marker_has_lost_the_shard_and_what_he_wrote_is_void() -> None:
    broker, connection = await connected()
    await begin(connection, STREAM, EMPTY)
    first, second = Journal(connection, STREAM, "first"), Journal(connection, STREAM, "second")
    await first.open(KNOWN)
    await first.commit(Record(picture([("t", 1, 1)])))
    await second.open(KNOWN)
    written = len(broker.messages(STREAM))
    with pytest.raises(LeaseLost):
        await first.commit(Record(picture([("t", 1, 2)])))
    # What a sleeper had on its way is confirmed all the same, behind the marker; it does not count.
    assert first.epoch is not None
    body = records.encoded(Record(picture([("t", 1, 3)])), None, all_keys=True)
    for message in records.messages(STREAM, body, first.epoch, 2):
        await connection.publish(message)
    assert len(broker.messages(STREAM)) > written
    third = Journal(connection, STREAM, "third")
    found = await third.open(KNOWN)
    [known] = found.changes.seats.values()
    assert known is not None
    assert known.value.seq == 1


async def test_a_confirm_is_no_commit() -> None:
    broker, connection = await connected()
    await begin(connection, STREAM, EMPTY)
    journal = Journal(connection, STREAM, "one")
    await journal.open(KNOWN)
    other = await MemoryTransport(broker).connect()
    marker = Message("", STREAM, b"", kind=MARKER, headers={"nonce": "another"})
    publishing = asyncio.ensure_future(other.publish(marker))
    with pytest.raises(LeaseLost):
        await journal.commit(Record(picture([("t", 1, 1)])))
    await publishing


@pytest.mark.parametrize("size", [10, 3 * records.PART])
async def test_records_of_any_size_are_read_back_as_a_whole(size: int) -> None:
    _, connection = await connected()
    await begin(connection, STREAM, EMPTY)
    journal = Journal(connection, STREAM, "one")
    await journal.open(KNOWN)
    outgoing = Outgoing(1, Message("x", "k", random.Random(1).randbytes(size)))
    await journal.commit(Record(picture([]), (outgoing,)))
    await journal.commit(Record(picture([("t", 1, 1)])))
    found = await Journal(connection, STREAM, "two").open(KNOWN)
    assert found.outbox == (outgoing,)
    assert list(found.changes.seats) == [("t", 1)]


async def test_a_missing_journal_and_one_without_a_first_record_are_refused() -> None:
    broker = MemoryBroker()
    connection = await MemoryTransport(broker).connect()
    with pytest.raises(JournalError, match="journal is missing"):
        await Journal(connection, STREAM, "one").open(KNOWN)
    await connected(broker)
    with pytest.raises(JournalError, match="no first record"):
        await Journal(connection, STREAM, "one").open(KNOWN)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"version": 99}', "version 99"),
        (b'{"version": 0}', "version 0"),
        (b"{}", "version"),
        (b"\xff", "cannot be read"),
        (b"[]", "cannot be read"),
        (b'{"version": 1}', "cannot be read"),
    ],
)
async def test_a_record_that_cannot_be_read_is_refused_and_says_why(body: bytes, told: str) -> None:
    _, connection = await connected()
    await begin(connection, STREAM, EMPTY)
    journal = Journal(connection, STREAM, "one")
    await journal.open(KNOWN)
    assert journal.epoch is not None
    headers = {"epoch": journal.epoch, "number": 1, "part": 0, "more": 0}
    await connection.publish(Message("", STREAM, body, kind=RECORD, headers=headers))
    with pytest.raises(JournalError, match=told):
        await Journal(connection, STREAM, "two").open(KNOWN)


async def test_a_journal_that_has_lost_what_is_needed_is_refused() -> None:
    broker = MemoryBroker()
    connection = await MemoryTransport(broker).connect()
    small = Queue(STREAM, "stream", max_bytes=40_000)
    await connection.declare(Topology(queues=(small,)))
    await begin(connection, STREAM, EMPTY)
    journal = Journal(connection, STREAM, "one")
    await journal.open(KNOWN)
    await journal.commit(Record(picture([(f"t{n}", 1, 1) for n in range(50)])))
    for number in range(30):  # the old entries are not carried on, as `with_oldest` would do
        await journal.commit(Record(picture([(f"u{number}", 1, 1)]), covered=("x" * 1000,)))
    with pytest.raises(JournalError, match="retention is too small"):
        await Journal(connection, STREAM, "two").open(KNOWN)


CHANGES = st.lists(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(1, 4), st.booleans()), max_size=5),
    max_size=120,
)


@given(CHANGES, st.integers(0, 2**32))
def test_whatever_changes_the_next_owner_finds_all_of_it_and_reads_little(
    groups: list[list[tuple[str, int, bool]]], seed: int
) -> None:
    asyncio.run(follow(groups, random.Random(seed)))


async def follow(groups: list[list[tuple[str, int, bool]]], chance: random.Random) -> None:
    """Commit groups of changes, with changes of owner, and compare what the last one finds."""
    _, connection = await connected()
    await begin(connection, STREAM, EMPTY)
    shard, keys, numbers, sent = Shard(), [""], 0, 0
    journal = Journal(connection, STREAM, "0")
    await journal.open(KNOWN)
    for number, group in enumerate(groups, 1):
        stays = {(table, seat) for table, seat, is_gone in group if not is_gone}
        gone = {(table, seat) for table, seat, is_gone in group if is_gone} - stays
        changes = picture([(table, seat, number) for table, seat in sorted(stays)], gone)
        shard.take(changes)
        outbox = tuple(
            Outgoing(numbers + more, Message("x", "k", b"")) for more in range(1, len(group) + 1)
        )
        numbers += len(group)
        sent = chance.randint(sent, numbers)
        keys.append(f"k{number}")
        record = Record(changes, outbox, sent, (keys[-1],), 20, number)
        await journal.commit(journal.with_oldest(record, shard.entries))
        if chance.random() < 0.1:
            await journal.close()
            journal = Journal(connection, STREAM, f"{number}")
            await journal.open(KNOWN)
    found = await Journal(connection, STREAM, "last").open(KNOWN)
    assert found.changes.seats == shard.seats
    assert found.changes.tables == shard.tables
    if groups:
        assert list(found.covered) == keys[1:][-20:]
        assert [one.number for one in found.outbox] == list(range(sent + 1, numbers + 1))
        last = await reading.last_counting(
            connection, STREAM, await streams.end_of(connection, STREAM)
        )
        assert last is not None
        since = records.plain(last.body)["complete_from"]
        entries = len(shard.seats) + len(shard.tables)
        assert since is None or last.first - since <= 64 + entries + 2 * len(groups) or sent == 0


# What counts, told by offsets alone: markers ("m", nonce) and parts (epoch, number, part, more).


def stream(*told: str | tuple[int, int, int, int]) -> list[Delivery]:
    deliveries = []
    for offset, one in enumerate(told):
        if isinstance(one, str):
            deliveries.append(Delivery(offset + 1, "", STREAM, b"", kind=one, offset=offset))
            continue
        headers = dict(zip(("epoch", "number", "part", "more"), one, strict=True))
        deliveries.append(
            Delivery(offset + 1, "", STREAM, b"", kind=RECORD, headers=headers, offset=offset)
        )
    return deliveries


def counted(deliveries: list[Delivery], *, proven: bool) -> list[int]:
    counting = Counting(proven=proven)
    return [found.last for delivery in deliveries for found in counting.hear(delivery)]


def test_numbers_must_follow_one_another_within_the_newest_epoch() -> None:
    told = stream(
        MARKER, (0, 1, 0, 0), (0, 3, 0, 0), "seatwarden.look", (0, 2, 0, 0),
        MARKER, (0, 3, 0, 0), (5, 1, 0, 0), (0, 4, 0, 0), (5, 2, 0, 0),
    )  # fmt: skip
    assert counted(told, proven=True) == [1, 4, 7, 9]


def test_read_from_the_middle_a_record_counts_when_the_next_one_has_begun() -> None:
    whole = stream(MARKER, (0, 1, 0, 0), (0, 2, 0, 0), (0, 3, 0, 0))
    assert counted(whole[1:], proven=False) == [1, 2, 3]
    assert counted(whole[3:], proven=False) == [], "it may lie behind a marker that is not read"
    assert counted(whole[3:], proven=True) == [3]


def test_parts_that_were_sent_together_do_not_prove_one_another() -> None:
    void = stream(MARKER, MARKER, (0, 8, 0, 1), (0, 9, 1, 1), (0, 10, 2, 0))
    assert counted(void, proven=True) == []
    assert counted(void[2:], proven=False) == []


def test_a_record_whose_beginning_was_not_read_is_left_out_but_proves_the_next() -> None:
    told = stream(MARKER, (0, 1, 0, 1), (0, 2, 1, 0), (0, 3, 0, 0), (0, 4, 0, 0))
    assert counted(told[2:], proven=False) == [3, 4]


def test_an_unfinished_record_does_not_count() -> None:
    told = stream(MARKER, (0, 1, 0, 0), (0, 2, 0, 1), MARKER, (3, 1, 0, 0))
    assert counted(told, proven=True) == [1, 4]


def test_the_collector_rests_until_the_last_has_done() -> None:
    first, second = collector.rests(), collector.rests()
    with first:
        second.__enter__()
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()
