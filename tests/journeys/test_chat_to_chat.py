"""`/handoff PLATFORM` typed in a thread: the session moves from chat to chat, on every platform."""

import itertools
from typing import Any

import pytest

from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.platform_cases import CASES, HOMES, PLATFORMS, THREADED
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


def moved(thread: ChatThread, platform: str, *, words: str = "") -> dict[str, Any]:
    """Type the command, and wait until the session is there and the old thread says so."""
    thread.say(f"/handoff {platform} {words}".strip())
    (asked,) = eventually(lambda: moves_of(thread))
    done = thread.user.wait_for_handoff(asked["id"])
    eventually(lambda: [text for text in texts(thread.user, thread.title, thread.route) if "This session" in text])
    return done


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_a_session_moves_from_chat_to_chat(user: ApiUser, source: str, target: str) -> None:
    thread = ChatThread(user, source)

    done = moved(thread, target, words="now write the tests")

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


@pytest.mark.parametrize(("source", "target"), WAYS)
def test_words_follow_the_session(user: ApiUser, source: str, target: str) -> None:
    thread = ChatThread(user, source)
    done = moved(thread, target)
    route = thread.session()["owner"]

    thread.say("still there?")
    eventually(lambda: any("now lives in" in text for text in texts(user, thread.title, thread.route)))
    there = route.rsplit(":", 1)[-1] if target in THREADED else None
    user.service.simulator.say(target, HOMES[target], "And now?", thread=there)
    eventually(lambda: any("And now?" in text for text in texts(user, thread.title, route)))

    assert thread.is_answered("And now?")
    assert "still there?" not in thread.contents()
    assert done["thread"]["url"] in texts(user, thread.title, thread.route)[-1]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_it_can_be_brought_back_and_moved_again(user: ApiUser, platform: str) -> None:
    other = next(name for name in PLATFORMS if name != platform)
    thread = ChatThread(user, platform)
    moved(thread, other)

    thread.say(f"/resume {thread.session_id}")
    eventually(lambda: thread.session()["owner"] == thread.route)
    thread.say("here again")
    eventually(lambda: thread.is_answered("here again"))
    thread.say(f"/handoff {other}")
    eventually(lambda: thread.session()["owner"].startswith(other) and not thread.session()["active_handoff"])

    assert thread.session()["epoch"] == 4
    assert len(user.threads(thread.title, other)) == 2


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_command_without_a_usable_platform_is_answered(user: ApiUser, platform: str) -> None:
    thread = ChatThread(user, platform)
    for command, answer in {
        "/handoff": f"/handoff {platform}",
        "/handoff carrier-pigeon": "is not a known platform",
    }.items():
        thread.say(command)
        thread.wait_for(answer)

    assert moves_of(thread) == []
    assert thread.session()["owner"] == thread.route


def held(thread: ChatThread, target: str) -> dict[str, Any]:
    """A handoff that the thread asked for, and that waits for the target's rate limit."""
    thread.user.service.simulator.arm(target, "rate_limit", seconds=600, on=CASES[target].opens_threads_with)
    thread.say(f"/handoff {target}")
    eventually(lambda: [move for move in moves_of(thread) if move["error"]])
    return moves_of(thread)[0]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_stop_cancels_a_move_that_is_pending(user: ApiUser, platform: str) -> None:
    target = next(name for name in THREADED if name != platform)
    thread = ChatThread(user, platform)
    asked = held(thread, target)
    thread.say("while it waits")
    thread.say("/stop")
    done = user.wait_for_handoff(asked["id"])

    assert (done["state"], done["error"]["code"]) == ("cancelled", "cancelled")
    thread.wait_for("was cancelled")
    session = thread.session()
    assert (session["owner"], session["epoch"], session["active_handoff"]) == (thread.route, 1, None)
    thread.say("still here")
    eventually(lambda: thread.is_answered("still here"))
    assert user.threads(thread.title, target) == []


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_terminal_can_cancel_it(user: ApiUser, platform: str) -> None:
    target = next(name for name in THREADED if name != platform)
    thread = ChatThread(user, platform)
    asked = held(thread, target)
    thread.say("while it waits")
    user.http.delete(f"/handoffs/{asked['id']}").raise_for_status()

    thread.wait_for("was cancelled")
    eventually(lambda: thread.is_answered("while it waits"))


def test_a_kickoff_that_fails_brings_the_session_back(user: ApiUser) -> None:
    for source, target in itertools.pairwise(PLATFORMS):
        thread = ChatThread(user, source)
        thread.say(f"/handoff {target} rehearse: fail")
        (asked,) = eventually(lambda thread=thread: moves_of(thread))  # type: ignore[misc]  # bound in this round
        done = user.wait_for_handoff(asked["id"])

        assert (done["state"], done["error"]["code"]) == ("failed", "agent_failed")
        assert (thread.session()["owner"], thread.session()["epoch"]) == (thread.route, 3)
        assert "still here" in thread.wait_for("failed")
        thread.say("go on")
        eventually(lambda thread=thread: thread.is_answered("go on"))  # type: ignore[misc]  # likewise
