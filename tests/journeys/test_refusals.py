"""Bad input: the documented status and code, and nothing written."""

import uuid
from typing import Any

import httpx
import pytest

from shared.use_cases.people.authenticate import hash_of, new_token
from tests.support.desk import Desk

ONE = [{"role": "user", "content": "hi"}]


def refusal(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == answer.status_code
    assert body["detail"]
    return answer.status_code, body["code"]


@pytest.mark.parametrize(
    ("platform", "code"),
    [("pigeon", "unknown_platform"), ("matrix", "platform_not_supported"), ("signal", "platform_not_supported")],
)
def test_a_platform_that_cannot_be_used_is_refused_by_name(desk: Desk, platform: str, code: str) -> None:
    session_id = desk.session()

    assert refusal(desk.request(session_id, platform)) == (422, code)
    assert desk.see(session_id)["active_handoff"] is None


def test_an_unknown_session_and_somebody_elses_answer_alike(desk: Desk) -> None:
    theirs = Desk(desk.service, "other").session()

    unknown, foreign = desk.request("no-such-session"), desk.request(theirs)

    assert refusal(unknown) == refusal(foreign) == (404, "unknown_session")
    assert refusal(desk.http.get(f"/sessions/{theirs}")) == (404, "unknown_session")
    assert refusal(desk.http.put(f"/sessions/{theirs}", json={"title": "mine now"})) == (404, "unknown_session")
    assert Desk(desk.service, "other").see(theirs)["title"] is None


def test_somebody_elses_handoff_answers_as_one_that_does_not_exist(desk: Desk) -> None:
    done = desk.hand_over(desk.session())
    other = Desk(desk.service, "other")

    assert refusal(other.http.get(f"/handoffs/{done['id']}")) == (404, "unknown_handoff")
    assert refusal(other.http.delete(f"/handoffs/{done['id']}")) == (404, "unknown_handoff")
    assert refusal(desk.http.get("/handoffs/nothing")) == (404, "unknown_handoff")


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer nonsense", "Basic abc", "Bearer ho_owner." + "A" * 43]
)
def test_a_token_that_does_not_exist_is_refused_before_anything_is_read(desk: Desk, authorization: str | None) -> None:
    headers = {"Authorization": authorization} if authorization is not None else {}
    answer = httpx.post(f"{desk.service.url}/handoffs", content=b"{not json", headers=headers)

    assert refusal(answer) == (401, "unauthenticated")


def test_health_needs_no_token(desk: Desk) -> None:
    assert httpx.get(f"{desk.service.url}/health").json() == {"status": "ok"}


def test_malformed_json_is_a_400(desk: Desk) -> None:
    headers = {"Content-Type": "application/json"}

    assert refusal(desk.http.post("/handoffs", content=b"{not json", headers=headers)) == (400, "malformed_json")


def test_a_body_over_the_limit_is_a_413_and_nothing_is_written(desk: Desk) -> None:
    session_id = desk.session(count=0)
    big = {"epoch": 0, "after": 0, "messages": [{"role": "user", "content": "x" * 200_000}] * 6}

    assert refusal(desk.http.post(f"/sessions/{session_id}/messages", json=big)) == (413, "body_too_large")
    assert desk.see(session_id)["message_count"] == 0


BAD_MESSAGES: list[Any] = [
    {"role": "wizard", "content": "hi"},
    {"role": "user"},
    {"role": "user", "content": 7},
    {"role": "tool", "content": "result"},
    {"role": "user", "content": "x" * (256 * 1024)},
]


@pytest.mark.parametrize("message", BAD_MESSAGES, ids=["role", "no content", "number", "no call id", "too long"])
def test_a_message_that_cannot_be_stored_is_named_and_none_is_written(desk: Desk, message: Any) -> None:
    session_id = desk.session(count=0)
    answer = desk.http.post(
        f"/sessions/{session_id}/messages", json={"epoch": 0, "after": 0, "messages": [*ONE, message]}
    )

    assert refusal(answer) == (422, "invalid_request")
    assert answer.json()["errors"][0]["field"].startswith("messages.1")
    assert desk.see(session_id)["message_count"] == 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"platform": "telegram"},
        {"platform": "telegram", "session_id": "x", "session": {"messages": ONE}, "epoch": 0},
        {"platform": "telegram", "session_id": "x"},
        {"platform": "telegram", "session_id": "x", "epoch": -1},
        {"platform": "telegram", "session_id": "x", "epoch": 0, "requre_thread": True},
        {"platform": "telegram", "session_id": "x y", "epoch": 0},
        [],
    ],
)
def test_a_body_that_is_not_the_contract_is_a_422(desk: Desk, body: Any) -> None:
    assert refusal(desk.http.post("/handoffs", json=body)) == (422, "invalid_request")


def test_messages_are_idempotent_and_must_continue_the_transcript(desk: Desk) -> None:
    session_id = desk.session(count=2)
    url = f"/sessions/{session_id}/messages"
    same = [{"role": "user", "content": "message 0"}, {"role": "assistant", "content": "message 1"}]

    repeated = desk.http.post(url, json={"epoch": 0, "after": 0, "messages": same})
    overlapping = desk.http.post(url, json={"epoch": 0, "after": 1, "messages": [same[1], *ONE]})
    gap = desk.http.post(url, json={"epoch": 0, "after": 9, "messages": ONE})
    other = desk.http.post(url, json={"epoch": 0, "after": 1, "messages": ONE})

    assert repeated.json()["message_count"] == 2
    assert overlapping.json()["message_count"] == 3
    assert refusal(gap) == refusal(other) == (409, "out_of_sequence")
    assert gap.json()["message_count"] == 3


def test_the_same_key_with_another_body_is_refused(desk: Desk) -> None:
    key, session_id = uuid.uuid4().hex, desk.session()
    desk.wait(desk.request(session_id, key=key).json()["id"])

    assert refusal(desk.request(session_id, key=key, message="other")) == (422, "idempotency_key_reused")


def test_without_a_home_the_handoff_says_how_to_set_one(desk: Desk) -> None:
    newcomer = _newcomer(desk)
    session_id = newcomer.session()

    refused = newcomer.request(session_id)
    assert refusal(refused) == (422, "no_home")
    assert "handoff config home telegram" in refused.json()["detail"]

    assert newcomer.http.put("/platforms/telegram/home", json={"chat": "-1001000000001"}).status_code == 200
    assert newcomer.hand_over(session_id)["state"] == "completed"


def test_a_session_on_its_way_is_refused_a_second_handoff_and_allowed_after_the_first(desk: Desk) -> None:
    session_id = desk.session()
    first = desk.request(session_id).json()
    second = desk.request(session_id)
    assert second.status_code == 409
    assert second.json()["code"] in ("handoff_in_flight", "moved")  # the second, if the first was quick
    desk.wait(first["id"])
    epoch = desk.see(session_id)["epoch"]

    again = desk.hand_over(session_id, epoch=epoch)

    assert (again["state"], again["error"]) == ("completed", None)


def test_an_unknown_path_is_a_problem_too(desk: Desk) -> None:
    assert desk.http.get("/nothing").status_code == 404


def test_the_list_by_state_excludes_the_others(desk: Desk) -> None:
    newcomer = _newcomer(desk)
    newcomer.http.put("/platforms/telegram/home", json={"chat": "-1001000000001"})
    done = newcomer.hand_over(newcomer.session())

    def listed(state: str) -> list[str]:
        return [view["id"] for view in newcomer.http.get("/handoffs", params={"state": state}).json()["handoffs"]]

    assert listed("completed") == [done["id"]]
    assert listed("pending") == listed("running") == listed("failed") == []
    assert refusal(newcomer.http.get("/handoffs", params={"state": "sideways"})) == (422, "invalid_request")


def _newcomer(desk: Desk) -> Desk:
    user_id = f"u{uuid.uuid4().hex[:8]}"
    desk.service.tokens[user_id] = new_token(user_id)
    desk.service.store.accounts.add_token(user_id, hash_of(desk.service.tokens[user_id]))
    return Desk(desk.service, user_id)
