"""Messages and commands in a thread: answered in order, by the right session, for the right people."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread, shared_thread
from tests.support.platform_cases import PLATFORMS
from tests.support.waiting import eventually


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_stranger_is_ignored(user: ApiUser, platform: str) -> None:
    thread = shared_thread(user, platform)

    thread.say("let me in", user="stranger")
    thread.say("mine")
    thread.wait_for("mine")

    assert "mine" in thread.contents()
    assert "let me in" not in thread.contents()
    assert len(thread.replies()) == 1


def test_a_burst_is_answered_in_order_and_once(user: ApiUser) -> None:
    thread = ChatThread(user)
    burst = [f"burst {number:02}" for number in range(30)]

    for text in burst:
        thread.say(text)
    eventually(lambda: set(burst) <= set(thread.contents()))
    thread.wait_for(burst[-1])

    transcript = user.transcript(thread.session_id)
    asked = [message["content"] for message in transcript if message["role"] == "user" and message["content"] in burst]
    assert asked == burst
    session = thread.session()
    assert (session["turn_running"], session["suspended"]) == (False, False)


def test_ten_threads_at_once_are_all_answered(user: ApiUser) -> None:
    with ThreadPoolExecutor(10) as pool:
        threads = list(pool.map(lambda _: ChatThread(user), range(10)))
        list(pool.map(lambda thread: thread.say("all at once"), threads))
        list(pool.map(lambda thread: thread.wait_for("all at once"), threads))

    assert len({thread.id for thread in threads}) == 10
    assert [len(thread.replies()) for thread in threads] == [1] * 10


def test_after_resume_the_thread_says_where_the_session_is(user: ApiUser) -> None:
    thread = ChatThread(user)
    epoch = thread.session()["epoch"]

    resumed = user.http.post(f"/sessions/{thread.session_id}/resume", json={"epoch": epoch})

    assert (resumed.status_code, resumed.json()["owner"], resumed.json()["epoch"]) == (200, "cli", epoch + 1)
    thread.wait_for("went back to the terminal")
    thread.say("hello?")
    thread.wait_for("now lives in the terminal")
    assert "hello?" not in thread.contents()


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


def test_new_starts_a_session_in_the_thread(user: ApiUser) -> None:
    thread = ChatThread(user)

    thread.say("/new")
    thread.wait_for("A new session starts here")
    thread.say("first words")

    assert "I was given 1 message" in thread.wait_for("first words")
    assert thread.session()["owner"] == "cli"


def test_stop_drops_the_running_turn(user: ApiUser) -> None:
    thread = ChatThread(user)

    thread.say("rehearse: slow 5")
    eventually(lambda: thread.session()["turn_running"])
    thread.say("/stop")
    thread.wait_for("Stopped")
    assert not thread.session()["turn_running"], "/stop ends the turn that it stops"
    thread.say("onwards")
    thread.wait_for("onwards")

    assert "rehearse: slow 5" not in thread.contents()
    assert "onwards" in thread.contents()


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_long_reply_arrives_complete(user: ApiUser, platform: str) -> None:
    """The reply has numbered sections, each with the same lines; a lost part would leave a gap."""
    thread = ChatThread(user, platform)

    thread.say("rehearse: long")
    thread.wait_for("End of the long rehearsal")

    reply = thread.contents()[-1]
    lines = re.compile(r"def part_\d+|which ends part \d+")
    assert len(reply) >= 20_000
    assert len(lines.findall(reply)) > 20
    assert lines.findall("\n".join(thread.replies())) == lines.findall(reply)
    assert len(thread.replies()) > 1


def test_a_failure_of_the_agent_is_reported_in_the_thread(user: ApiUser) -> None:
    thread = ChatThread(user)

    thread.say("rehearse: fail")
    thread.wait_for("I could not answer")
    thread.say("still there?")

    thread.wait_for("still there?")
