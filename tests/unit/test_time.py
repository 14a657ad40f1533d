"""How time comes to a shard: arrivals, ticks and deadlines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.shards.deadlines import Deadlines, SeatKey
from actors.transport import Delivery
from actors.work.arrivals import Arrivals
from actors.work.ticks import AFTER_DEADLINE, EVERY, KIND, Ticker, is_tick, read
from statecharts.instants import MILLISECOND, SECOND

NOW = 1_000 * SECOND


def reading(*, broker_stamps: bool = False) -> Arrivals:
    """Arrivals of a queue whose first tick is back: what comes is received as it arrives."""
    arrivals = Arrivals(0, NOW, broker_stamps=broker_stamps)
    arrivals.tick_sent(NOW)
    arrivals.of_tick(NOW, None, NOW, ours=True)
    return arrivals


def test_without_stamps_a_message_arrives_when_it_is_received() -> None:
    assert reading().of_event(NOW - SECOND, None, NOW + 5) == NOW + 5


def test_a_publishers_own_stamp_header_is_not_believed_unless_the_broker_overwrites_it() -> None:
    stamp = (NOW - SECOND) // MILLISECOND
    assert reading().of_event(NOW, stamp, NOW + 5) == NOW + 5
    believing = Arrivals(0, NOW, broker_stamps=True)
    assert believing.of_event(NOW, stamp, NOW + 5) == NOW - SECOND


def test_in_a_backlog_a_message_arrives_at_its_own_time_but_not_before_what_stands_before_it() -> (
    None
):
    arrivals = Arrivals(0, NOW, broker_stamps=False)
    arrivals.tick_sent(NOW)
    assert arrivals.of_event(NOW - 20 * SECOND, None, NOW) == NOW - 20 * SECOND
    assert arrivals.of_event(NOW - 30 * SECOND, None, NOW) == NOW - 20 * SECOND
    assert arrivals.of_tick(NOW - 10 * SECOND, None, NOW, ours=False) == NOW - 10 * SECOND
    assert arrivals.of_event(NOW - 15 * SECOND, None, NOW) == NOW - 10 * SECOND
    assert arrivals.of_event(NOW + 60 * SECOND, None, NOW) == NOW, "a clock ahead gains nothing"


def test_a_tick_that_is_long_on_its_way_stands_behind_a_backlog() -> None:
    arrivals = reading()
    arrivals.tick_sent(NOW)
    late = NOW + 5 * SECOND
    assert arrivals.of_event(NOW + SECOND, None, late) == NOW + SECOND


def test_what_stands_behind_a_tick_that_came_late_is_backlog_although_the_next_tick_is_young() -> (
    None
):
    arrivals = reading()
    late = NOW + SECOND
    arrivals.of_tick(NOW, None, late, ours=True, awaited=NOW + 900 * MILLISECOND)
    acted = NOW + 300 * MILLISECOND
    assert arrivals.of_event(acted, None, late) == acted
    arrivals.of_tick(late, None, late + 5 * MILLISECOND, ours=True)
    assert arrivals.of_event(acted, None, late + 5 * MILLISECOND) == late + 5 * MILLISECOND


def test_a_stamp_far_ahead_of_our_clock_is_not_believed_and_counted() -> None:
    arrivals = reading(broker_stamps=True)
    ahead = (NOW + 10 * SECOND) // MILLISECOND
    assert arrivals.of_event(NOW, ahead, NOW + 1) == NOW + 1
    assert arrivals.disbelieved == 1


def test_an_arrival_ahead_of_the_time_is_given_up_at_once_by_a_new_owner() -> None:
    arrivals = Arrivals(NOW + 300 * SECOND, NOW, broker_stamps=True)
    assert arrivals.has_stepped_back
    assert arrivals.of_event(NOW, NOW // MILLISECOND, NOW) == NOW


def test_a_lasting_step_back_begins_anew_and_a_passing_one_does_not() -> None:
    arrivals = reading(broker_stamps=True)
    arrivals.of_event(NOW, NOW // MILLISECOND, NOW)
    back = NOW - 10 * SECOND
    for number in range(3):
        assert not arrivals.has_stepped_back
        assert arrivals.mark == NOW, number
        arrivals.of_tick(back, back // MILLISECOND, NOW, ours=True)
    assert arrivals.has_stepped_back
    assert arrivals.mark == back


@given(st.lists(st.tuples(st.integers(0, 100), st.booleans(), st.integers(0, 100))))
def test_arrivals_never_run_backwards(messages: list[tuple[int, bool, int]]) -> None:
    arrivals = Arrivals(0, NOW, broker_stamps=True)
    last = 0
    for seconds, is_stamped, stamp in messages:
        stamp_in_ms = stamp * 1000 if is_stamped else None
        arrival = arrivals.of_event(seconds * SECOND, stamp_in_ms, 50 * SECOND)
        assert arrival >= last
        last = arrival


def test_a_tick_is_due_just_after_the_next_deadline_and_at_least_every_second() -> None:
    ticker = Ticker("me")
    ticker.is_back(ticker.next(NOW))
    assert ticker.due(None) == NOW + EVERY
    assert ticker.due(NOW + 10 * SECOND) == NOW + EVERY
    assert ticker.due(NOW + 300 * MILLISECOND) == NOW + 300 * MILLISECOND + AFTER_DEADLINE


def test_a_tick_is_sent_every_second_whether_the_last_one_is_back_or_not() -> None:
    ticker = Ticker("me")
    ticker.next(NOW)
    assert ticker.due(NOW + 1) == NOW + EVERY
    ticker.next(NOW + EVERY)
    assert ticker.due(NOW + 1) == NOW + 2 * EVERY
    assert ticker.oldest == NOW
    assert not ticker.has_returned


def test_a_tick_of_ours_that_is_back_leaves_the_newer_ones_awaited() -> None:
    ticker = Ticker("me")
    first, second, third = (ticker.next(NOW + number * SECOND) for number in range(3))
    assert ticker.is_back(second)
    assert not ticker.is_back(first), "it went astray, or comes again"
    assert ticker.oldest == third.sent
    assert not ticker.is_back(Ticker("another").next(NOW))
    assert ticker.is_back(third)
    assert not ticker.is_awaited


def test_a_tick_survives_its_way_and_an_event_is_never_one() -> None:
    tick = Ticker("me").next(NOW)
    message = tick.message("shard")
    delivery = Delivery(1, "", "shard", message.body, kind=message.kind)
    assert is_tick(delivery)
    assert read(delivery) == tick
    assert not is_tick(Delivery(1, "seatwarden.events", "55.t1", message.body, kind=KIND))
    for body in (b"", b"[]", b"{}", b'{"nonce": 1, "sent": "x"}', b"\xff"):
        assert read(Delivery(1, "", "shard", body, kind=KIND)) is None


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["t1", "t2", "t10"]), st.integers(1, 3), st.integers(0, 9) | st.none()
        )
    )
)
def test_deadlines_come_in_order_of_instant_table_and_seat(
    changes: list[tuple[str, int, int | None]],
) -> None:
    deadlines = Deadlines()
    running: dict[SeatKey, int] = {}
    for table, seat, instant in changes:
        deadlines.set((table, seat), instant)
        if instant is None:
            running.pop((table, seat), None)
        else:
            running[table, seat] = instant
        assert len(deadlines) == len(running)
    for instant, seat_key in sorted((instant, key) for key, instant in running.items()):
        assert deadlines.next() == (instant, seat_key)
        deadlines.set(seat_key, None)
    assert deadlines.next() is None


def test_the_heap_stays_bounded_however_often_a_deadline_moves() -> None:
    deadlines = Deadlines()
    for instant in range(10_000):
        deadlines.set(("t1", 1), instant)
    assert len(deadlines._heap) < 100  # noqa: SLF001 - the bound is the point
