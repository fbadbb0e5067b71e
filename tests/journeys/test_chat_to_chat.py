"""`/handoff PLATFORM` typed in a thread: the session moves from chat to chat, on every platform."""

from typing import Any

import pytest

from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.platform_cases import PLATFORMS, THREADED
from tests.support.waiting import eventually

WAYS = [*zip(PLATFORMS, [*PLATFORMS[1:], PLATFORMS[0]], strict=True), *((name, name) for name in THREADED)]
"""From each platform to another one, and to a new thread of its own where it has threads."""


def texts(user: ApiUser, title: str, route: str) -> list[str]:
    """What the bot posted at a place that a handoff has opened."""
    platform, *_, thread_id = route.split(":")
    threads = [thread for thread in user.threads(title, platform) if str(thread["id"]) == thread_id]
    return [message["text"] for thread in threads for message in thread["messages"] if message["from"] == "bot"]


def moves_of(thread: ChatThread) -> list[dict[str, Any]]:
    """The handoffs that the thread asked for, newest first."""
    view = thread.user.http.get(f"/handoffs?session_id={thread.session_id}").raise_for_status().json()
    return [handoff for handoff in view["handoffs"] if handoff["id"] != thread.handoff["id"]]


def moved(thread: ChatThread, platform: str, words: str) -> dict[str, Any]:
    """Type the command, and wait until the session is there and the old thread says so."""
    thread.say(f"/handoff {platform} {words}")
    (asked,) = eventually(lambda: moves_of(thread))
    done = thread.user.wait_for_handoff(asked["id"])
    eventually(lambda: [text for text in texts(thread.user, thread.title, thread.route) if "This session" in text])
    return done


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_a_session_moves_from_chat_to_chat(user: ApiUser, source: str, target: str) -> None:
    thread = ChatThread(user, source)

    done = moved(thread, target, "now write the tests")

    assert (done["state"], done["error"], done["platform"]) == ("completed", None, target)
    session = thread.session()
    assert session["owner"].startswith(f"{target}:")
    assert session["owner"] != thread.route
    assert (session["epoch"], session["link"], session["active_handoff"]) == (2, done["thread"]["url"], None)
    old = texts(user, thread.title, thread.route)
    assert len([text for text in old if "Moving this session" in text]) == 1, old
    assert [text for text in old if done["thread"]["url"] in text] == [old[-1]], old
    confirmation, *more = texts(user, thread.title, session["owner"])
    assert more == []
    assert "6 messages" in confirmation
    assert thread.contents()[6].endswith("now write the tests")
