"""`seatwarden explain`: what a player who complains can be told, and who may be told what."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from actors.broker.streams import StreamMissing
from actors.broker.topology import AUDIT, common
from actors.cli import app
from actors.explaining import command as explaining
from actors.explaining.command import Wanted, printed, search
from actors.explaining.words import explained, fullest, told
from actors.memory import MemoryBroker, MemoryTransport
from actors.stories.audit import KIND, audit_messages
from actors.stories.timeline import Timeline
from actors.transport import CannotConnect, Connection, Message
from statecharts.instants import SECOND
from statecharts.surroundings import Interruption
from tests.stories import (
    DISCARD,
    FOLDED,
    FREE,
    PLAYED,
    RETURN,
    SESSION,
    START,
    TURN,
    Played,
    Told,
    play,
)  # fmt: skip

NOTHING = "Nothing was decided for him:"
ACTED = Told("turn.acted", 60, PLAYED)


def text(played: Played) -> str:
    """Return the last turn, as it is told."""
    return "\n".join(line.text for line in told(fullest(played.records)[-1]))


def answer(*events: Told) -> str:
    return text(play(*events)).splitlines()[-1]


# -- Why was I folded?


def test_a_return_after_the_grace_is_told_with_both_stamps() -> None:
    assert answer(*FOLDED) == (
        "Folded at 20:15:48.250: the grace was over. He had been away since 20:15:07.000 (the"
        " gateway's stamp; we heard it 40 ms later), and came back, for us, at 20:15:49.100, 850 ms"
        " after the deadline. The gateway stamped that word 20:15:48.100, before the deadline; what"
        " counts is when it reached the broker. We made the decision 3 ms after its deadline. The"
        " engine has played it (fold): it said so at 20:15:49.300."
    )


def test_every_entry_has_its_stamps_its_state_and_its_reason() -> None:
    lines = text(play(*FOLDED)).splitlines()
    assert lines[:3] == [
        "Turn h77-12 of hand h77, table t1, seat 4, player p9",
        lines[1],
        "known when the turn began: session s-31, live since 20:14:50.000",
    ]
    assert lines[1].startswith("2026-03-01, all times in UTC; policy adda52 (")
    lost = lines.index("   +6.790  player.disconnected: session s-31, ping-timeout")
    assert lines[lost + 1].strip() == (
        "/gateways/eu-1 said it 20:15:07.000, broker 20:15:07.040, ours 20:15:07.042; applied: who"
        " is connected counts at the turn end, not before, event g1-884"
    )
    buffer = lines.index("  +20.000  acting -> buffer, until 20:15:23.250 (3 s)")
    assert lines[buffer + 1].strip() == (
        "20:15:20.250, by deadline; noticed 3 ms late: I.ii.B, T7: the buffer stands before the"
        " disconnection grace"
    )


def test_a_decision_comes_with_the_sentence_of_the_policy() -> None:
    lines = text(play(*FOLDED)).splitlines()
    made = lines.index("  +48.000  DECISION: fold")
    assert lines[made + 1].strip() == (
        "rule grace-expired, point I.ii.B of the policy; due 20:15:48.250, made 3 ms late"
    )
    assert lines[made + 2].strip().startswith('"You were disconnected when your time ran out')


def test_the_readme_shows_what_is_told() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    assert text(play(*FOLDED[1:])) in readme


def test_what_he_put_in_of_his_own_will_is_told_where_the_engine_tells_it() -> None:
    turn = {**TURN, "contributed_voluntarily": 0}
    assert "50 of his in the pot, 0 of it voluntarily, pots" in text(
        play(Told("turn.started", 0, turn))
    )


def test_a_check_is_told() -> None:
    assert answer(Told("turn.started", 0, FREE), Told("player.disconnected", 5, SESSION, 5.04)) == (
        "Checked at 20:15:20.000: he was away when his time was over, and a check was free. He had"
        " been away since 20:15:05.000 (the gateway's stamp; we heard it 40 ms later); no word of a"
        " return came before this was written. We made the decision 3 ms after its deadline."
    )


def test_who_was_away_before_his_turn_is_told_so() -> None:
    lost = Told("player.disconnected", -30, SESSION)
    assert "He had been away since 20:14:30.000, before his turn began, and came back" in answer(
        lost, Told("turn.started", 0, FREE), Told("player.connected", 21, RETURN), ACTED
    )
    assert "away since before his turn began, as the engine said" in answer(
        Told("turn.started", 0, {**FREE, "connected": False})
    )


def test_who_was_connected_and_silent_is_told_so() -> None:
    silent = answer(Told("turn.started", 0, FREE), Told("turn.acted", 21, PLAYED))
    assert "his time was over, and he had not acted. For us he was connected." in silent


def test_a_loss_that_was_heard_of_too_late_is_told() -> None:
    late = answer(
        Told("player.connected", -9, SESSION),
        Told("turn.started", 0, FREE),
        Told("player.disconnected", 19, SESSION, 21.5),
        ACTED,
    )
    assert (
        "For us he was connected; the word that he was lost came 1500 ms after the deadline"
        " (the gateway's stamp: 20:15:19.000)." in late
    )


def test_who_was_back_in_the_grace_but_silent_is_told_so() -> None:
    back = answer(*FOLDED[:3], Told("player.connected", 30, RETURN))
    assert "For us he was back since 20:15:30.000." in back


def test_an_action_that_came_too_late_is_told() -> None:
    late = {**PLAYED, "action": "call", "by": "player"}
    assert "with his own action (call): its word came 750 ms after the deadline." in answer(
        *FOLDED[:3], Told("turn.acted", 48, late, 49)
    )
    by_itself = {**PLAYED, "by": "engine"}
    assert "The engine has closed the turn by itself (fold)" in answer(
        *FOLDED[:3], Told("turn.acted", 49, by_itself)
    )
    assert "The turn was over at 20:15:50.000: the hand is over" in answer(
        *FOLDED[:3], Told("hand.ended", 50, {"hand_id": "h77"}, subject="t1")
    )


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (
            [Told("turn.acted", 3, {**PLAYED, "action": "call", "by": "player"})],
            f"{NOTHING} he acted in time (call), at 20:15:03.000.",
        ),
        (
            [Told("turn.acted", 3, {**PLAYED, "by": "engine"})],
            f"{NOTHING} the engine has closed the turn by itself (fold), at 20:15:03.000.",
        ),
        (
            [Told("seat.vacated", 3, {"player_id": "p9"})],
            f"{NOTHING} at 20:15:03.000, the player has left, his turn is off.",
        ),
    ],
)
def test_a_turn_without_a_decision_is_told(events: list[Told], expected: str) -> None:
    assert answer(Told("turn.started", 0, TURN), *events) == expected


def test_an_uncovered_turn_is_told_whether_announced_or_not() -> None:
    tournament = {**TURN, "format": "tournament"}
    first = Told("turn.started", 0, tournament)
    assert "the policy does not cover this format" in answer(first)
    second = Told("turn.started", 9, {**tournament, "turn_id": "h77-13"})
    assert "as was told before in this hand" in answer(first, second)


def test_an_interruption_is_told() -> None:
    played = Played().tell(Told("turn.started", 0, FREE))
    for shard in (played.shard, played.silent):
        shard.interrupt(Interruption(START + 15 * SECOND, START + 40 * SECOND), START + 37 * SECOND)
    lines = text(played.end()).splitlines()
    assert (
        "  +37.000  interruption: nothing could be heard from 20:15:15.000 to 20:15:40.000; the"
        " deadline moves to 20:15:40.000" in lines
    )
    assert lines[-1].endswith(
        "An interruption had moved his deadline to 20:15:40.000, which gave him more time."
    )


def test_entries_left_out_are_counted() -> None:
    lost = FOLDED[2]
    repeats = [Told(lost.name, 7, lost.data, 8 + n / 20, source="/g") for n in range(200)]
    assert "(146 more entries of the middle were counted and not kept)" in text(
        play(*FOLDED[:3], *repeats, *FOLDED[3:])
    )


def test_a_repeated_event_is_shown_as_ignored() -> None:
    lost = FOLDED[2]
    again = Told(lost.name, 7, lost.data, 9, id=lost.id, source=lost.source)
    assert "; ignored: a word as new or newer about that session is known already" in text(
        play(*FOLDED[:3], again)
    )


# -- What may be told


def test_no_card_is_told_but_the_one_that_goes_and_those_he_chose() -> None:
    chosen = [Told("card.chosen", at, {"hand_id": "h77", "card": card})
              for at, card in ((3, "As"), (4, "Kd"), (5, "Qh"))]  # fmt: skip
    told_ = text(play(Told("turn.started", 0, DISCARD), *chosen))
    assert "Discarded Kd at 20:15:10.000" in told_
    assert "he chose As" in told_
    assert "7c" not in told_
    assert "Qh" not in told_


def test_the_rightmost_card_is_told() -> None:
    assert answer(Told("turn.started", 0, DISCARD)).startswith(
        "Discarded 7c at 20:15:10.000: his time was over with no card chosen, so the rightmost went"
    )


STRANGE = "[red]x[/nosuch] \x1b[31m\u202e"


def test_what_others_have_named_acts_neither_on_the_terminal_nor_as_markup() -> None:
    player = {"player_id": STRANGE, "session_id": STRANGE}
    played = play(
        Told("turn.started", 0, {**TURN, **player, "turn_id": STRANGE, "variant": STRANGE}),
        Told("player.disconnected", 3, {**player, "reason": STRANGE}, id=STRANGE, source=STRANGE),
        Told("turn.started", 4, {**TURN, "policy": STRANGE, "turn_id": "other"}),
        Told("turn.acted", 70, {"hand_id": "h77", "turn_id": STRANGE, "action": STRANGE}),
    )
    out = StringIO()
    printed(fullest(played.records), Console(file=out, highlight=False))
    assert "[red]x[/nosuch]" in out.getvalue()
    assert "\x1b" not in out.getvalue()
    assert "\u202e" not in out.getvalue()


# -- Which turns


def test_the_fuller_record_of_a_turn_is_taken_in_any_order() -> None:
    first, second = play(*FOLDED).records
    assert fullest([first, second]) == fullest([second, first]) == [second]


def test_json_has_the_answer_beside_the_record() -> None:
    record = play(*FOLDED).records[-1]
    told_ = json.loads(json.dumps(explained(record)))
    assert told_["timeline"] == record
    assert told_["answer"] == answer(*FOLDED)


# -- Reading the stream


def body(*events: Told) -> bytes:
    return audit_messages(_timelines(*events))[0].body


def _timelines(*events: Told) -> list[Timeline]:
    played = Played()
    shard, taken = played.shard, list[Timeline]()
    take = shard.take_timelines

    def keep() -> list[Timeline]:
        taken.extend(come := take())
        return come

    shard.take_timelines = keep  # type: ignore[method-assign]
    played.tell(*events).end()
    return taken


OTHER = (
    Told("turn.started", 0, {**TURN, "turn_id": "h77-13"}),
    Told("turn.acted", 3, {**PLAYED, "turn_id": "h77-13"}),
)


async def connected(*bodies: bytes) -> Connection:
    """Return a connection to a broker with these messages in the audit stream."""
    connection = await MemoryTransport(MemoryBroker()).connect()
    await connection.declare(common())
    for one in bodies:
        await connection.publish(Message("", AUDIT, one, kind=KIND))
    return connection


async def found(*bodies: bytes, **wanted: Any) -> list[str]:
    come = await search(await connected(*bodies), Wanted(**wanted))
    return [record["data"]["turn_id"] for record in come]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"turn": "h77-12"}, ["h77-12"]),
        ({"table": "t1"}, ["h77-12", "h77-13"]),
        ({"table": "t1", "hand": "h77"}, ["h77-12", "h77-13"]),
        ({"table": "t1", "hand": "h7"}, []),
        ({"table": "t2"}, []),
        ({"turn": "h77-12", "table": "t2"}, []),
        ({"table": "t1", "since": START + 40 * SECOND}, ["h77-12"]),
    ],
)
async def test_turns_are_found_by_turn_table_hand_and_time(
    wanted: dict[str, Any], expected: list[str]
) -> None:
    bodies = (b"\xff", body(*FOLDED), body(*OTHER), b"{}")
    assert await found(*bodies, **wanted) == expected


async def test_a_long_stream_is_read_to_its_end() -> None:
    assert await found(*[b"{}"] * 3000, body(*FOLDED), turn="h77-12") == ["h77-12"]


async def test_the_fuller_record_of_a_turn_is_the_one_that_is_told() -> None:
    connection = await connected()
    for message in (*audit_messages(_timelines(*OTHER)), *audit_messages(_timelines(*FOLDED))):
        await connection.publish(message)
    (record,) = await search(connection, Wanted(turn="h77-12"))
    assert record["data"]["entries"][-1]["to"] == "idle"


async def test_a_missing_stream_is_told() -> None:
    connection = await MemoryTransport(MemoryBroker()).connect()
    with pytest.raises(StreamMissing, match=f"{AUDIT} is missing"):
        await search(connection, Wanted(turn="h77-12"))


# -- The command


def call(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["explain", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    records = play(*FOLDED).records

    async def search_(_url: str, wanted: Wanted) -> list[dict[str, Any]]:
        return fullest(one for one in records if wanted.is_met(one))  # type: ignore[return-value]

    monkeypatch.setattr(explaining, "_search", search_)
    return records


@pytest.mark.usefixtures("stream")
def test_what_is_found_is_told_with_status_0() -> None:
    result = call("--turn", "h77-12")
    assert result.exit_code == 0
    assert answer(*FOLDED) in result.stdout


def test_json_is_one_record_a_line(stream: list[dict[str, Any]]) -> None:
    result = call("--table", "t1", "--json")
    assert result.exit_code == 0
    (line,) = result.stdout.splitlines()
    assert json.loads(line)["timeline"] == stream[-1]


@pytest.mark.usefixtures("stream")
def test_nothing_found_is_status_1_with_what_to_check() -> None:
    result = call("--table", "t1", "--hand", "h1")
    assert result.exit_code == 1
    assert "no closed turn is known of table t1, hand h1. To check:" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "--turn ID, or --table T"),
        (["--hand", "h"], "--turn ID, or --table T"),
        (["--turn", "u", "--since", "yesterday"], "--since: must be an RFC 3339 stamp"),
        (["--turn", "u", "--amqp", "http://x"], "SEATWARDEN_AMQP_URL"),
    ],
)
def test_unusable_input_is_status_2(arguments: list[str], expected: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert expected in result.stderr


def test_a_broker_that_cannot_be_reached_is_status_2(monkeypatch: pytest.MonkeyPatch) -> None:
    async def search_(_url: str, _wanted: Wanted) -> list[dict[str, Any]]:
        raise CannotConnect("nobody listens")

    monkeypatch.setattr(explaining, "_search", search_)
    result = call("--turn", "u")
    assert result.exit_code == 2
    assert "the audit stream cannot be read: nobody listens" in result.stderr
