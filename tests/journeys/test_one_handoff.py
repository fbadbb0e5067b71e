"""A whole handoff, end to end: from the request to the confirmation in the thread."""

import uuid

import pytest

from shared.domain.messages import digest
from tests.support.desk import Desk, until

pytestmark = [
    pytest.mark.parametrize("service", ["in_process", "runtime"], indirect=True, scope="session"),
    pytest.mark.xdist_group("one handoff"),
]


def test_session_arrives_in_a_fresh_thread_with_its_whole_transcript(desk: Desk) -> None:
    title = f"parser {uuid.uuid4().hex[:6]}"
    session_id = desk.session(count=40, title=title)
    before = desk.transcript(session_id)

    done = desk.hand_over(session_id)

    assert (done["state"], done["error"]) == ("completed", None)
    (thread,) = desk.threads(title)
    assert thread["title"] == f"Handoff — {title}"
    (confirmation,) = thread["messages"]
    assert "40 messages" in confirmation["text"]
    assert done["thread"] == {
        "id": thread["id"],
        "url": desk.service.simulator.link_url("telegram", "7001", thread["id"]),
    }
    assert done["receipt"] == {"by_role": {"user": 20, "assistant": 20}, "digest": digest(before), "message_count": 40}
    assert done["session"] == {
        "owner": f"telegram:7001:{thread['id']}",
        "epoch": 1,
        "message_count": 42,
        "title": title,
    }
    names = [step["name"] for step in done["steps"]]
    assert names[0] == "requested"
    assert names[-1] == "completed"
    assert {"claimed", "thread_opened", "moved", "kickoff_sent", "confirmed", "delivered"} < set(names)
    assert session_id in done["resume_hint"]


def test_a_reply_in_the_thread_continues_the_same_session(desk: Desk) -> None:
    title = f"reply {uuid.uuid4().hex[:6]}"
    session_id = desk.session(title=title)
    desk.hand_over(session_id)
    (thread,) = desk.threads(title)

    desk.service.simulator.say("telegram", thread["chat"], "And now?", thread=thread["id"])

    def answered() -> list[str]:
        (seen,) = desk.threads(title)
        return [message["text"] for message in seen["messages"] if message["from"] == "bot"][1:]

    (answer,) = until(answered)
    assert "And now?" in answer
    roles_and_words = [(m["role"], m["content"]) for m in desk.transcript(session_id)[-2:]]
    assert roles_and_words[0] == ("user", "And now?")
    assert roles_and_words[1][0] == "assistant"


def test_after_the_move_the_terminal_is_refused_and_told_where_the_session_lives(desk: Desk) -> None:
    session_id = desk.session()
    done = desk.hand_over(session_id)

    body = {"epoch": 0, "after": 6, "messages": [{"role": "user", "content": "still here?"}]}
    refused = desk.http.post(f"/sessions/{session_id}/messages", json=body)

    assert refused.status_code == 409
    assert refused.json()["code"] == "moved"
    assert refused.json()["owner"] == done["session"]["owner"]
    assert refused.json()["link"] == done["thread"]["url"]
    assert len(desk.transcript(session_id)) == 6


def test_a_chat_that_cannot_thread_is_used_itself_and_the_handoff_says_so(desk: Desk) -> None:
    session_id = desk.session()

    done = desk.hand_over(session_id, target="-1002", replace=True)

    assert done["state"] == "completed"
    assert "No thread of its own" in done["notice"]
    assert done["session"]["owner"] == "telegram:-1002"


def test_with_require_thread_a_chat_that_cannot_thread_fails_and_the_session_stays(desk: Desk) -> None:
    session_id = desk.session()

    done = desk.hand_over(session_id, target="-1002", require_thread=True)

    assert done["state"] == "failed"
    assert done["error"]["code"] == "thread_refused"
    assert desk.see(session_id)["owner"] == "cli"
    assert desk.see(session_id)["active_handoff"] is None


def test_the_same_key_gives_the_same_handoff_one_thread_and_one_confirmation(desk: Desk) -> None:
    title = f"twice {uuid.uuid4().hex[:6]}"
    session_id = desk.session(title=title)

    first = desk.request(session_id, key=title)
    again = desk.request(session_id, key=title)
    desk.wait(first.json()["id"])
    late = desk.request(session_id, key=title)

    assert {answer.status_code for answer in (first, again, late)} == {202}
    assert len({answer.json()["id"] for answer in (first, again, late)}) == 1
    (thread,) = desk.threads(title)
    assert len(thread["messages"]) == 1


def test_one_call_with_the_conversation_inside_is_enough(desk: Desk) -> None:
    title = f"inline {uuid.uuid4().hex[:6]}"
    body = {
        "platform": "telegram",
        "session": {"title": title, "messages": [{"role": "user", "content": "hello"}]},
    }
    answer = desk.http.post("/handoffs", json=body, headers={"Idempotency-Key": title})
    repeated = desk.http.post("/handoffs", json=body, headers={"Idempotency-Key": title})

    assert answer.status_code == 202, answer.text
    assert answer.headers["Location"] == answer.json()["status_url"]
    assert repeated.json()["id"] == answer.json()["id"]
    assert desk.wait(answer.json()["id"])["receipt"]["message_count"] == 1
    assert len(desk.threads(title)) == 1
