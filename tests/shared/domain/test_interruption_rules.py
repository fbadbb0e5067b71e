"""Turns that did not end well: marks, strikes, what wins over what, and what the agent is told."""

from dataclasses import replace

import pytest

from shared.domain.interruptions import (
    WHAT_HAPPENED,
    Standing,
    begin_turn,
    end_turn,
    note_for,
    standing,
    suspend,
)
from shared.domain.sessions import Interruption, ResumePending, Session, TurnLease, new_session

NOW = 1_000_000
HOUR = 3_600_000
LEASE = 60_000
SESSION = new_session("s-1", "ada", now=1)
CALLING = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]}
MARK = ResumePending(Interruption.OUT_OF_TIME, NOW)


def begun(session: Session, *, counts: bool = True, now: int = NOW) -> Session:
    return begin_turn(session, run_id="1", now=now, lease=LEASE, counts=counts)


@pytest.mark.parametrize(
    ("session", "found"),
    [
        (SESSION, Standing.GOOD),
        (replace(SESSION, strikes=2), Standing.GOOD),
        (replace(SESSION, resume_pending=ResumePending(Interruption.KILLED, NOW - HOUR)), Standing.RESUMING),
        (replace(SESSION, resume_pending=ResumePending(Interruption.KILLED, NOW - HOUR - 1)), Standing.EXPIRED),
        (replace(SESSION, suspended=True), Standing.SUSPENDED),
        (replace(SESSION, suspended=True, resume_pending=MARK), Standing.SUSPENDED),
    ],
)
def test_how_a_session_stands_before_its_next_turn(session: Session, found: Standing) -> None:
    assert standing(session, now=NOW, freshness=HOUR) is found


def test_a_turn_start_takes_the_lease_and_counts_a_strike() -> None:
    started = begun(SESSION)
    assert started.turn is not None
    assert started.turn.lease_until == NOW + LEASE
    assert started.strikes == 1
    assert started.resume_pending is None


def test_a_kickoff_counts_no_strike() -> None:
    assert begun(SESSION, counts=False).strikes == 0


def test_a_turn_that_finds_a_dead_one_notes_that_it_was_killed() -> None:
    dead = begun(SESSION)
    again = begun(dead, now=NOW + 5 * LEASE)
    assert again.resume_pending == ResumePending(Interruption.KILLED, NOW + LEASE)
    assert again.strikes == 2


def test_a_turn_after_a_clean_one_keeps_the_mark() -> None:
    assert begun(replace(SESSION, resume_pending=MARK), now=NOW + LEASE).resume_pending == MARK


def test_a_death_is_newer_than_an_old_mark() -> None:
    marked = replace(begun(SESSION), resume_pending=replace(MARK, at=NOW - HOUR))
    assert begun(marked, now=NOW + 5 * LEASE).resume_pending == ResumePending(Interruption.KILLED, NOW + LEASE)


def test_a_killed_kickoff_marks_no_session() -> None:
    kickoff = begun(SESSION, counts=False)
    assert begun(kickoff, now=NOW + 5 * LEASE).resume_pending is None


def test_a_turn_that_only_waited_in_the_queue_did_not_die() -> None:
    accepted = replace(SESSION, turn=TurnLease("from-the-terminal", NOW))
    assert begun(accepted, now=NOW + LEASE).resume_pending is None


@pytest.mark.parametrize("reason", Interruption)
def test_an_interrupted_turn_is_marked_and_keeps_its_strike(reason: Interruption) -> None:
    ended = end_turn(begun(SESSION), now=NOW + 7, interrupted=reason)
    assert ended.resume_pending == ResumePending(reason, NOW + 7)
    assert (ended.turn, ended.strikes) == (None, 1)


def test_a_conflict_or_a_rate_limit_takes_the_strike_back() -> None:
    assert end_turn(begun(SESSION), now=NOW, uncount=True).strikes == 0
    assert end_turn(SESSION, now=NOW, uncount=True).strikes == 0


def test_a_suspended_session_is_not_marked_for_suspension_wins() -> None:
    ended = end_turn(replace(SESSION, suspended=True), now=NOW, interrupted=Interruption.KILLED)
    assert ended.resume_pending is None


def test_a_suspended_session_has_no_mark_strikes_or_turn() -> None:
    given_up = suspend(replace(begun(SESSION), resume_pending=MARK), now=NOW)
    assert given_up.suspended
    assert (given_up.resume_pending, given_up.strikes, given_up.turn) == (None, 0, None)


@pytest.mark.parametrize("reason", Interruption)
def test_the_note_says_what_happened(reason: Interruption) -> None:
    session = replace(SESSION, resume_pending=ResumePending(reason, NOW))
    note = note_for(session, [], has_new_message=True)
    assert note is not None
    assert WHAT_HAPPENED[reason] in note
    assert "do not redo" in note
    assert "new message" in note


def test_without_a_new_message_the_agent_asks_how_to_go_on() -> None:
    note = note_for(replace(SESSION, resume_pending=MARK), [], has_new_message=False)
    assert note is not None
    assert "ask how to go on" in note
    assert "new message" not in note


def test_the_interruption_note_replaces_the_tool_call_note() -> None:
    marked = note_for(replace(SESSION, resume_pending=MARK), [CALLING], has_new_message=True)
    weaker = note_for(SESSION, [CALLING], has_new_message=True)
    assert weaker is not None
    assert marked is not None
    assert "tool call whose result never arrived" in weaker
    assert "tool call whose result never arrived" not in marked


def test_a_session_in_good_standing_needs_no_note() -> None:
    assert note_for(SESSION, [{"role": "user", "content": "hi"}], has_new_message=True) is None
