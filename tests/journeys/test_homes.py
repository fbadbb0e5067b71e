"""Each platform and kind of home: a handoff, and a reply in the thread that is answered there."""

import pytest

from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.platform_cases import CASES, THREADED

CHATS = {
    f"{platform} {kind}": (platform, chat)
    for platform, case in CASES.items()
    for kind, chat in case.threaded_chats.items()
}


@pytest.mark.parametrize("kind", CHATS)
def test_a_reply_in_the_thread_is_answered_there(user: ApiUser, kind: str) -> None:
    platform, chat = CHATS[kind]

    thread = ChatThread(user, platform, chat, count=6)
    thread.say("Where were we?")

    assert (thread.handoff["notice"] is None) == (platform in THREADED)
    assert thread.chat == chat
    thread.wait_for("Where were we?")
    contents = thread.contents()
    assert contents[:6] == [f"message {number}" for number in range(6)]
    assert contents[8] == "Where were we?"
    assert len(thread.replies()) == 1
