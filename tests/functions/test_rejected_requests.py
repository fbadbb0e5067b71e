"""Invalid requests name what is wrong, and write nothing. tests/contracts/http provokes each code of each call."""

from typing import Any

import pytest

from tests.support.memory_api import MemoryApi
from tests.support.problems import problem_code

ONE = [{"role": "user", "content": "hi"}]
TWO = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
BAD_MESSAGES: dict[str, Any] = {
    "role": {"role": "wizard", "content": "hi"},
    "no content": {"role": "user"},
    "number": {"role": "user", "content": 7},
    "no call id": {"role": "tool", "content": "result"},
    "too long": {"role": "user", "content": "x" * (256 * 1024)},
}


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer nonsense", "Basic abc", "Bearer ho_ada." + "A" * 43])
def test_the_token_is_checked_before_the_body(api: MemoryApi, authorization: str) -> None:
    answer = api.client("ada").post("/handoffs", content=b"{not json", headers={"Authorization": authorization})

    assert problem_code(answer) == "unauthenticated"


@pytest.mark.parametrize("message", BAD_MESSAGES.values(), ids=BAD_MESSAGES)
def test_an_invalid_message_is_named_and_none_is_written(api: MemoryApi, message: Any) -> None:
    ada = api.client("ada")
    ada.put("/sessions/s-1", json={}).raise_for_status()

    answer = ada.post("/sessions/s-1/messages", json={"epoch": 0, "after": 0, "messages": [*ONE, message]})

    assert problem_code(answer) == "invalid_request"
    assert answer.json()["errors"][0]["field"].startswith("messages.1")
    assert ada.get("/sessions/s-1").json()["message_count"] == 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"platform": "chat"},
        {"platform": "chat", "session_id": "x", "session": {"messages": ONE}, "epoch": 0},
        {"platform": "chat", "session_id": "x"},
        {"platform": "chat", "session_id": "x", "epoch": -1},
        {"platform": "chat", "session_id": "x", "epoch": 0, "requre_thread": True},
        {"platform": "chat", "session_id": "x y", "epoch": 0},
        [],
    ],
)
def test_a_handoff_that_breaks_the_contract_is_refused(api: MemoryApi, body: Any) -> None:
    assert problem_code(api.client("ada").post("/handoffs", json=body)) == "invalid_request"


def test_messages_must_continue_the_transcript(api: MemoryApi) -> None:
    ada, url = api.client("ada"), "/sessions/s-1/messages"
    ada.put("/sessions/s-1", json={}).raise_for_status()
    ada.post(url, json={"epoch": 0, "after": 0, "messages": TWO}).raise_for_status()

    repeated = ada.post(url, json={"epoch": 0, "after": 0, "messages": TWO})
    overlapping = ada.post(url, json={"epoch": 0, "after": 1, "messages": [TWO[1], *ONE]})
    gap = ada.post(url, json={"epoch": 0, "after": 9, "messages": ONE})
    other = ada.post(url, json={"epoch": 0, "after": 1, "messages": ONE})

    assert (repeated.json()["message_count"], overlapping.json()["message_count"]) == (2, 3)
    assert problem_code(gap) == problem_code(other) == "out_of_sequence"
    assert gap.json()["message_count"] == 3


def test_without_a_home_the_error_says_how_to_set_one(api: MemoryApi) -> None:
    answer = api.client("newcomer").post("/handoffs", json={"session": {"messages": ONE}, "platform": "chat"})

    assert problem_code(answer) == "no_home"
    assert "handoff link chat" in answer.json()["detail"]


def test_handoffs_are_listed_by_state(api: MemoryApi) -> None:
    api.world.moved()
    states = ("pending", "running", "completed", "failed")
    listed = [api.client("ada").get("/handoffs", params={"state": state}).json()["handoffs"] for state in states]

    assert [[view["session_id"] for view in views] for views in listed] == [[], [], ["s-1"], []]
