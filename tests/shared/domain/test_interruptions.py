"""Interrupted turns: marks, precedence, freshness, and the note for the agent."""

from dataclasses import replace

import pytest

from shared.domain.interruptions import WHAT_HAPPENED, Standing, begin_turn, end_turn, note_for, standing
from shared.domain.routes import cli_place
from shared.domain.sessions import Interruption, ResumePending, Session, TurnLease

NOW = 1_000_000
HOUR = 3_600_000
SESSION = Session("s-1", "ada", cli_place("s-1"), 0, 0, 0, created_at=1, updated_at=1)
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "rm"}}]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "done"}


def begun(session: Session, *, counts: bool = True, now: int = NOW) -> Session:
    return begin_turn(session, run_id="r", now=now, lease=90_000, counts=counts)


def marked(reason: Interruption = Interruption.KILLED, at: int = NOW) -> Session:
    return replace(SESSION, resume_pending=ResumePending(reason, at), strikes=1)


def test_a_turn_that_starts_takes_its_lease_and_counts_a_strike() -> None:
    held = begun(SESSION)
    assert (held.turn, held.strikes, held.resume_pending) == (TurnLease("run-r", NOW + 90_000), 1, None)


def test_a_kickoff_takes_its_lease_and_never_strikes() -> None:
    assert begun(SESSION, counts=False).strikes == 0
    dead = begun(SESSION, counts=False)
    assert begun(dead, counts=False, now=NOW + HOUR).resume_pending is None


def test_the_next_turn_marks_a_killed_turn_with_its_time() -> None:
    dead = begun(SESSION)
    again = begun(dead, now=NOW + 200_000)
    assert again.resume_pending == ResumePending(Interruption.KILLED, NOW + 90_000)
    assert again.strikes == 2


def test_an_accepted_turn_that_only_waited_has_not_died() -> None:
    waiting = replace(SESSION, turn=TurnLease("accepted-1", NOW), strikes=1)
    assert begun(waiting).resume_pending is None


def test_of_two_interruptions_the_newer_one_counts() -> None:
    dead = replace(marked(at=NOW - HOUR), turn=TurnLease("run-old", NOW))
    assert begun(dead, now=NOW + 5).resume_pending == ResumePending(Interruption.KILLED, NOW)


def test_a_mark_stays_until_a_turn_is_committed() -> None:
    interrupted = marked(Interruption.OUT_OF_TIME)
    assert begun(interrupted).resume_pending == interrupted.resume_pending
    assert end_turn(begun(interrupted), now=NOW, uncount=True).resume_pending == interrupted.resume_pending


@pytest.mark.parametrize("reason", Interruption)
def test_an_interruption_has_a_reason_and_a_time(reason: Interruption) -> None:
    ended = end_turn(begun(SESSION), now=NOW + 7, interrupted=reason)
    assert (ended.turn, ended.strikes, ended.resume_pending) == (None, 1, ResumePending(reason, NOW + 7))


def test_a_rate_limit_or_a_conflict_removes_its_strike() -> None:
    ended = end_turn(begun(SESSION), now=NOW, uncount=True)
    assert (ended.turn, ended.strikes, ended.resume_pending) == (None, 0, None)
    assert end_turn(SESSION, now=NOW, uncount=True).strikes == 0


def test_tries_of_an_agent_are_counted_per_turn() -> None:
    once = end_turn(begun(SESSION), now=NOW, failed_turn="t-1")
    twice = end_turn(begun(once), now=NOW, failed_turn="t-1")
    another = end_turn(begun(twice), now=NOW, failed_turn="t-2")
    assert (twice.tries_of("t-1"), twice.tries_of("t-2")) == (2, 0)
    assert (another.tries_of("t-1"), another.tries_of("t-2")) == (0, 1)


def test_other_endings_leave_the_tries_of_an_agent() -> None:
    once = end_turn(begun(SESSION), now=NOW, failed_turn="t-1")
    assert end_turn(begun(once), now=NOW, interrupted=Interruption.KILLED).tries_of("t-1") == 1


def test_suspended_is_never_overwritten_by_a_mark() -> None:
    given_up = replace(SESSION, suspended=True)
    assert end_turn(given_up, now=NOW, interrupted=Interruption.KILLED).resume_pending is None
    dead = replace(given_up, turn=TurnLease("run-x", NOW), strikes=1)
    assert begun(dead, now=NOW + 1).resume_pending is None


@pytest.mark.parametrize(
    ("session", "expected"),
    [
        (SESSION, Standing.GOOD),
        (marked(at=NOW - HOUR), Standing.RESUMING),
        (marked(at=NOW - HOUR - 1), Standing.EXPIRED),
        (replace(SESSION, suspended=True), Standing.SUSPENDED),
        (replace(marked(at=NOW), suspended=True), Standing.SUSPENDED),
        (replace(marked(at=0), suspended=True), Standing.SUSPENDED),
    ],
    ids=["untouched", "fresh", "just too old", "suspended", "suspended and marked", "suspended and expired"],
)
def test_what_the_next_message_finds(session: Session, expected: Standing) -> None:
    assert standing(session, now=NOW, freshness=HOUR) is expected


def test_without_a_freshness_window_no_interruption_expires() -> None:
    assert standing(marked(at=0), now=1000 * HOUR, freshness=0) is Standing.RESUMING


@pytest.mark.parametrize("has_new_message", [True, False])
@pytest.mark.parametrize("reason", Interruption)
def test_the_note_says_what_happened(reason: Interruption, has_new_message: bool) -> None:
    note = note_for(marked(reason), [], has_new_message=has_new_message)
    assert note is not None
    assert WHAT_HAPPENED[reason] in note
    assert "has already run: do not redo it" in note
    assert "restart command" in note


def test_every_reason_has_its_text() -> None:
    assert set(WHAT_HAPPENED) == set(Interruption)
    assert len(set(WHAT_HAPPENED.values())) == len(Interruption)


def test_the_note_puts_a_new_message_first() -> None:
    answering = note_for(marked(), [], has_new_message=True)
    asking = note_for(marked(), [], has_new_message=False)
    assert answering is not None
    assert asking is not None
    assert "Answer the new message first" in answering
    assert "ask how to go on" not in answering
    assert "Say that you are back and ask how to go on" in asking
    assert "do not run recorded tool calls again" in asking


def test_an_unfinished_tool_call_alone_gets_a_weaker_note() -> None:
    note = note_for(SESSION, [CALL], has_new_message=True)
    assert note is not None
    assert "tool call whose result never arrived" in note
    assert "interrupted" not in note


def test_tool_results_without_an_answer_get_a_note() -> None:
    note = note_for(SESSION, [CALL, RESULT], has_new_message=True)
    assert note is not None
    assert "not answered" in note
    assert "do not run the tools again" in note


def test_the_mark_subsumes_the_note_on_an_unfinished_tool_call() -> None:
    note = note_for(marked(), [CALL], has_new_message=True)
    assert note == note_for(marked(), [], has_new_message=True)


@pytest.mark.parametrize("transcript", [[], [CALL, RESULT, {"role": "assistant", "content": "ok"}]])
def test_nothing_to_tell_means_no_note(transcript: list[dict[str, object]]) -> None:
    assert note_for(SESSION, transcript, has_new_message=True) is None
