"""The timeline of a turn: all that was heard, changed and decided while it was open, in order."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pydantic_core
import pytest

from actors.broker.topology import AUDIT
from actors.explaining.words import told as told_lines
from actors.shards.pictures import Picture, dump, load
from actors.shards.shard import Shard
from actors.stories.audit import CONTENT_TYPE, KIND, audit_messages, records
from actors.stories.story import FIRST, MAX_ENTRIES
from actors.stories.teller import Teller
from actors.stories.timeline import Timeline, fullness
from actors.transport import Delivery
from statecharts import kernel
from statecharts.decisions import DecisionMade, TurnUncovered
from statecharts.events import decode
from statecharts.instants import SECOND
from statecharts.lines import Trigger
from statecharts.refusals import Refusal
from statecharts.surroundings import Interruption
from tests.stories import (
    DISCARD,
    FOLDED,
    FREE,
    PLAYED,
    POLICIES,
    SESSION,
    START,
    TURN,
    Played,
    Told,
    of,
    play,
)  # fmt: skip


def changes(entries: list[dict[str, Any]]) -> list[str]:
    return [one["to"] for one in of(entries, "change")]


def test_a_decided_turn_is_told_when_decided_and_once_more_when_the_engine_closes_it() -> None:
    first, second = play(*FOLDED).records
    assert first["data"]["turn_id"] == second["data"]["turn_id"] == "h77-12"
    assert first["id"] != second["id"]
    assert first["time"] == "2026-03-01T20:15:48.250000Z"
    assert second["time"] == "2026-03-01T20:15:49.300000Z"
    held = first["data"]["entries"]
    assert second["data"]["entries"][: len(held)] == held
    assert fullness(second) > fullness(first)
    assert held[-1]["to"] == "auto_action"


def test_a_record_is_a_cloudevent() -> None:
    record = play(*FOLDED).records[-1]
    assert {name: record[name] for name in ("specversion", "source", "type", "subject")} == {
        "specversion": "1.0",
        "source": "/seatwarden",
        "type": "seatwarden.turn.timeline.v1",
        "subject": "t1/4",
    }
    assert record["id"] == play(*FOLDED).records[-1]["id"]


def test_entries_stand_in_the_order_in_which_they_applied() -> None:
    told = [one.get("type") or one.get("to") or one.get("action") for one in play(*FOLDED).entries]
    assert told == [
        "turn.started", "acting", "player.disconnected", "buffer", "disconnection_grace", "fold",
        "auto_action", "player.connected", "turn.acted", "idle",
    ]  # fmt: skip


def test_an_input_has_three_stamps_a_verdict_and_facts() -> None:
    lost = of(play(*FOLDED).entries, "input")[1]
    assert lost == {
        "what": "input",
        "type": "player.disconnected",
        "id": "g1-884",
        "source": "/gateways/eu-1",
        "time": "2026-03-01T20:15:07.000000Z",
        "arrival": "2026-03-01T20:15:07.040000Z",
        "received": "2026-03-01T20:15:07.042000Z",
        "reference": "2026-03-01T20:15:07.000000Z",
        "verdict": "applied",
        "line": "presence-noted:acting:player.disconnected",
        "why": "who is connected counts at the turn end, not before",
        "connected": False,
        "facts": {**SESSION, "reason": "ping-timeout"},
    }


def test_the_start_tells_the_money_and_what_was_known_of_the_player() -> None:
    record = play(*FOLDED).records[-1]
    start = record["data"]["entries"][0]
    assert start["facts"] == {**TURN, "kind": "betting", "time_bank_seconds": 0}
    (known,) = record["data"]["facts"]["sessions"]
    assert known["status"] == "live"
    assert known["since"] == "2026-03-01T20:14:50.000000Z"


def test_a_change_by_a_deadline_tells_the_row_and_how_late_it_was_noticed() -> None:
    buffer = of(play(*FOLDED).entries, "change")[1]
    assert buffer["line"] == "away-money-in-pot:acting"
    assert buffer["why"].startswith("I.ii.B")
    assert buffer["until"] == "2026-03-01T20:15:23.250000Z"
    assert buffer["noticed"] == "2026-03-01T20:15:20.253000Z"
    assert buffer["late_ms"] == 3


def test_a_decision_tells_rule_point_and_sentence() -> None:
    (decision,) = of(play(*FOLDED).entries, "decision")
    assert (decision["rule"], decision["point"]) == ("grace-expired", "I.ii.B")
    assert "you were folded" in decision["sentence"]
    assert decision["late_ms"] == 3


def test_a_free_check_is_told() -> None:
    told = play(Told("turn.started", 0, FREE), Told("player.disconnected", 5, SESSION))
    (decision,) = of(told.entries, "decision")
    assert (decision["action"], decision["rule"]) == ("check", "check-available")


def test_a_discard_tells_the_choice_and_no_other_card() -> None:
    told = play(
        Told("turn.started", 0, DISCARD),
        Told("card.chosen", 3, {"hand_id": "h77", "card": "Kd"}),
        Told("card.chosen", 4, {"hand_id": "h77", "card": "Qh"}),
        Told("card.chosen", 5, {"hand_id": "h78", "card": "Jh"}),
    )
    text = json.dumps(told.records)
    assert [one["verdict"] for one in of(told.entries, "input")] == [
        "applied", "applied", "refused", "applied",
    ]  # fmt: skip
    (decision,) = of(told.entries, "decision")
    assert decision["card"] == "Kd"
    assert not [card for card in ("As", "7c", "Qh", "Jh") if card in text]


def test_a_repeated_event_is_told_as_ignored() -> None:
    lost = FOLDED[2]
    again = Told(lost.name, 7, lost.data, 9, id=lost.id, source=lost.source)
    told = play(*FOLDED[:3], again, *FOLDED[3:])
    words = [one for one in of(told.entries, "input") if one["id"] == "g1-884"]
    assert [one["verdict"] for one in words] == ["applied", "ignored"]
    assert words[1]["why"] == "a word as new or newer about that session is known already"


def test_a_repeated_end_of_another_hand_is_told_as_known() -> None:
    over = Told("hand.ended", 3, {"hand_id": "h76"}, subject="t1")
    told = play(Told("turn.started", 0, TURN), over, over)
    assert [(one["verdict"], one["why"]) for one in of(told.entries, "input")[1:]] == [
        ("ignored", "no turn of that hand is open in this seat"),
        ("ignored", "known already"),
    ]


def test_a_refused_event_is_told_with_its_code() -> None:
    other = {**TURN, "turn_id": "h77-13", "policy": "nobody's"}
    told = play(Told("turn.started", 0, TURN), Told("turn.started", 1, other))
    refused = of(told.entries, "input")[1]
    assert (refused["verdict"], refused["code"]) == ("refused", "invalid")
    assert "nobody's" in refused["why"]
    assert refused["facts"] == {"hand_id": "h77", "turn_id": "h77-13"}


def test_a_message_that_is_no_event_is_told_where_it_names_a_seat_with_a_turn() -> None:
    played = Played().tell(Told("turn.started", 0, TURN))
    body = {"specversion": "1.0", "id": "x", "source": "/engine", "subject": "t1/4", "data": PLAYED}
    body |= {"type": "seatwarden.turn.acted.v1", "time": "soon"}
    with pytest.raises(Refusal) as refused:
        decode(json.dumps(body).encode())
    for subject in ("t1/4", "t1/5", "t2/4"):
        table, seat = subject.split("/")
        identity = replace(refused.value.identity, table_id=table, seat=int(seat))
        refusal = Refusal(refused.value.code, refused.value.detail, identity)
        played.shard.note_refused(refusal, START + 5 * SECOND)
        played.silent.note_refused(refusal, START + 5 * SECOND)
    _, noted = of(played.taken_over().end().entries, "input")
    assert (noted["type"], noted["time"], noted["code"]) == (None, None, "invalid")
    assert noted["received"] == "2026-03-01T20:15:05.000000Z"
    assert noted["facts"] == {"hand_id": "h77", "turn_id": "h77-12"}
    lines = [line.text for line in told_lines(played.records[-1])]
    assert "   +5.000  a message that we could not take: hand_id h77, turn_id h77-12" in lines


def test_a_story_in_another_form_is_dropped_and_the_turn_is_decided() -> None:
    played = Played().tell(*FOLDED[:3])
    plain = json.loads(json.dumps(dump(played.shard.picture())))
    plain["seats"][0][1] = [1, 2]
    played.shard = Shard(POLICIES, timelines=True)
    played.shard.restore(load(plain, POLICIES.by_digest))
    assert changes(played.end().entries) == ["buffer", "disconnection_grace", "auto_action"]


def test_an_interruption_is_told_with_the_new_deadline() -> None:
    played = Played().tell(Told("turn.started", 0, TURN))
    for shard in (played.shard, played.silent):
        shard.interrupt(Interruption(START + 15 * SECOND, START + 40 * SECOND), START + 37 * SECOND)
    (moved,) = of(played.end().entries, "interruption")
    assert moved == {
        "what": "interruption",
        "at": "2026-03-01T20:15:37.000000Z",
        "start": "2026-03-01T20:15:15.000000Z",
        "end": "2026-03-01T20:15:40.000000Z",
        "until": "2026-03-01T20:15:40.000000Z",
    }


def test_an_interruption_known_before_moves_a_deadline_that_begins_in_it() -> None:
    played = Played()
    for shard in (played.shard, played.silent):
        shard.interrupt(Interruption(START + 15 * SECOND, START + 40 * SECOND), START + 37 * SECOND)
    (moved,) = of(played.tell(Told("turn.started", 0, TURN, 38)).end().entries, "interruption")
    assert moved["start"] == "2026-03-01T20:15:15.000000Z"


@pytest.mark.parametrize("again", [False, True])
def test_an_uncovered_turn_is_told_at_its_start(again: bool) -> None:
    tournament = {**TURN, "format": "tournament"}
    told = play(Told("turn.started", 0, tournament))
    if again:  # it is announced once per hand, and told for each turn
        told.tell(Told("turn.started", 9, {**tournament, "turn_id": "h77-13"}))
    notices = [one for one in told.outputs if isinstance(one, TurnUncovered)]
    assert len(notices) == 1
    assert [one["data"]["turn_id"] for one in told.records] == ["h77-12", "h77-13"][: 1 + again]
    assert [one["what"] for one in told.records[0]["data"]["entries"]] == ["input", "uncovered"]


def test_a_turn_that_another_cancels_is_told_and_the_other_begins_with_its_start() -> None:
    told = Played().tell(
        Told("turn.started", 0, TURN), Told("turn.started", 5, {**TURN, "turn_id": "h77-13"})
    )
    (cancelled,) = told.records
    assert cancelled["data"]["turn_id"] == "h77-12"
    assert cancelled["data"]["entries"][-1]["line"] == "turn-superseded:acting"
    told.end()
    assert told.records[-1]["data"]["turn_id"] == "h77-13"
    assert told.entries[0]["facts"]["to_call"] == 100
    assert changes(told.entries)[0] == "acting"


def test_two_hundred_repeats_leave_the_beginning_the_changes_and_the_end() -> None:
    lost = FOLDED[2]
    repeats = [Told(lost.name, 7, lost.data, 8 + n / 20, source="/g") for n in range(200)]
    told = play(*FOLDED[:3], *repeats, *FOLDED[3:])
    plain = play(*FOLDED)
    assert len(told.entries) == MAX_ENTRIES
    assert fullness(told.records[-1]) == len(plain.entries) + 200
    assert told.entries[0] == plain.entries[0]
    assert of(told.entries, "change") == of(plain.entries, "change")
    assert of(told.entries, "decision") == of(plain.entries, "decision")
    assert told.entries[-1]["to"] == "idle"


def test_changes_beyond_all_bounds_leave_the_first_and_the_last() -> None:
    words = [
        Told(
            "player.disconnected" if n % 2 else "player.connected", 24 + n / 10,
            {**SESSION, "session_id": f"s{n // 2}"},
        )
        for n in range(1, 140)
    ]  # fmt: skip
    told = play(*FOLDED[:3], *words)
    assert len(told.entries) == MAX_ENTRIES
    assert told.entries[:FIRST] == play(*FOLDED[:3], *words[:40]).entries[:FIRST]
    assert told.entries[-1]["to"] == "auto_action"


@pytest.mark.parametrize("place", range(1, len(FOLDED) + 1))
def test_a_successor_goes_on_with_the_story(place: int) -> None:
    told = Played().tell(*FOLDED[:place]).taken_over().tell(*FOLDED[place:]).end()
    assert told.records == play(*FOLDED).records


def test_a_successor_of_one_that_told_no_stories_begins_with_what_comes() -> None:
    played = Played().tell(*FOLDED[:3])
    silent = played.silent.picture()
    assert all(known is not None and known.story is None for known in silent.seats.values())
    played.shard = Shard(POLICIES, timelines=True)
    played.shard.restore(silent)
    told = played.tell(*FOLDED[3:])
    assert told.records[-1]["data"]["turn_id"] == "h77-12"
    assert changes(told.entries) == ["buffer", "disconnection_grace", "auto_action", "idle"]


def test_one_that_tells_no_stories_takes_none_over() -> None:
    picture: Picture = Played().tell(*FOLDED[:3]).shard.picture()
    shard = Shard(POLICIES)
    shard.restore(picture)
    assert all(
        known is not None and known.story is None for known in shard.picture().seats.values()
    )


def test_a_seat_without_a_turn_has_no_story() -> None:
    picture = play(*FOLDED).shard.picture()
    assert all(known is not None and known.story is None for known in picture.seats.values())


def test_a_noted_event_changes_the_picture_for_the_journal() -> None:
    played = Played().tell(Told("turn.started", 0, TURN))
    played.shard.take_changes()
    played.tell(Told("turn.started", 1, {**TURN, "turn_id": "x", "policy": "nobody's"}))
    assert ("t1", 4) in played.shard.take_changes().seats


def test_a_turn_that_a_fault_of_ours_closes_is_told() -> None:
    played = Played().tell(*FOLDED[:3])
    step = kernel.step

    def fails(*arguments: Any) -> kernel.Outcome:
        if arguments[1].name is Trigger.CARD_CHOSEN:
            raise RuntimeError("a fault")
        return step(*arguments)

    with patch.object(kernel, "step", fails):
        played.tell(Told("card.chosen", 8, {"hand_id": "h77", "card": "Kd"}))
    (record,) = played.end(faults=1).records
    assert [one["what"] for one in record["data"]["entries"][-3:]] == [
        "input", "uncovered", "change",
    ]  # fmt: skip
    assert record["data"]["entries"][-3]["code"] == "failed"
    assert record["data"]["entries"][-1]["why"] == "a fault of ours"


def test_a_fault_in_telling_costs_the_story_and_no_decision() -> None:
    with patch.object(Teller, "_go_on", side_effect=RuntimeError("a fault")):
        played = Played().tell(*FOLDED).end(faults=1)
    rules = [one.rule for one in played.outputs if isinstance(one, DecisionMade)]
    assert rules == ["grace-expired"]
    assert not played.records


# -- The stream's messages


def _timelines() -> list[Timeline]:
    played = Played().tell(*FOLDED)
    with patch.object(played.shard, "take_timelines", return_value=[]):
        played.tell(Told("turn.started", 60, {**TURN, "turn_id": "h78-1"}))
        played.tell(Told("turn.acted", 61, {**PLAYED, "turn_id": "h78-1"}))
        played.tell(Told("turn.started", 62, {**TURN, "turn_id": "h78-2"}))
        played.tell(Told("turn.acted", 63, {**PLAYED, "turn_id": "h78-2"}))
    return played.shard.take_timelines()


def test_one_message_tells_all_turns_of_a_group() -> None:
    timelines = _timelines()
    (message,) = audit_messages(timelines)
    assert (message.exchange, message.routing_key, message.kind) == ("", AUDIT, KIND)
    assert message.content_type == CONTENT_TYPE
    assert pydantic_core.from_json(message.body) == [one.as_json() for one in timelines]
    assert audit_messages(timelines) == [message]
    assert records(Delivery(1, "", AUDIT, message.body, kind=KIND)) == json.loads(message.body)


def test_no_turn_is_no_message() -> None:
    assert audit_messages([]) == []


def test_a_huge_group_is_several_messages() -> None:
    with patch("actors.stories.audit.MAX_BYTES", 1):
        assert len(audit_messages(_timelines())) == 2


@pytest.mark.parametrize("body", [b"[", b"{}", b"[1]", b'[{"type":"x"}]', b"\xff"])
def test_what_is_no_timeline_is_passed_over(body: bytes) -> None:
    assert records(Delivery(1, "", AUDIT, body, kind=KIND)) == []
    assert records(Delivery(1, "", AUDIT, body)) == []
