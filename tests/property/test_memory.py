"""What a seat must remember: 16 turns and 8 sessions of a seat, 16 hands of a table."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from actors.shards.shard import Shard
from statecharts.decisions import DecisionMade, Output
from tests.property.model import SECOND, Told
from tests.property.world import FOR_EVER, POLICIES, START, World, tell

FREE_CHECK = {"turn_seconds": 20, "format": "cash", "to_call": 0, "contributed": 50, "pots": [150],
              "big_blind": 100}  # fmt: skip


def start(number: int, stamp: int, source: str = "/engine", hand: str = "h") -> Told:
    data = {**FREE_CHECK, "hand_id": hand, "turn_id": f"t{number}", "player_id": "p"}
    return Told("turn.started", stamp, data, seat=1, source=source)


def acted(number: int, stamp: int) -> Told:
    return Told("turn.acted", stamp, {"hand_id": "h", "turn_id": f"t{number}"}, seat=1)


def word(session: str, stamp: int, *, live: bool) -> Told:
    name = "player.connected" if live else "player.disconnected"
    return Told(name, stamp, {"player_id": "p", "session_id": session}, seat=1, source="/gateway")


def rules(world: World) -> list[str]:
    return [str(one.rule) for one in world.outputs if isinstance(one, DecisionMade)]


@given(words=st.lists(st.tuples(st.integers(1, 8), st.booleans(), st.sampled_from([0, 0, 1, 5]))))
def test_eight_sessions_are_remembered_whatever_is_said_of_them(
    words: list[tuple[int, bool, int]],
) -> None:
    world = World()
    for session, live, late in words:
        world.wait(world.now + SECOND)
        world.tell(word(f"s{session}", world.now - late * SECOND, live=live))
    world.tell(start(1, world.now))
    world.end()


@given(
    others=st.lists(st.tuples(st.integers(1, 60), st.booleans()), max_size=40),
    back_at=st.integers(0, 40),
    lost=st.booleans(),
)
def test_a_live_session_is_not_forgotten_for_any_number_of_dead_ones(
    others: list[tuple[int, bool]], back_at: int, lost: bool
) -> None:
    # Each of the others comes and goes, or only its going is heard of: never two live at once.
    world = World()
    for number, (session, heard_of) in enumerate(others):
        if number == back_at:
            world.tell(word("mine", world.now, live=True))
        world.wait(world.now + SECOND)
        if heard_of:
            world.tell(word(f"s{session}", world.now, live=True))
        world.tell(word(f"s{session}", world.now + 1, live=False))
    world.tell(word("mine", world.now, live=True))
    if lost:
        world.tell(word("mine", world.now + 1, live=False))
    world.tell(start(1, world.now))
    world.wait(FOR_EVER)
    assert rules(world) == ["check-available" if lost else "turn-timeout"]


@given(
    overtaken=st.sets(st.integers(1, 16)),
    again=st.lists(st.tuples(st.integers(1, 16), st.booleans())),
)
def test_sixteen_turns_are_remembered_however_they_were_closed(
    overtaken: set[int], again: list[tuple[int, bool]]
) -> None:
    world = World()
    for number in sorted(overtaken):
        world.tell(acted(number, world.now))
    for number in range(1, 17):
        world.wait(world.now + SECOND)
        world.tell(start(number, world.now))
        if number % 3 == 0:
            world.tell(acted(number, world.now))
    for number, same_source in again:
        world.wait(world.now + SECOND)
        source = "/engine" if same_source else "/engine-2"
        world.tell(start(number, START + number * SECOND, source))
    world.end()


@given(
    hands=st.lists(st.integers(1, 16), min_size=1, max_size=16), again=st.lists(st.integers(1, 16))
)
def test_sixteen_hands_are_remembered_to_have_ended(hands: list[int], again: list[int]) -> None:
    world = World()
    for hand in hands:
        world.tell(Told("hand.ended", world.now, {"hand_id": f"h{hand}"}))
        world.wait(world.now + SECOND)
    for number, hand in enumerate(again):
        world.wait(world.now + SECOND)
        world.tell(start(number, world.now, hand=f"h{hand}"))
    world.end()


@given(
    again=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 60)), max_size=60),
    close=st.booleans(),
)
def test_a_turn_is_decided_once_though_its_start_is_repeated_long_after(
    again: list[tuple[int, int]], close: bool
) -> None:
    # Far more turns than are remembered: what is older than the latest start opens nothing.
    shard, outputs = Shard(POLICIES), list[Output]()
    for number in range(1, 61):
        now = START + number * 21 * SECOND
        repeated = [which for which, when in again if which <= when == number]
        said = [
            start(one, START + one * 21 * SECOND, hand=f"h{one}") for one in (number, *repeated)
        ]
        if close:
            said.append(acted(number, now))
        for told in said:
            outputs += shard.fire(now)
            outputs += tell(shard, replace(told, id="x"), now).outputs
    outputs += shard.fire(FOR_EVER)
    decided = [one.turn_id for one in outputs if isinstance(one, DecisionMade)]
    assert len(decided) == len(set(decided))
    assert close == (not decided)


@given(
    seats=st.lists(
        st.tuples(st.sampled_from(["t1", "t10", "t2", "T1"]), st.integers(1, 10)), unique=True
    ),
    offsets=st.lists(st.integers(0, 2), min_size=40, max_size=40),
)
def test_deadlines_fire_by_instant_table_and_seat(
    seats: list[tuple[str, int]], offsets: list[int]
) -> None:
    world = World()
    world.wait(START + 2 * SECOND)
    for (table, seat), offset in zip(seats, offsets, strict=False):
        data = {**start(1, 0).data, "turn_id": f"{table}/{seat}"}
        world.tell(Told("turn.started", START + offset * SECOND, data, table, seat))
    world.wait(FOR_EVER)
    fired = [(o.at, o.table_id, o.seat) for o in world.outputs if isinstance(o, DecisionMade)]
    assert len(fired) == len(seats)
    assert fired == sorted(fired, key=lambda one: (one[0], str(one[1]), one[2] or 0))
