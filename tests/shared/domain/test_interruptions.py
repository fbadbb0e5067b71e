"""Interrupted turns: marks, precedence, freshness, and the note for the agent."""

from dataclasses import replace

import pytest

from shared.domain.interruptions import WHAT_HAPPENED, Standing, note_for, standing
from shared.domain.routes import cli_place
from shared.domain.sessions import Interruption, ResumePending, Session, Turn

NOW = 1_000_000
HOUR = 3_600_000
SESSION = Session("s-1", "ada", cli_place("s-1"), 0, 0, 0, created_at=1, updated_at=1)
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "rm"}}]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "done"}


def marked(reason: Interruption = Interruption.KILLED, at: int = NOW) -> Session:
    return replace(SESSION, resume_pending=ResumePending(reason, at))


@pytest.mark.parametrize(
    ("session", "expected"),
    [
        (SESSION, Standing.GOOD),
        (marked(at=NOW - HOUR), Standing.RESUMING),
        (marked(at=NOW - HOUR - 1), Standing.EXPIRED),
        (replace(marked(at=0), turn=Turn("t-1")), Standing.RESUMING),
        (replace(SESSION, turn=Turn("t-1")), Standing.GOOD),
        (replace(SESSION, suspended=True), Standing.SUSPENDED),
        (replace(marked(at=NOW), suspended=True), Standing.SUSPENDED),
        (replace(marked(at=0), suspended=True), Standing.SUSPENDED),
    ],
    ids=[
        "untouched",
        "fresh",
        "just too old",
        "old, its turn alive",
        "turn alive",
        "suspended",
        "suspended and marked",
        "suspended and expired",
    ],
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
