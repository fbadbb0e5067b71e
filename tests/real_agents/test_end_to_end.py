"""A session of a real agent moves to a chat, is worked with from there, and comes back."""

import json
from typing import Any

import pytest

from tests.support.api_user import ApiUser
from tests.support.fake_model.server import FakeModel
from tests.support.real_agents import AUTOMATIC, NAMES, Home, begin_in_terminal, resume_in_terminal
from tests.support.real_runner import HANDOFF, PLATFORM, Thread, runner
from tests.support.waiting import eventually

pytestmark = pytest.mark.agents


def _hand_over(laptop: Home, agent: str, native_id: str, title: str) -> dict[str, Any]:
    source = f"{agent}:{native_id}"
    done: dict[str, Any] = json.loads(
        laptop.run(*HANDOFF, "send", PLATFORM, "--from", source, "--title", title, "--json")
    )
    return done


@pytest.mark.parametrize("agent", NAMES)
def test_work_goes_on_from_the_chat_and_comes_back(agent: str, laptop: Home, user: ApiUser, model: FakeModel) -> None:
    begun = begin_in_terminal(laptop, agent, "my number is 4711")
    thread = Thread(user, f"{agent} goes out")
    with runner(laptop, user):
        handoff = _hand_over(laptop, agent, begun.native_id, thread.title)
        assert handoff["error"] is None
        thread.shows("my number is 4711")  # the confirmation is the real agent's, which knows what was said

        thread.say("run!: echo from the chat > answer.txt")
        thread.press("Yes")
        thread.shows("The tool said")
        assert (laptop.project / "answer.txt").read_text() == "from the chat\n"

        thread.say("my colour is blue")
        thread.shows("my colour is blue")
        laptop.run(*HANDOFF, "resume", handoff["session_id"])

    resume_in_terminal(laptop, agent, begun.native_id, "and now?")
    assert "my number is 4711" in model.calls[-1].heard
    assert "my colour is blue" in model.calls[-1].heard


@pytest.mark.parametrize("agent", NAMES)
def test_a_refused_command_leaves_no_file(agent: str, laptop: Home, user: ApiUser) -> None:
    """Although the terminal let the agent do everything: in the thread it asks."""
    begun = begin_in_terminal(laptop, agent, "hello", *AUTOMATIC[agent])
    thread = Thread(user, f"{agent} asks")
    with runner(laptop, user):
        session_id = _hand_over(laptop, agent, begun.native_id, thread.title)["session_id"]
        thread.say("run!: echo no > answer.txt")
        thread.press("No")
        eventually(lambda: not user.session(session_id)["turn_running"], within=60)
        thread.say("still there?")
        thread.shows("still there?")
    assert not (laptop.project / "answer.txt").exists()


@pytest.mark.parametrize("agent", NAMES)
def test_a_turn_that_is_stopped_ends_the_answer(agent: str, laptop: Home, user: ApiUser, model: FakeModel) -> None:
    begun = begin_in_terminal(laptop, agent, "my number is 4711")
    thread = Thread(user, f"{agent} stops")
    with runner(laptop, user):
        handoff = _hand_over(laptop, agent, begun.native_id, thread.title)
        thread.say("hold")
        model.asked("hold")
        thread.say("/stop")
        thread.shows("Stopped")
        thread.say("go on")
        after = eventually(lambda: _reply_to(user, handoff["session_id"], "go on"), within=60)
    assert "my number is 4711" in after
    assert not any("One moment" in text for text in user.contents(handoff["session_id"]))


def _reply_to(user: ApiUser, session_id: str, words: str) -> str | None:
    contents = user.contents(session_id)
    return contents[-1] if words in contents[:-1] else None
