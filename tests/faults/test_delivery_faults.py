"""What platforms do to a reply and to a handoff on its way, with the real SDKs: nothing lost, nothing doubled."""

import uuid

import pytest

from local.service import LocalService
from tests.faults.moved_once import CHATS, MARK
from tests.support.desk import Desk, until
from tests.support.sweeping import sweeping

PATIENCE = 60.0
EXPENDABLE: dict[str, str] = {"telegram": "-1001000000001", "slack": "D0OWNER", "discord": "6002000000000000002"}
"""Chats that may be deleted: no other test here lives in them."""


class Talk:
    """A session that was handed over, in its thread on one platform."""

    def __init__(self, desk: Desk, platform: str, chat: str | None = None) -> None:
        self.desk, self.platform = desk, platform
        self.title = f"faults {uuid.uuid4().hex[:10]}"
        self.session_id = desk.session(title=self.title)
        done = desk.hand_over(self.session_id, platform, target=chat or CHATS[platform])
        assert done["state"] == "completed", done
        (thread,) = desk.threads(self.title, platform)
        self.chat, self.thread = str(thread["chat"]), str(thread["id"])

    def say(self, text: str) -> None:
        self.desk.service.simulator.say(self.platform, self.chat, text, thread=self.thread)

    def heard(self, words: str) -> list[str]:
        """What the bot has said in the thread with these words in it."""
        found = self.desk.threads(self.title, self.platform)
        said = [message for thread in found for message in thread["messages"]]
        return [message["text"] for message in said if message["from"] == "bot" and words in message["text"]]

    def is_kept(self, words: str) -> bool:
        """Whether the transcript has the question and an answer to it."""
        messages = self.desk.transcript(self.session_id)
        asked = [number for number, message in enumerate(messages) if message["content"] == words]
        return len(asked) == 1 and messages[asked[0] + 1 :][:1] != []


def in_the_chat(desk: Desk, platform: str) -> list[str]:
    """What was said in the home itself, outside its threads."""
    chats = desk.service.simulator.state()["platforms"][platform]["chats"]
    return [m["text"] for chat in chats if chat["id"] == CHATS[platform] for m in chat["messages"]]


FAULTS = {
    "429 with a retry-after": ("rate_limit", 1),
    "reset before acceptance": ("reset", 1),
    "two resets before acceptance": ("reset", 2),
    "reset after acceptance": ("accept_then_reset", 1),
    "5xx": ("server_error", 1),
}


@pytest.mark.parametrize("platform", CHATS)
def test_a_reply_survives_faults_and_is_doubled_only_where_nobody_can_tell_and_then_marked(
    desk: Desk, platform: str
) -> None:
    talk = Talk(desk, platform)
    for fault, (kind, count) in FAULTS.items():
        words = f"{fault}, {uuid.uuid4().hex}"
        desk.service.simulator.arm(platform, kind, count=count, seconds=2, on="send")

        talk.say(words)
        until(lambda words=words: talk.heard(words), PATIENCE)  # type: ignore[misc]  # bound now
        talk.say(f"after {words}")
        until(lambda words=words: talk.heard(f"after {words}"), PATIENCE)  # type: ignore[misc]  # bound now

        copies = [text for text in talk.heard(words) if f"after {words}" not in text]
        may_repeat = platform == "telegram" and kind == "accept_then_reset"
        assert len(copies) == 1 + may_repeat, (fault, copies)
        assert all(MARK in text for text in copies[1:]), (fault, copies)
        assert talk.is_kept(words), fault


@pytest.mark.parametrize("platform", CHATS)
def test_a_reply_that_is_forbidden_is_kept_and_the_session_goes_on(desk: Desk, platform: str) -> None:
    talk = Talk(desk, platform)
    desk.service.simulator.arm(platform, "forbidden", on="send")

    talk.say("not for you")
    until(lambda: talk.is_kept("not for you"))
    talk.say("and now?")
    until(lambda: talk.heard("and now?"))

    assert talk.heard("not for you") == []


@pytest.mark.parametrize("platform", CHATS)
def test_a_reply_into_a_deleted_thread_is_kept_and_the_chat_is_told(desk: Desk, platform: str) -> None:
    talk = Talk(desk, platform)

    talk.say("rehearse: slow 1")
    until(lambda: desk.see(talk.session_id)["turn_running"])
    desk.service.simulator.remove(platform, talk.chat, talk.thread)
    until(lambda: talk.is_kept("rehearse: slow 1"), PATIENCE)

    until(lambda: [text for text in in_the_chat(desk, platform) if f"/resume {talk.session_id}" in text])


@pytest.mark.parametrize("platform", CHATS)
def test_where_the_chat_is_gone_the_reply_is_kept_and_a_new_handoff_says_why_it_fails(
    fragile: LocalService, desk: Desk, platform: str
) -> None:
    talk = Talk(desk, platform, EXPENDABLE[platform])

    talk.say("rehearse: slow 1")
    until(lambda: desk.see(talk.session_id)["turn_running"])
    desk.service.simulator.remove(platform, talk.chat)
    until(lambda: talk.is_kept("rehearse: slow 1"), PATIENCE)
    session_id = desk.session()
    with sweeping(fragile):
        failed = desk.hand_over(session_id, platform, target=EXPENDABLE[platform])

    assert (failed["state"], failed["error"]["code"]) == ("failed", "chat_not_found")
    session = desk.see(session_id)
    assert (session["owner"], session["active_handoff"]) == ("cli", None)


HANDOFF_FAULTS = {
    "429": ("rate_limit", 1),
    "reset before acceptance": ("reset", 1),
    "reset after acceptance": ("accept_then_reset", 1),
    "5xx": ("server_error", 1),
}


@pytest.mark.parametrize("fault", HANDOFF_FAULTS)
@pytest.mark.parametrize("platform", CHATS)
def test_a_handoff_survives_a_fault_while_its_thread_is_opened(
    fragile: LocalService, desk: Desk, platform: str, fault: str
) -> None:
    kind, count = HANDOFF_FAULTS[fault]
    title = f"opening {uuid.uuid4().hex[:10]}"
    session_id = desk.session(title=title)
    fragile.simulator.arm(platform, kind, count=count, seconds=1)

    with sweeping(fragile):
        handoff_id = desk.request(session_id, platform, target=CHATS[platform]).json()["id"]
        until(lambda: desk.handoff(handoff_id)["done"], PATIENCE)

    done = desk.handoff(handoff_id)
    assert (done["state"], done["error"]) == ("completed", None)
    assert done["attempt"] == 0 or kind != "rate_limit"
    threads = desk.threads(title, platform)
    may_be_lost = platform == "telegram" and kind == "accept_then_reset"
    assert len(threads) <= 1 + may_be_lost
    owner = desk.see(session_id)["owner"].rsplit(":", 1)[-1]
    confirmed = [thread["id"] for thread in threads for m in thread["messages"] if "Confirmed" in m["text"]]
    assert confirmed == [owner]


@pytest.mark.parametrize("platform", CHATS)
def test_a_confirmation_that_is_forbidden_fails_the_handoff_with_the_session_back(
    fragile: LocalService, desk: Desk, platform: str
) -> None:
    session_id = desk.session()
    asked = desk.request(session_id, platform, target=CHATS[platform], message="rehearse: slow 1")
    until(lambda: desk.see(session_id)["turn_running"])
    fragile.simulator.arm(platform, "forbidden", on="send")

    failed = desk.wait(asked.json()["id"])

    assert (failed["state"], failed["error"]["code"]) == ("failed", "delivery_rejected")
    session = desk.see(session_id)
    assert (session["owner"], session["epoch"], session["active_handoff"]) == ("cli", 2, None)
