"""A handoff from the request to the confirmation in the thread."""

import uuid

import pytest

from shared.domain.messages import digest
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.platform_cases import DEFAULT_PLATFORM, HOMES

pytestmark = [
    pytest.mark.parametrize("service", ["in_process", "runtime"], indirect=True, scope="session"),
    pytest.mark.xdist_group("handoff"),
]
HOME = HOMES[DEFAULT_PLATFORM]
PLAIN_GROUP = "-1002"


def test_a_session_arrives_in_a_new_thread(user: ApiUser) -> None:
    title = f"parser {uuid.uuid4().hex[:6]}"
    session_id = user.create_session(count=40, title=title)
    before = user.transcript(session_id)

    done = user.hand_off(session_id)

    assert (done["state"], done["error"]) == ("completed", None)
    (thread,) = user.threads(title)
    assert thread["title"] == f"Handoff — {title}"
    (confirmation,) = thread["messages"]
    assert "40 messages" in confirmation["text"]
    assert done["thread"] == {
        "id": thread["id"],
        "url": user.service.simulator.link_url(DEFAULT_PLATFORM, HOME, thread["id"]),
    }
    assert done["receipt"] == {"by_role": {"user": 20, "assistant": 20}, "digest": digest(before), "message_count": 40}
    assert done["session"] == {
        "owner": f"{DEFAULT_PLATFORM}:{HOME}:{thread['id']}",
        "epoch": 1,
        "message_count": 42,
        "title": title,
        "shared": False,
    }
    names = [step["name"] for step in done["steps"]]
    assert names[0] == "requested"
    assert names[-1] == "completed"
    assert {"claimed", "thread_opened", "moved", "kickoff_sent", "confirmed", "delivered"} < set(names)
    assert session_id in done["resume_hint"]


def test_a_reply_in_the_thread_continues_the_session(user: ApiUser) -> None:
    thread = ChatThread(user)

    thread.say("And now?")

    thread.wait_for("And now?")
    assert len(thread.replies()) == 1
    question, answer = user.transcript(thread.session_id)[-2:]
    assert (question["role"], question["content"]) == ("user", "And now?")
    assert answer["role"] == "assistant"


def test_a_chat_without_threads_is_used_with_a_notice(user: ApiUser) -> None:
    done = user.hand_off(user.create_session(), "telegram", target=PLAIN_GROUP, replace=True)

    assert done["state"] == "completed"
    assert "No thread was opened" in done["notice"]
    assert done["session"]["owner"] == f"telegram:{PLAIN_GROUP}"


def test_one_request_can_carry_the_whole_session(user: ApiUser) -> None:
    title = f"inline {uuid.uuid4().hex[:6]}"
    body = {
        "platform": DEFAULT_PLATFORM,
        "session": {"title": title, "messages": [{"role": "user", "content": "hello"}]},
    }
    answer = user.http.post("/handoffs", json=body, headers={"Idempotency-Key": title})
    repeated = user.http.post("/handoffs", json=body, headers={"Idempotency-Key": title})

    assert answer.status_code == 202, answer.text
    assert answer.headers["Location"] == answer.json()["status_url"]
    assert repeated.json()["id"] == answer.json()["id"]
    assert user.wait_for_handoff(answer.json()["id"])["receipt"]["message_count"] == 1
    assert len(user.threads(title)) == 1
