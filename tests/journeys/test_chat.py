"""Commands in a thread, answered there."""

import pytest

from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.platform_cases import PLATFORMS


def test_resume_in_the_thread_brings_the_session_back(user: ApiUser) -> None:
    thread = ChatThread(user)
    epoch = thread.session()["epoch"]
    user.http.post(f"/sessions/{thread.session_id}/resume", json={"epoch": epoch}).raise_for_status()
    thread.say("hello?")
    thread.wait_for("now lives in the terminal")

    thread.say(f"/resume {thread.title}")
    thread.wait_for("is here now")
    thread.say("and on we go")

    thread.wait_for("and on we go")
    assert "hello?" not in thread.contents()
    session = thread.session()
    assert (session["owner"], session["epoch"]) == (thread.route, epoch + 2)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_commands_are_answered_in_the_thread(user: ApiUser, platform: str) -> None:
    thread = ChatThread(user, platform)

    thread.say("/status")
    assert thread.title in thread.wait_for("lives here")
    thread.say("/help")
    assert "/resume" in thread.wait_for("Commands here")
    thread.say("/handoff")
    thread.wait_for("where this session shall go")
    thread.say("/resume no such thing")
    thread.wait_for("You have no session")

    assert len(thread.contents()) == 6
