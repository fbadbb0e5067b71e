"""What people type in chats: answered in order, by the right session, for the right people."""

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.desk import Desk, until

PLATFORMS = {"telegram": "7001", "slack": "C0HOME", "discord": "6001000000000000001"}


class Thread:
    """A session that was handed over, and the thread that it lives in."""

    def __init__(self, desk: Desk, platform: str = "telegram", chat: str | None = None) -> None:
        self.desk, self.platform, self.title = desk, platform, f"{platform} {uuid.uuid4().hex[:8]}"
        self.session_id = desk.session(title=self.title)
        done = desk.hand_over(self.session_id, platform, target=chat or PLATFORMS[platform])
        assert done["state"] == "completed", done
        (thread,) = desk.threads(self.title, platform)
        self.chat, self.id = thread["chat"], thread["id"]

    def say(self, text: str, user: str = "owner") -> None:
        self.desk.service.simulator.say(self.platform, self.chat, text, thread=self.id, user=user)

    def heard(self) -> list[str]:
        """What the bot has said since the confirmation."""
        (thread,) = self.desk.threads(self.title, self.platform)
        said = [message["text"] for message in thread["messages"] if message["from"] == "bot"]
        confirmed = next(number for number, text in enumerate(said) if "Confirmed" in text)
        return said[confirmed + 1 :]

    def wait_for(self, words: str) -> str:
        return until(lambda: next((text for text in self.heard() if words in text), None))


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_stranger_is_ignored(desk: Desk, platform: str) -> None:
    chat = {"telegram": "-1001000000001", "slack": "C0HOME", "discord": "6001000000000000001"}[platform]
    thread = Thread(desk, platform, chat)

    thread.say("let me in", user="stranger")
    thread.say("mine")
    thread.wait_for("mine")

    words = [message["content"] for message in desk.transcript(thread.session_id)]
    assert "mine" in words
    assert "let me in" not in words
    assert len(thread.heard()) == 1


def test_thirty_messages_in_a_burst_are_all_answered_in_order_none_twice(desk: Desk) -> None:
    thread = Thread(desk)
    burst = [f"burst {number:02}" for number in range(30)]

    for text in burst:
        thread.say(text)
    until(lambda: sum(m["content"] in burst for m in desk.transcript(thread.session_id)) == 30)

    asked = [m["content"] for m in desk.transcript(thread.session_id) if m["role"] == "user" and m["content"] in burst]
    assert asked == burst
    until(lambda: any("burst 29" in text for text in thread.heard()))
    session = desk.see(thread.session_id)
    assert (session["turn_running"], session["suspended"]) == (False, False)


def test_ten_threads_at_once_are_all_answered(desk: Desk) -> None:
    with ThreadPoolExecutor(10) as pool:
        threads = list(pool.map(lambda _: Thread(desk), range(10)))
        list(pool.map(lambda thread: thread.say("all at once"), threads))
        answers = list(pool.map(lambda thread: thread.wait_for("all at once"), threads))

    assert len(answers) == 10
    assert len({thread.id for thread in threads}) == 10


def test_after_a_resume_the_thread_is_told_and_later_words_there_are_answered_with_where_it_lives(desk: Desk) -> None:
    thread = Thread(desk)
    epoch = desk.see(thread.session_id)["epoch"]

    resumed = desk.http.post(f"/sessions/{thread.session_id}/resume", json={"epoch": epoch})

    assert (resumed.status_code, resumed.json()["owner"], resumed.json()["epoch"]) == (200, "cli", epoch + 1)
    thread.wait_for("went back to the terminal")
    thread.say("hello?")
    thread.wait_for("now lives in the terminal")
    assert "hello?" not in [message["content"] for message in desk.transcript(thread.session_id)]


def test_resume_in_the_thread_brings_the_session_back_into_it(desk: Desk) -> None:
    thread = Thread(desk)
    epoch = desk.see(thread.session_id)["epoch"]
    desk.http.post(f"/sessions/{thread.session_id}/resume", json={"epoch": epoch}).raise_for_status()

    thread.say(f"/resume {thread.title}")
    thread.wait_for("is here now")
    thread.say("and on we go")

    assert "and on we go" in thread.wait_for("and on we go")
    session = desk.see(thread.session_id)
    assert (session["owner"], session["epoch"]) == (f"telegram:7001:{thread.id}", epoch + 2)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_commands_are_answered_in_the_thread(desk: Desk, platform: str) -> None:
    thread = Thread(desk, platform)

    thread.say("/status")
    assert thread.title in thread.wait_for("lives here")
    thread.say("/help")
    assert "/resume" in thread.wait_for("Commands here")
    thread.say("/handoff telegram")
    thread.wait_for("is the terminal")
    thread.say("/resume no such thing")
    thread.wait_for("No session is called")

    assert len(desk.transcript(thread.session_id)) == 6


def test_new_begins_a_fresh_session_in_the_thread_and_parks_the_old_one(desk: Desk) -> None:
    thread = Thread(desk)

    thread.say("/new")
    thread.wait_for("A fresh session begins here")
    thread.say("first words")

    assert "I was given 1 message" in thread.wait_for("first words")
    assert desk.see(thread.session_id)["owner"] == "cli"


def test_stop_drops_the_turn_that_is_running(desk: Desk) -> None:
    thread = Thread(desk)

    thread.say("rehearse: slow 3")
    until(lambda: desk.see(thread.session_id)["turn_running"])
    thread.say("/stop")
    thread.wait_for("Stopped")
    thread.say("onwards")
    thread.wait_for("onwards")

    words = [message["content"] for message in desk.transcript(thread.session_id)]
    assert "rehearse: slow 3" not in words
    assert "onwards" in words


def test_a_long_reply_arrives_complete_on_every_platform(desk: Desk) -> None:
    for platform in PLATFORMS:
        thread = Thread(desk, platform)
        thread.say("rehearse: long")
        until(lambda thread=thread: len(desk.transcript(thread.session_id)) == 8)
        reply = desk.transcript(thread.session_id)[-1]["content"]
        assert len(reply) >= 20_000
        last_words = reply.rstrip().split()[-1].strip("`*_|.")
        until(lambda thread=thread, words=last_words: thread.heard() and words in thread.heard()[-1])
        assert len(thread.heard()) > 1


def test_an_unfinished_agent_is_told_to_the_person(desk: Desk) -> None:
    thread = Thread(desk)

    thread.say("rehearse: fail")

    assert "I could not answer" in thread.wait_for("I could not answer")
    thread.say("still there?")
    thread.wait_for("still there?")
