"""Whatever bytes arrive: a verdict for each, no error of ours, and no effect on what comes next."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from actors import simulate
from actors.shards.shard import Shard, Verdict, refused
from statecharts.decisions import EventRefused, Output
from statecharts.events import MAX_BYTES, MAX_DEPTH, Event, decode
from statecharts.refusals import Code, Refusal
from tests.property.model import SECOND, Told
from tests.property.world import FOR_EVER, POLICIES, START, cloudevent, encoded, rfc3339, tell

# -- Valid messages, and what can be wrong with them

# Mostly the same few ids and seats, so that the events of one run meet.
IDS = st.sampled_from(["h1"] * 12 + ["h2", "x" * 256, "é", "𝟙", " ", "\x00", "a/b", '"', "#"])
PLACES = st.sampled_from(["t1/1"] * 6 + ["t1/2", "t2/1", "T.x:_-/10", "t" * 64 + "/1"])
STAMPS = (st.integers(-10, 10) | st.sampled_from([-700, -600, 3600])).map(
    lambda late: rfc3339(START + late * SECOND)
)
INTEGERS = st.sampled_from([0, 1, 50, 100, 499, 500, 10**18 - 1])
DECIMALS = st.sampled_from(
    ["0", "0.0", "00.50", "0.50", "1", "999999999999999999", "0." + "0" * 200 + "1", "5.00"]
)


def amounts(kind: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """The money of a turn, in one unit, with pots that hold what the player has put in."""
    return st.fixed_dictionaries(
        {"to_call": kind, "contributed": kind, "others": st.lists(kind, max_size=3)},
        optional={"stack": kind, "contributed_voluntarily": kind},
    ).map(lambda d: {**d, "pots": [d["contributed"], *d.pop("others")]})


TURN: dict[str, st.SearchStrategy[Any]] = {
    "hand_id": IDS,
    "turn_id": IDS,
    "player_id": IDS,
    "turn_seconds": st.sampled_from([0.001, 1, 20, 600]),
    "format": st.sampled_from(["cash", "cash", "tournament"]),
}
TURN_OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "variant": st.sampled_from(["holdem", "crazy pineapple", "Crazy-Pineapple"]),
    "street": IDS,
    "policy": st.sampled_from(["adda52", "none of ours"]),
    "connected": st.booleans(),
}
BETTING = st.builds(
    lambda turn, money, blind: {
        **turn,
        **money,
        "big_blind": blind if isinstance(money["to_call"], int) else str(blind),
    },
    st.fixed_dictionaries(
        TURN, optional={**TURN_OPTIONS, "time_bank_seconds": st.sampled_from([0, 0.5, 30, 86400])}
    ),
    amounts(INTEGERS) | amounts(DECIMALS),
    st.sampled_from([1, 100, 10**18 - 1]),
)
CARDS = st.lists(
    st.sampled_from(["As", "Kd", "7c", "#1", "é"]), min_size=2, max_size=5, unique=True
)
DISCARD = st.fixed_dictionaries(
    {**TURN, "kind": st.just("discard"), "cards": CARDS},
    optional={**TURN_OPTIONS, "chosen": st.sampled_from(["As", "2h"])},
)
SESSION = {"player_id": IDS, "session_id": IDS}
DATA: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "turn.started": BETTING | DISCARD,
    "turn.acted": st.fixed_dictionaries(
        {"hand_id": IDS, "turn_id": IDS},
        optional={"action": IDS, "by": st.sampled_from(["player", "decision", "engine"])},
    ),
    "card.chosen": st.fixed_dictionaries(
        {"hand_id": IDS, "card": st.sampled_from(["As", "Kd", "2h", None])},
        optional={"turn_id": IDS},
    ),
    "player.connected": st.fixed_dictionaries(SESSION, optional={"sole": st.booleans()}),
    "player.disconnected": st.fixed_dictionaries(SESSION, optional={"reason": IDS}),
    "seat.vacated": st.fixed_dictionaries({"player_id": IDS}),
    "hand.ended": st.fixed_dictionaries({"hand_id": IDS}, optional={"players": st.lists(IDS)}),
    "table.closed": st.just({}),
    "gateway.reset": st.fixed_dictionaries({"gateway": IDS}),
}


@st.composite
def valid(draw: st.DrawFn) -> dict[str, Any]:
    """A message as a publisher should write it; some of the values are at their bounds."""
    name = draw(st.sampled_from([*sorted(DATA), *["turn.started"] * 4]))
    place = draw(PLACES)
    table = name in ("hand.ended", "table.closed")
    return {
        "specversion": "1.0",
        "id": draw(IDS),
        "source": draw(st.sampled_from(["/engine", "h1", "é"])),
        "type": f"seatwarden.{name}.v1",
        "time": draw(STAMPS),
        "subject": place.partition("/")[0] if table else place,
        "data": draw(DATA[name]),
    }


# Text with lone surrogates, unicode digits and the like.
TEXT = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(
    ["\ud800", "٣", "５０", "-1", "1e3", "+1", "1_0", " 1", "1 ", "1.", ".5", "0x1", "NaN",
     "1" * 19, "0." + "0" * 255, "t1/11", "t1/0", "t1/01", "/1", "t1/1/1", "t1/1\n", "a" * 257,
     "2026-01-01T00:00:00", "2016-12-31T23:59:60Z", "0001-01-01T00:00:00+23:59"]
)  # fmt: skip
NUMBERS = (
    st.integers()
    | st.floats()
    | st.sampled_from([10**18, -(10**18), 2**63, 2**64, 10**309, -0.0, 1e308, 5e-324, 10**4000])
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A valid message in which up to three things were changed, written as JSON."""
    event = draw(valid())
    for _ in range(draw(st.integers(1, 3))):
        where = event
        if isinstance(event.get("data"), dict) and event["data"] and draw(st.integers(0, 3)):
            where = event["data"]
        key = draw(st.sampled_from([*where, "arrival", "unknown"]))
        change = draw(st.sampled_from(["remove", "replace", "replace", "replace", "wrap"]))
        if change == "remove":
            where.pop(key, None)
        elif change == "wrap":
            where[key] = [where.get(key)]
        else:
            where[key] = draw(ANYTHING)
    body = json.dumps(event, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    return draw(st.sampled_from([_as_is] * 8 + [_key_twice, _cut, _with_garbage]))(body)


def _as_is(body: bytes) -> bytes:
    return body


def _key_twice(body: bytes) -> bytes:
    return body.replace(b'"data":', b'"data": {"hand_id": 1}, "data":', 1)


def _cut(body: bytes) -> bytes:
    return body[: len(body) * 2 // 3]


def _with_garbage(body: bytes) -> bytes:
    return body.replace(b"e", b"\xff", 1)


BODIES = valid().map(lambda event: json.dumps(event).encode()) | mutated() | st.binary()

# -- What must hold for each


SENDERS = (Code.MALFORMED, Code.UNKNOWN_TYPE, Code.INVALID, Code.TOO_LARGE)
"""The codes of what a sender has done wrong in a message by itself."""


def taken(body: bytes) -> Event | EventRefused:
    """Decode a message; what is refused must be told in JSON, and never as a fault of ours."""
    try:
        return decode(body)
    except Refusal as refusal:
        notice = refused(refusal, START, "digest")
        check_output(notice)
        assert notice.code in SENDERS
        return notice


def check_output(output: Output) -> None:
    written = json.loads(output.encoded())
    assert written["specversion"] == "1.0"
    assert written["id"]
    assert b"\n" not in output.encoded()
    assert datetime.fromisoformat(written["time"]).tzinfo


def apply(shard: Shard, event: Event, arrival: int) -> None:
    answer = shard.apply(event, arrival)
    assert answer.verdict in Verdict
    assert not shard.faults
    for output in answer.outputs:
        check_output(output)
    assert (answer.verdict is Verdict.REFUSED) == (answer.refusal is not None)
    assert answer.refusal is None or answer.refusal.code is not Code.FAILED


def turn_of_another_table(shard: Shard) -> list[bytes]:
    """Play a whole turn, lost and returned, at a table that nothing else was about."""
    turn = {"hand_id": "h1", "turn_id": "t", "player_id": "p", "turn_seconds": 20, "format": "cash",
            "to_call": 100, "contributed": 50, "pots": [150], "big_blind": 100}  # fmt: skip
    word = {"player_id": "p", "session_id": "s"}
    at = START + 3000 * SECOND
    outputs = list[Output]()
    for later, name, data in (
        (0, "turn.started", turn),
        (5, "player.disconnected", word),
        (22, "player.connected", word),
        (24, "player.disconnected", word),
    ):
        told = Told(name, at + later * SECOND, data, "next", 3, "/next", "n")
        outputs += shard.fire(told.stamp)
        outputs += tell(shard, told, told.stamp).outputs
    outputs += shard.fire(FOR_EVER)
    return [one.encoded() for one in outputs if one.table_id == "next"]


AS_EVER = turn_of_another_table(Shard(POLICIES))


@given(bodies=st.lists(BODIES, min_size=1, max_size=6), lag=st.sampled_from([None, 2 * SECOND]))
def test_every_message_gets_a_verdict_and_the_next_one_is_taken_as_ever(
    bodies: list[bytes], lag: int | None
) -> None:
    shard = Shard(POLICIES, max_clock_lag=lag)
    for number, body in enumerate(bodies):
        event = taken(body)
        if isinstance(event, Event):
            apply(shard, event, START + number * SECOND)
    assert turn_of_another_table(shard) == AS_EVER


@given(lines=st.lists(BODIES.filter(lambda body: b"\n" not in body), max_size=8))
def test_the_simulator_plays_any_lines_the_same_way_each_time(lines: list[bytes]) -> None:
    first = [*simulate.run(lines, Shard(POLICIES))]
    assert first == [*simulate.run(lines, Shard(POLICIES))]
    for line in first:
        assert json.loads(line)["source"] == "/seatwarden"
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1


# -- Too much of something

START_OF_TURN = Told(
    "turn.started", START,
    {"hand_id": "h1", "turn_id": "t", "player_id": "p", "turn_seconds": 20, "format": "cash",
     "to_call": 100, "contributed": 50, "pots": [150], "big_blind": 100},
    seat=1, id="1",
)  # fmt: skip


def with_unknown(text: str) -> bytes:
    """Write a valid message with an unknown field, which would be ignored were it not too much."""
    return encoded(START_OF_TURN)[:-1] + f', "unknown": {text}}}'.encode()


def code_of(body: bytes) -> str | None:
    answer = taken(body)
    return answer.code.value if isinstance(answer, EventRefused) else None


@pytest.mark.parametrize("levels", [MAX_DEPTH - 1, MAX_DEPTH, 100, 255, 1_000, 30_000])
@pytest.mark.parametrize(("opening", "closing"), ["[]", ('{"a":', "}")])
def test_nesting_beyond_the_limit_is_too_large(levels: int, opening: str, closing: str) -> None:
    inner = "1" if opening != "[" else ""
    body = with_unknown(opening * levels + inner + closing * levels)
    assert code_of(body) == (None if levels < MAX_DEPTH else "too-large")


@pytest.mark.parametrize("levels", [100_000, 1_000_000])
def test_nesting_that_never_ends_is_refused(levels: int) -> None:
    assert code_of(b"[" * levels) == "too-large"
    assert code_of(b'{"a":' * levels) == "too-large"
    assert code_of(b"[" * (MAX_BYTES - 1)) in ("too-large", "malformed")


@pytest.mark.parametrize("size", [MAX_BYTES - 1, MAX_BYTES, MAX_BYTES + 1, 10 * MAX_BYTES])
def test_64_kib_are_taken_and_no_more(size: int) -> None:
    body = encoded(START_OF_TURN)
    assert code_of(body + b" " * (size - len(body))) == (None if size <= MAX_BYTES else "too-large")


@pytest.mark.parametrize("length", [256, 257, 5_000])
@pytest.mark.parametrize("letter", ["a", "é", "𝟙", "\\u0000"])
def test_strings_of_256_characters_are_taken_and_no_longer_ones(length: int, letter: str) -> None:
    taken_ = length <= 256
    assert code_of(with_unknown(f'"{letter * length}"')) == (None if taken_ else "too-large")
    assert code_of(with_unknown(f'{{"{letter * length}": 1}}')) == (None if taken_ else "too-large")


@pytest.mark.parametrize("digits", [18, 19, 309, 400, 4_300, 4_301, 20_000])
@pytest.mark.parametrize("field", ["to_call", "turn_seconds", "time_bank_seconds", "big_blind"])
def test_numbers_of_any_length_are_answered(digits: int, field: str) -> None:
    data = {**START_OF_TURN.data, field: "NUMBER"}
    body = json.dumps({**cloudevent(START_OF_TURN), "data": data})
    for number in ("9" * digits, "-" + "9" * digits, "0." + "9" * digits, f"1e{digits}"):
        code = code_of(body.replace('"NUMBER"', number).encode())
        assert code in ("invalid", "malformed", None)
        assert code or number == "9" * 18 or "." in number


# -- Time


@st.composite
def stamps(draw: st.DrawFn) -> str:
    """RFC 3339 stamps, or nearly, with every part at or over its bounds at times."""
    year = draw(st.sampled_from(["0000", "0001", "1969", "1970", "2026", "8999", "9000", "9999"]))
    day = draw(st.sampled_from(["01-01", "12-31", "02-29", "00-10", "13-01", "02-30"]))
    time = draw(st.sampled_from(["00:00:00", "23:59:59", "23:59:60", "24:00:00", "12:60:00"]))
    fraction = draw(st.sampled_from(["", ".", ".5", ".000001", ".999999", ".9999999", ".25" * 2]))
    offset = draw(
        st.sampled_from(["Z", "z", "", "+00:00", "-00:00", "+23:59", "-23:59", "+24:00", "+0100",
                         "+01", "+00:60", "-99:99", "+14:00:30"])
    )  # fmt: skip
    return f"{year}-{day}{draw(st.sampled_from(['T', 't', ' ', '']))}{time}{fraction}{offset}"


@given(text=stamps(), arrival=st.sampled_from(["", None]) | stamps(), turn=st.booleans())
@example(text="0001-01-01T00:00:00+23:59", arrival=None, turn=True)
@example(text="9999-12-31T23:59:59-23:59", arrival=None, turn=True)
@example(text="8999-12-31T23:59:59.999999Z", arrival=None, turn=True)
def test_a_stamp_is_read_exactly_or_refused(text: str, arrival: str | None, turn: bool) -> None:
    told = START_OF_TURN if turn else Told("table.closed", START, {}, id="1")
    message = {**cloudevent(told), "time": text}
    if arrival is not None:
        message["arrival"] = arrival
    event = taken(json.dumps(message).encode())
    if isinstance(event, Event):
        # Only whole microseconds are kept.
        exact = datetime.fromisoformat(text.upper())
        assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=event.stamp) == exact
        shard = Shard(POLICIES)
        apply(shard, event, event.stamp)
        for output in shard.fire(FOR_EVER):
            check_output(output)
    for line in simulate.run([json.dumps(message).encode()], Shard(POLICIES)):
        assert json.loads(line)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01T00:00:00",  # naive
        "2026-01-01T00:00:00+0100",
        "2026-01-01",
        "2026-W01-1T00:00:00Z",
        "20260101T000000Z",
        "2026-02-30T00:00:00Z",
        "2026-01-01T00:00:00Z\n",
        "２０２６-01-01T00:00:00Z",
        "",
    ],
)
def test_what_is_no_rfc_3339_stamp_is_invalid(text: str) -> None:
    assert code_of(json.dumps({**cloudevent(START_OF_TURN), "time": text}).encode()) == "invalid"


@given(
    arrivals=st.lists(
        st.sampled_from([0, 1, START, START + 600 * SECOND, 221_845_392_000 * SECOND])
    )
)
def test_whatever_the_arrivals_are_nothing_fails(arrivals: list[int]) -> None:
    shard = Shard(POLICIES, max_clock_lag=2 * SECOND)
    for arrival in sorted(arrivals):
        event = taken(encoded(START_OF_TURN))
        assert isinstance(event, Event)
        apply(shard, event, arrival)
    for output in shard.fire(FOR_EVER):
        check_output(output)


# -- What is in no CloudEvent


def wrong(event: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Messages and the code that each is refused with."""
    whole = json.dumps(event).encode()
    yield "malformed", b""
    yield "malformed", b"\xef\xbb\xbf" + whole
    yield "malformed", whole.decode().encode("utf-16")
    yield "malformed", whole + whole
    yield "malformed", whole.replace(b'"p"', b'"\\ud800"')
    yield "malformed", whole.replace(b'"p"', b'"\xed\xa0\x80"')
    for number in (b"NaN", b"Infinity", b"01", b"1.", b"+1", b"0x1"):
        yield "malformed", whole.replace(b'"turn_seconds": 20', b'"turn_seconds": ' + number)
    yield "malformed", b"[" + whole + b"]"
    yield "malformed", b"null"
    yield "malformed", json.dumps({**event, "specversion": "0.3"}).encode()
    for name in ("id", "source", "type"):
        for value in (None, "", 1, ["x"]):
            yield "malformed", json.dumps({**event, name: value}).encode()
    for type_ in ("seatwarden.turn.started.v2", "turn.started", "seatwarden.decision.made.v1"):
        yield "unknown-type", json.dumps({**event, "type": type_}).encode()
    for subject in (None, "", "t1", "t1/0", "t1/11", "t1/1/1", "t 1/1", "t1/1\n", "t" * 65 + "/1"):
        yield "invalid", json.dumps({**event, "subject": subject}).encode()
    unfit: tuple[object, ...] = (None, [], "x", {})
    for data in unfit:
        yield "invalid", json.dumps({**event, "data": data}).encode()


@pytest.mark.parametrize(("code", "body"), [*wrong(cloudevent(START_OF_TURN))])
def test_what_is_wrong_is_refused_with_its_code(code: str, body: bytes) -> None:
    assert code_of(body) == code
