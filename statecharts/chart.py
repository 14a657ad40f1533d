"""The seat's statechart: the transition table, as data, and the one source of all that is drawn.

The machine in `kernel`, the diagrams, the table in the documentation and one test per line come
from here.  Nothing here runs: a line names the answers that its guard wants (`guards`), its effect
(`effects`) and, where it decides for the player, the rule (`rules`).  For each state and trigger,
and whatever the answers are, exactly one line applies; the tests prove it.

`I.i`, `D6a` and the like cite the published policy, `reading 1` to `reading 8` what it leaves open
and how we settle it: `policies/adda52.md` has both.
"""

from __future__ import annotations

from collections.abc import Mapping

from statecharts.lines import Line, Link, Row, State, Trigger, When, go, ignore, note, refuse
from statecharts.rules import Action, Rule

IDLE, ACTING, TIME_BANK, BUFFER = State.IDLE, State.ACTING, State.TIME_BANK, State.BUFFER
GRACE, RETURNED = State.DISCONNECTION_GRACE, State.RETURNED
DISCARDING, AUTO_ACTION = State.DISCARDING, State.AUTO_ACTION

STATES: Mapping[State, str] = {
    IDLE: "no turn is open",
    ACTING: "the turn time runs",
    TIME_BANK: "the time bank runs",
    BUFFER: "words on their way when the turn ended still arrive",
    GRACE: "was away at the turn end, is away, the grace is his",
    RETURNED: "was away at the turn end, is back, may act until the grace would end",
    DISCARDING: "the discard timer runs",
    AUTO_ACTION: "decided; waiting for the engine to say turn.acted",
}

EVERY = tuple(State)
OPEN = (ACTING, TIME_BANK, BUFFER, GRACE, RETURNED, DISCARDING)  # nothing is decided yet
BETTING = (ACTING, TIME_BANK, BUFFER, GRACE, RETURNED)
WITH_TURN = (*OPEN, AUTO_ACTION)
PRESENCE = (Trigger.PLAYER_CONNECTED, Trigger.PLAYER_DISCONNECTED, Trigger.GATEWAY_RESET)

# -- The turn end: asked when the turn time is over, or the time bank

AWAY: When = {"player": "away"}
SILENT: When = {"player": "connected"}
SILENT_AT_END: When = {**SILENT, "own_end": "there", "buffer": "skips"}
NOT_HIS = ("used_up", "check", "no_check", "nothing", "away_before", "none")
DECIDED: When = {"silence": "decided"}
LEFT: When = {"silence": "left"}


def turn_end(source: State, when: When) -> tuple[Line, ...]:
    """Rows for the end of the turn time, or of the time bank (`source`)."""
    over = {"deadline": "due", **when}
    due = {**over, "kind": "betting"}
    at_once = {**due, **AWAY, "storm": "none"}
    return (
        *go(f"bring-in:{source}", source, Trigger.DEADLINE, {**over, "kind": "bring_in", **DECIDED},
            AUTO_ACTION, "decide", "ours: the bring-in is his to post, away or silent",
            decision=(Action.POST, Rule.BRING_IN_POSTED)),
        *go(f"draw:{source}", source, Trigger.DEADLINE, {**over, "kind": "draw", **DECIDED},
            AUTO_ACTION, "decide", "ours: who does not draw, away or silent, stands pat",
            decision=(Action.STAND_PAT, Rule.STOOD_PAT)),
        *go(f"plain-turn-left:{source}", source, Trigger.DEADLINE,
            {**over, "kind": ("bring_in", "draw"), **LEFT},
            IDLE, "close_turn", "the policy leaves the connected but silent to the engine"),
        *go(f"away-check-free:{source}", source, Trigger.DEADLINE,
            {**at_once, "grace": "check"},
            AUTO_ACTION, "decide", "I.i: a check is free, so he is checked at once",
            decision=(Action.CHECK, Rule.CHECK_AVAILABLE)),
        *go(f"away-no-free-check:{source}", source, Trigger.DEADLINE,
            {**at_once, "grace": "no_check"},
            AUTO_ACTION, "decide", "the policy takes no free check for one who is away",
            decision=(Action.FOLD, Rule.NO_FREE_CHECK)),
        *go(f"away-nothing-in-pot:{source}", source, Trigger.DEADLINE,
            {**at_once, "grace": "nothing"},
            AUTO_ACTION, "decide", "I.ii.A: no money of his is in the pot, so he is folded at once",
            decision=(Action.FOLD, Rule.NOTHING_IN_POT)),
        *go(f"away-before-turn:{source}", source, Trigger.DEADLINE,
            {**at_once, "grace": "away_before"},
            AUTO_ACTION, "decide", "reading 8: away before the turn, and the policy gives no grace",
            decision=(Action.FOLD, Rule.AWAY_BEFORE_TURN)),
        *go(f"away-no-grace:{source}", source, Trigger.DEADLINE,
            {**at_once, "grace": "none", "protection": "none"},
            AUTO_ACTION, "decide", "he faces a bet, and the policy gives nobody a grace",
            decision=(Action.FOLD, Rule.NO_GRACE)),
        *go(f"away-grace-used-up:{source}", source, Trigger.DEADLINE,
            {**at_once, "grace": "used_up", "protection": "none", "check": "bet"},
            AUTO_ACTION, "decide", "nothing is left of the disconnection time that he had",
            decision=(Action.FOLD, Rule.GRACE_USED_UP)),
        *go(f"away-grace-used-up-check-free:{source}", source, Trigger.DEADLINE,
            {**at_once, "grace": "used_up", "protection": "none", "check": "taken"},
            AUTO_ACTION, "decide", "nothing is left of his disconnection time; a check is free",
            decision=(Action.CHECK, Rule.CHECK_AFTER_GRACE)),
        *go(f"away-grace-used-up-no-free-check:{source}", source, Trigger.DEADLINE,
            {**at_once, "grace": "used_up", "protection": "none", "check": "refused"},
            AUTO_ACTION, "decide", "nothing is left of it, and the policy takes no free check",
            decision=(Action.FOLD, Rule.NO_FREE_CHECK)),
        *go(f"away-protected:{source}", source, Trigger.DEADLINE,
            {**at_once, "grace": ("none", "used_up"), "protection": "left"},
            AUTO_ACTION, "decide", "he has all-in protection, and plays on for what he has paid",
            decision=(Action.ALL_IN, Rule.ALL_IN_PROTECTED)),
        *go(f"away-held:{source}", source, Trigger.DEADLINE,
            {**due, **AWAY, "grace": NOT_HIS, "storm": "holds"},
            GRACE, "hold_at_end", "many were lost at once: what would be decided is held"),
        *go(f"away-money-in-pot:{source}", source, Trigger.DEADLINE,
            {**due, **AWAY, "grace": "his", "buffer": "passes"},
            BUFFER, "enter_buffer", "I.ii.B, T7: the buffer stands before the disconnection grace"),
        *go(f"away-no-buffer:{source}", source, Trigger.DEADLINE,
            {**due, **AWAY, "grace": "his", "buffer": "skips"},
            GRACE, "enter_grace_at_once", "I.ii.B: the grace is his, and the policy has no buffer"),
        *go(f"silent-money-in-pot:{source}", source, Trigger.DEADLINE,
            {**due, **SILENT, "own_end": "there", "buffer": "passes"},
            BUFFER, "enter_buffer", "reading 1: the word of a loss may still be on its way"),
        *go(f"silent-check-free:{source}", source, Trigger.DEADLINE,
            {**due, **SILENT_AT_END, **DECIDED, "price": "free"},
            AUTO_ACTION, "decide", "ours: connected but silent, a check is free",
            decision=(Action.CHECK, Rule.TURN_TIMEOUT)),
        *go(f"silent-bet:{source}", source, Trigger.DEADLINE,
            {**due, **SILENT_AT_END, **DECIDED, "price": "bet"},
            AUTO_ACTION, "decide", "ours: connected but silent, with a bet to call",
            decision=(Action.FOLD, Rule.TURN_TIMEOUT)),
        *go(f"silent-left:{source}", source, Trigger.DEADLINE,
            {**due, **SILENT_AT_END, **LEFT},
            IDLE, "close_turn", "the policy leaves the connected but silent to the engine"),
        *go(f"back-at-moved-end:{source}", source, Trigger.DEADLINE,
            {**due, **SILENT, "own_end": "away"},
            RETURNED, "enter_returned",
            "reading 2: away at the turn end, back at the one to which an interruption moved it"),
    )  # fmt: skip


DEADLINES = (
    *ignore("no-deadline-here", (IDLE, AUTO_ACTION), Trigger.DEADLINE, {}, "no deadline runs here"),
    *ignore("deadline-has-moved", OPEN, Trigger.DEADLINE, {"deadline": "moved"},
            "the deadline that this wake-up names is not the one that runs"),
    *go("time-bank-begins", ACTING, Trigger.DEADLINE, {"deadline": "due", "bank": "runs"},
        TIME_BANK, "start_bank", "reading 3: the turn time is over and he has a time bank"),
    *turn_end(ACTING, {"bank": "none"}),
    *turn_end(TIME_BANK, {}),
    *go("grace-begins", BUFFER, Trigger.DEADLINE, {"deadline": "due", "turn_end": "away"},
        GRACE, "enter_grace", "I.ii.B: he was away at the turn end, so the grace is his"),
    *go("buffer-over", BUFFER, Trigger.DEADLINE,
        {"deadline": "due", "turn_end": "connected", **DECIDED, "price": "bet"},
        AUTO_ACTION, "decide", "reading 1: he was connected at the turn end, so there is no grace",
        decision=(Action.FOLD, Rule.TURN_TIMEOUT)),
    *go("buffer-over-check-free", BUFFER, Trigger.DEADLINE,
        {"deadline": "due", "turn_end": "connected", **DECIDED, "price": "free"},
        AUTO_ACTION, "decide", "reading 1: he was connected at the turn end, and a check is free",
        decision=(Action.CHECK, Rule.TURN_TIMEOUT)),
    *go("buffer-over-left", BUFFER, Trigger.DEADLINE,
        {"deadline": "due", "turn_end": "connected", **LEFT},
        IDLE, "close_turn", "he was connected at the turn end, so he is left to the engine"),
    *go("grace-over-protected", GRACE, Trigger.DEADLINE,
        {"deadline": "due", **AWAY, "storm": "none", "protection": "left"},
        AUTO_ACTION, "decide", "still away, with all-in protection: he plays on for what he paid",
        decision=(Action.ALL_IN, Rule.ALL_IN_PROTECTED)),
    *go("grace-over", GRACE, Trigger.DEADLINE,
        {"deadline": "due", **AWAY, "storm": "none", "protection": "none", "check": "bet"},
        AUTO_ACTION, "decide", "I.ii.B, D7: still away when the grace is over",
        decision=(Action.FOLD, Rule.GRACE_EXPIRED)),
    *go("grace-over-check-free", GRACE, Trigger.DEADLINE,
        {"deadline": "due", **AWAY, "storm": "none", "protection": "none", "check": "taken"},
        AUTO_ACTION, "decide", "still away when the grace is over, and a check is free",
        decision=(Action.CHECK, Rule.CHECK_AFTER_GRACE)),
    *go("grace-over-no-free-check", GRACE, Trigger.DEADLINE,
        {"deadline": "due", **AWAY, "storm": "none", "protection": "none", "check": "refused"},
        AUTO_ACTION, "decide", "still away, and the policy takes no free check for one who is",
        decision=(Action.FOLD, Rule.NO_FREE_CHECK)),
    *note("grace-held", GRACE, Trigger.DEADLINE, {"deadline": "due", **AWAY, "storm": "holds"},
          "hold", "many were lost at once: what would be decided is held"),
    *go("silent-in-grace", GRACE, Trigger.DEADLINE, {"deadline": "due", **SILENT, "price": "bet"},
        AUTO_ACTION, "decide", "reading 2: connected when the grace is over, but silent",
        decision=(Action.FOLD, Rule.TURN_TIMEOUT)),
    *go("silent-in-grace-check-free", GRACE, Trigger.DEADLINE,
        {"deadline": "due", **SILENT, "price": "free"},
        AUTO_ACTION, "decide", "connected when the grace is over, but silent; a check is free",
        decision=(Action.CHECK, Rule.TURN_TIMEOUT)),
    *go("silent-after-return", RETURNED, Trigger.DEADLINE, {"deadline": "due", "price": "bet"},
        AUTO_ACTION, "decide", "reading 2: back, but silent until the grace would have ended",
        decision=(Action.FOLD, Rule.TURN_TIMEOUT)),
    *go("silent-after-return-check-free", RETURNED, Trigger.DEADLINE,
        {"deadline": "due", "price": "free"},
        AUTO_ACTION, "decide", "back, but silent until his time was over; a check is free",
        decision=(Action.CHECK, Rule.TURN_TIMEOUT)),
    *go("chosen-card", DISCARDING, Trigger.DEADLINE,
        {"deadline": "due", **DECIDED, "card": "chosen"},
        AUTO_ACTION, "decide", "D6a: the card that he has chosen goes",
        decision=(Action.DISCARD, Rule.CHOSEN_CARD)),
    *go("rightmost-card", DISCARDING, Trigger.DEADLINE,
        {"deadline": "due", **DECIDED, "card": "none"},
        AUTO_ACTION, "decide", "D6b: none is chosen, so the rightmost card goes",
        decision=(Action.DISCARD, Rule.RIGHTMOST_CARD)),
    *go("discard-left", DISCARDING, Trigger.DEADLINE, {"deadline": "due", **LEFT},
        IDLE, "close_turn", "the policy leaves the connected but silent to the engine"),
)  # fmt: skip

# -- Turns begin and end

STARTS = (
    *refuse("stale-start", EVERY, Trigger.TURN_STARTED, {"start": "stale"}, "stale",
            "the turn began more than 10 minutes before the message arrived"),
    *refuse("no-chips", EVERY, Trigger.TURN_STARTED, {"start": "no_chips"}, "no-decision-to-make",
            "a seat without chips has nothing to decide in a betting turn"),
    *refuse("chosen-card-not-held", EVERY, Trigger.TURN_STARTED, {"start": "unknown_card"},
            "unknown-card", "the chosen card is not among the cards of the discard"),
    *ignore("repeated-start", EVERY, Trigger.TURN_STARTED, {"start": "repeated"},
            "the turn is known already: a repeated start, or one that its end has overtaken"),
    *ignore("start-after-hand", EVERY, Trigger.TURN_STARTED, {"start": "hand_over"},
            "the hand has ended"),
    *ignore("start-overtaken", EVERY, Trigger.TURN_STARTED, {"start": "overtaken"},
            "the same source has started a later turn in this seat"),
    *ignore("start-after-departure", EVERY, Trigger.TURN_STARTED, {"start": "departed"},
            "the same source has said since that the player left or the table closed"),
    *go("turn-superseded", WITH_TURN, Trigger.TURN_STARTED,
        {"start": ("uncovered", "discard", "turn")},
        IDLE, "close_turn", "a new turn cancels the one whose end was never heard", again=True),
    *note("turn-uncovered", IDLE, Trigger.TURN_STARTED, {"start": "uncovered"}, "tell_uncovered",
          "the policy does not cover this format or variant"),
    *go("turn-begins", IDLE, Trigger.TURN_STARTED, {"start": "turn"}, ACTING, "open_turn",
        "T3: the turn time begins"),
    *go("discard-begins", IDLE, Trigger.TURN_STARTED, {"start": "discard"}, DISCARDING, "open_turn",
        "D6: the discard timer begins"),
)  # fmt: skip

ENDS = (
    *go("acted", OPEN, Trigger.TURN_ACTED, {"turn": "this"}, IDLE, "act",
        "I: he acted in time"),
    *go("decision-played", AUTO_ACTION, Trigger.TURN_ACTED, {"turn": "this"}, IDLE, "act",
        "the engine has closed the turn"),
    *go("cancelled", WITH_TURN, Trigger.TURN_CANCELLED, {"turn": "this"}, IDLE, "close_turn",
        "the engine has called the turn off"),
    *ignore("cancelled-again", EVERY, Trigger.TURN_CANCELLED, {"turn": "closed"},
            "the turn is closed"),
    *note("cancelled-first", EVERY, Trigger.TURN_CANCELLED, {"turn": "unknown"}, "remember_turn",
          "the cancellation overtakes its turn, which will not be opened"),
    *ignore("acted-again", EVERY, Trigger.TURN_ACTED, {"turn": "closed", "action": "nothing"},
            "the turn is closed"),
    *note("acted-elsewhere", EVERY, Trigger.TURN_ACTED,
          {"turn": ("closed", "unknown"), "action": "his"}, "act_elsewhere",
          "no turn is open for it here; but he is there again"),
    *note("acted-first", EVERY, Trigger.TURN_ACTED, {"turn": "unknown", "action": "nothing"},
          "remember_turn", "the action overtakes its turn, which will not be opened"),
    *go("hand-over", WITH_TURN, Trigger.HAND_ENDED, {"hand": "this"}, IDLE, "close_turn",
        "the hand is over, and the turn with it"),
    *ignore("another-hand-over", EVERY, Trigger.HAND_ENDED, {"hand": "another"},
            "no turn of that hand is open in this seat"),
    *go("player-left", WITH_TURN, Trigger.SEAT_VACATED, {"departure": "his"}, IDLE, "leave",
        "the player has left, his turn is off"),
    *go("table-closed", WITH_TURN, Trigger.TABLE_CLOSED, {"departure": "his"}, IDLE, "leave",
        "the table has closed, the turn is off"),
    *ignore("departure-repeated", EVERY, Trigger.SEAT_VACATED,
            {"departure": "repeated"}, "this departure, or a later one, is known already"),
    *note("departure-before-turn", WITH_TURN, Trigger.SEAT_VACATED,
          {"departure": "earlier"}, "forget",
          "the same source has started the open turn later than that"),
    *note("closing-before-turn", OPEN, Trigger.TABLE_CLOSED,
          {"departure": "earlier", "clock": "runs"}, "forget",
          "the same source has started the open turn later than that"),
    *note("closing-before-turn", AUTO_ACTION, Trigger.TABLE_CLOSED, {"departure": "earlier"},
          "forget", "the same source has started the turn later than that"),
    *note("closing-ends-pause", OPEN, Trigger.TABLE_CLOSED,
          {"departure": "earlier", "clock": "stands"}, "forget_and_go_on",
          "the open turn has begun later, and the table that was paused is closed"),
    *note("no-turn-of-his", EVERY, Trigger.SEAT_VACATED, {"departure": "another"}, "forget",
          "no turn of his is open here; his sessions go"),
    *note("table-closed-idle", IDLE, Trigger.TABLE_CLOSED, {"departure": "another"}, "forget",
          "no turn is open; all sessions go"),
)  # fmt: skip

# -- Presence: the word is written down first, then the table is asked

WORDS = (
    *ignore("word-repeated", EVERY, PRESENCE, {"word": "old"},
            "a word as new or newer about that session is known already"),
    *note("presence-noted", (IDLE, ACTING, TIME_BANK, DISCARDING, AUTO_ACTION), PRESENCE,
          {"word": "new"}, "keep", "who is connected counts at the turn end, not before"),
    *go("back-in-buffer", BUFFER, PRESENCE,
        {"word": "new", "turn_end": "away", "player": "connected"},
        RETURNED, "come_back", "reading 2: he was away at the turn end and is back"),
    *note("away-in-buffer", BUFFER, PRESENCE,
          {"word": "new", "turn_end": "away", "player": "away"}, "keep",
          "reading 1: the grace will be his if this still holds when the buffer ends"),
    *note("connected-at-turn-end", BUFFER, PRESENCE, {"word": "new", "turn_end": "connected"},
          "keep", "reading 1: who was connected at the turn end and leaves later gets no grace"),
    *go("back-in-grace", GRACE, PRESENCE,
        {"word": "new", "turn_end": "away", "player": "connected"},
        RETURNED, "come_back", "reading 2: back, he may act until the grace would have ended"),
    *note("still-away", GRACE, PRESENCE, {"word": "new", "turn_end": "away", "player": "away"},
          "keep", "he is still away"),
    *go("away-again", RETURNED, PRESENCE,
        {"word": "new", "turn_end": "away", "player": "away", "uses": "left"},
        GRACE, "leave_again", "reading 2: one turn grants one grace, its end stays"),
    *go("away-too-often", RETURNED, PRESENCE,
        {"word": "new", "turn_end": "away", "player": "away", "uses": "none"},
        GRACE, "leave_for_good", "the policy lets nobody be away so often in one turn"),
    *note("still-back", RETURNED, PRESENCE,
          {"word": "new", "turn_end": "away", "player": "connected"}, "keep", "he is still back"),
    *go("connected-after-all", (GRACE, RETURNED), Trigger.PLAYER_CONNECTED,
        {"word": "new", "turn_end": "connected"}, BUFFER, "back_to_buffer",
        "reading 1: a late word shows, before the buffer is over, that he was connected"),
)  # fmt: skip

# The connection is a region of its own, beside the turn: a player is connected while any session of
# his is live.  `presence` computes it; the machine needs only the answer to "is he connected".
CONNECTION_STATES: Mapping[str, str] = {
    "connected": "any session of his is live, or none is known and the engine did not say false",
    "away": "all his known sessions are dead, or none is known and the engine said false",
}
CONNECTION: tuple[Link, ...] = (
    Link("connected", "away", (Trigger.PLAYER_DISCONNECTED, Trigger.GATEWAY_RESET),
         "his last live session dies"),
    Link("away", "connected", (Trigger.PLAYER_CONNECTED,), "a session of his is live"),
)  # fmt: skip

# -- The status that a player sets himself

STATUS = (Trigger.PLAYER_AWAY, Trigger.PLAYER_BACK)
STATUSES = (
    *ignore("status-known", EVERY, STATUS, {"status": "old"},
            "a word as new or newer on that is known already"),
    *note("status-noted", EVERY, STATUS, {"status": "new"}, "note_status",
          "kept for the turns to come"),
    *note("status-of-turn", OPEN, STATUS, {"status": "his"}, "answer_at_once",
          "while he says that he is away, his turns are answered at once"),
    *ignore("no-answer-here", (IDLE, AUTO_ACTION), Trigger.ANSWER, {}, "no answer is due here"),
    *ignore("answer-has-moved", OPEN, Trigger.ANSWER, {"deadline": "moved"},
            "the answer that this wake-up names is no longer due"),
    *go("away-status-check", BETTING, Trigger.ANSWER, {"deadline": "due", "away_answer": "check"},
        AUTO_ACTION, "decide", "he has said that he is away, and a check is free",
        decision=(Action.CHECK, Rule.AWAY_STATUS)),
    *go("away-status-fold", BETTING, Trigger.ANSWER, {"deadline": "due", "away_answer": "fold"},
        AUTO_ACTION, "decide", "he has said that he is away",
        decision=(Action.FOLD, Rule.AWAY_STATUS)),
    *go("away-status-post", (ACTING, TIME_BANK), Trigger.ANSWER,
        {"deadline": "due", "away_answer": "bring_in"},
        AUTO_ACTION, "decide", "he has said that he is away, and the bring-in is his to post",
        decision=(Action.POST, Rule.BRING_IN_POSTED)),
    *go("away-status-stand-pat", (ACTING, TIME_BANK), Trigger.ANSWER,
        {"deadline": "due", "away_answer": "draw"},
        AUTO_ACTION, "decide", "he has said that he is away, so he stands pat",
        decision=(Action.STAND_PAT, Rule.STOOD_PAT)),
    *go("away-status-chosen-card", DISCARDING, Trigger.ANSWER,
        {"deadline": "due", "away_answer": "discard", "card": "chosen"},
        AUTO_ACTION, "decide", "he has said that he is away; the card that he has chosen goes",
        decision=(Action.DISCARD, Rule.CHOSEN_CARD)),
    *go("away-status-rightmost-card", DISCARDING, Trigger.ANSWER,
        {"deadline": "due", "away_answer": "discard", "card": "none"},
        AUTO_ACTION, "decide", "he has said that he is away; the rightmost card goes",
        decision=(Action.DISCARD, Rule.RIGHTMOST_CARD)),
)  # fmt: skip

# -- Crazy Pineapple: choices of a card

CHOICES = (
    *refuse("card-not-held", DISCARDING, Trigger.CARD_CHOSEN, {"choice": "unknown_card"},
            "unknown-card", "the card is not among the cards of the open discard"),
    *note("card-chosen", DISCARDING, Trigger.CARD_CHOSEN, {"choice": "counts"}, "choose",
          "reading 7: the choice with the latest stamp counts; null withdraws it"),
    *ignore("choice-known", EVERY, Trigger.CARD_CHOSEN, {"choice": "known"},
            "the choice is known, or its source has made a later one for this discard"),
    *ignore("choice-too-late", EVERY, Trigger.CARD_CHOSEN, {"choice": "closed"},
            "the discard is closed, or its hand has ended"),
    *note("choice-kept", EVERY, Trigger.CARD_CHOSEN, {"choice": "early"}, "keep_choice",
          "D6a: chosen before the timer, it is kept for the discard of that hand"),
)  # fmt: skip

# -- What engines do to the clock

CLOCK = (
    *note("turn-extended", (ACTING, TIME_BANK, DISCARDING), Trigger.TURN_EXTENDED,
          {"extension": "this"}, "extend_turn", "the engine has given the turn more time"),
    *ignore("extended-too-late", (BUFFER, GRACE, RETURNED, AUTO_ACTION), Trigger.TURN_EXTENDED,
            {"extension": "this"}, "the turn time was over; nothing makes a grace longer"),
    *ignore("extended-closed", EVERY, Trigger.TURN_EXTENDED, {"extension": "closed"},
            "the turn is closed"),
    *ignore("extended-already", EVERY, Trigger.TURN_EXTENDED, {"extension": "known"},
            "the extension is known already"),
    *note("extended-first", EVERY, Trigger.TURN_EXTENDED, {"extension": "unknown"},
          "keep_extension", "it overtakes its turn, and is kept for it"),
    *ignore("no-clock-here", (IDLE, AUTO_ACTION), (Trigger.TABLE_PAUSED, Trigger.TABLE_RESUMED), {},
            "no clock runs here"),
    *note("clock-stops", OPEN, Trigger.TABLE_PAUSED, {"clock": "runs"}, "stop_clock",
          "the table is paused: what is left of the turn is kept"),
    *ignore("clock-stands", OPEN, Trigger.TABLE_PAUSED, {"clock": "stands"},
            "the clock stands still already"),
    *note("clock-starts", OPEN, Trigger.TABLE_RESUMED, {"clock": "stands"}, "start_clock",
          "the table goes on, and the turn with what was left of it"),
    *ignore("protection-kept", EVERY, Trigger.PROTECTION_RESET, {},
            "it is counted at the table, for whatever turn comes"),
    *ignore("clock-runs", OPEN, Trigger.TABLE_RESUMED, {"clock": "runs"}, "the clock runs already"),
)  # fmt: skip

# -- Interruptions of the service or of the broker

INTERRUPTIONS = (
    *ignore("nothing-to-move", (IDLE, AUTO_ACTION), Trigger.INTERRUPTION, {},
            "no deadline runs here"),
    *note("turn-end-moved", (ACTING, TIME_BANK), Trigger.INTERRUPTION,
          {"interrupted": "deadline"}, "move_turn_end",
          "the turn end moves to the interruption's end, and who is there at its own is kept"),
    *note("deadline-moved", (BUFFER, GRACE, RETURNED, DISCARDING), Trigger.INTERRUPTION,
          {"interrupted": "deadline"}, "move_deadlines",
          "a deadline within an interruption moves to its end, so it can only give more time"),
    *ignore("deadline-outside", OPEN, Trigger.INTERRUPTION, {"interrupted": "none"},
            "the deadline lies outside the interruption"),
)  # fmt: skip

TABLE: tuple[Line, ...] = (
    *STARTS,
    *DEADLINES,
    *WORDS,
    *STATUSES,
    *CHOICES,
    *ENDS,
    *CLOCK,
    *INTERRUPTIONS,
)
ROWS: tuple[Row, ...] = tuple(line for line in TABLE if isinstance(line, Row))
