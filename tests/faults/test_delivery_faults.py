"""Faults of a platform during a handoff or a reply, with the real SDKs: nothing is lost, nothing sent twice."""

import uuid

import pytest

from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.kill_cases import MARK, WAIT_SECONDS
from tests.support.platform_cases import CASES, HOMES, PLATFORMS, THREADED, may_repeat
from tests.support.service import Service
from tests.support.sweeping import sweeping
from tests.support.waiting import eventually

FAULTS = {
    "429 with a retry-after": ("rate_limit", 1),
    "reset before acceptance": ("reset", 1),
    "two resets before acceptance": ("reset", 2),
    "reset after acceptance": ("accept_then_reset", 1),
    "5xx": ("server_error", 1),
}


def chat_texts(user: ApiUser, platform: str) -> list[str]:
    """The texts in the home, outside its threads."""
    chats = user.service.simulator.state()["platforms"][platform]["chats"]
    return [m["text"] for chat in chats if chat["id"] == HOMES[platform] for m in chat["messages"]]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_reply_survives_faults_and_repeats_are_marked(user: ApiUser, platform: str) -> None:
    """A reply is sent twice only where the platform cannot tell whether it has accepted the first."""
    thread = ChatThread(user, platform)
    for fault, (kind, count) in FAULTS.items():
        text = f"{fault}, {uuid.uuid4().hex}"
        user.service.simulator.arm(platform, kind, count=count, seconds=2, on="send")

        thread.say(text)
        thread.wait_for(text, within=WAIT_SECONDS)
        thread.say(f"after {text}")
        thread.wait_for(f"after {text}", within=WAIT_SECONDS)

        copies = [reply for reply in thread.replies(text) if f"after {text}" not in reply]
        repeats = may_repeat(platform) and kind == "accept_then_reset"
        assert len(copies) == 1 + repeats, (fault, copies)
        assert all(MARK in copy for copy in copies[1:]), (fault, copies)
        assert thread.is_answered(text), fault


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_forbidden_reply_is_stored_and_the_session_goes_on(user: ApiUser, platform: str) -> None:
    thread = ChatThread(user, platform)
    user.service.simulator.arm(platform, "forbidden", on="send")

    thread.say("not for you")
    eventually(lambda: thread.is_answered("not for you"))
    thread.say("and now?")
    thread.wait_for("and now?")

    assert thread.replies("not for you") == []


@pytest.mark.parametrize("platform", THREADED)
def test_a_reply_to_a_deleted_thread_is_announced_in_the_chat(user: ApiUser, platform: str) -> None:
    thread = ChatThread(user, platform)

    thread.say("rehearse: slow 1")
    eventually(lambda: thread.session()["turn_running"])
    user.service.simulator.remove(platform, thread.chat, thread.id)
    eventually(lambda: thread.is_answered("rehearse: slow 1"), within=WAIT_SECONDS)

    command = f"/resume {thread.session_id}"
    eventually(lambda: [text for text in chat_texts(user, platform) if command in text])


@pytest.mark.parametrize("platform", [name for name, case in CASES.items() if len(case.threaded_chats) > 1])
def test_a_handoff_to_a_deleted_chat_fails(service: Service, user: ApiUser, platform: str) -> None:
    """And a reply that was on its way there is stored. No other test of this folder uses the second chat."""
    thread = ChatThread(user, platform, CASES[platform].second_chat)

    thread.say("rehearse: slow 1")
    eventually(lambda: thread.session()["turn_running"])
    user.service.simulator.remove(platform, thread.chat)
    eventually(lambda: thread.is_answered("rehearse: slow 1"), within=WAIT_SECONDS)
    session_id = user.create_session()
    with sweeping(service):
        failed = user.hand_off(session_id, platform, target=CASES[platform].second_chat)

    assert (failed["state"], failed["error"]["code"]) == ("failed", "chat_not_found")
    session = user.session(session_id)
    assert (session["owner"], session["active_handoff"]) == ("cli", None)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if "two" not in fault])
@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_handoff_survives_a_fault_while_opening_its_thread(
    service: Service, user: ApiUser, platform: str, fault: str
) -> None:
    kind, count = FAULTS[fault]
    title = f"opening {uuid.uuid4().hex[:10]}"
    session_id = user.create_session(title=title)
    service.simulator.arm(platform, kind, count=count, seconds=1)

    with sweeping(service):
        handoff_id = user.request_handoff(session_id, platform, target=HOMES[platform]).json()["id"]
        done = user.wait_for_handoff(handoff_id, within=WAIT_SECONDS)

    assert (done["state"], done["error"]) == ("completed", None)
    assert done["attempt"] == 0 or kind != "rate_limit"
    threads = user.threads(title, platform)
    may_be_lost = may_repeat(platform) and kind == "accept_then_reset"
    assert len(threads) <= 1 + may_be_lost
    owner = user.session(session_id)["owner"].rsplit(":", 1)[-1]
    confirmed = [thread["id"] for thread in threads for m in thread["messages"] if "Confirmed" in m["text"]]
    assert set(confirmed) == {owner}
    assert len(confirmed) <= 1 + (may_be_lost and platform not in THREADED), "the fault hits the confirmation there"


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_forbidden_confirmation_fails_the_handoff(service: Service, user: ApiUser, platform: str) -> None:
    session_id = user.create_session()
    asked = user.request_handoff(session_id, platform, target=HOMES[platform], message="rehearse: slow 1")
    eventually(lambda: user.session(session_id)["turn_running"])
    service.simulator.arm(platform, "forbidden", on="send")

    failed = user.wait_for_handoff(asked.json()["id"])

    assert (failed["state"], failed["error"]["code"]) == ("failed", "delivery_rejected")
    session = user.session(session_id)
    assert (session["owner"], session["epoch"], session["active_handoff"]) == ("cli", 2, None)
