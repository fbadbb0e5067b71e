"""A copy of a session: its details and transcript, without its moves."""

from dataclasses import replace

from shared.domain.sessions import Interruption, ResumePending
from shared.use_cases.sessions.resume_session import fork_session
from shared.use_cases.sessions.save_session import save_session
from tests.support.use_case_world import USER, World


def test_a_copy_starts_in_the_terminal_with_the_transcript(world: World) -> None:
    _, place = world.moved()
    original, _ = save_session(world.services, USER, "s-1", {"source": "claude-code", "cwd": "/src", "model": "m-1"})
    marked = replace(original, resume_pending=ResumePending(Interruption.KILLED, 1), suspended=True)
    original = world.store.sessions.replace(original, marked)

    copy = fork_session(world.services, USER, "s-1")

    assert copy == world.current(copy.id)
    assert copy.id != "s-1"
    assert (copy.owner, copy.epoch, copy.link) == (copy.cli, 0, None)
    assert (copy.title, copy.source, copy.cwd, copy.model) == ("Parser (copy)", "claude-code", "/src", "m-1")
    assert (copy.turn, copy.resume_pending, copy.suspended) == (None, None, False)
    assert world.transcript(copy.id) == world.transcript("s-1")
    assert world.current() == original
    assert original.owner == place


def test_the_same_key_gives_the_same_copy(world: World) -> None:
    world.session()
    first = fork_session(world.services, USER, "s-1", idempotency_key="k")
    again = fork_session(world.services, USER, "s-1", idempotency_key="k")
    assert again == first
    assert world.transcript(first.id) == world.transcript("s-1")
