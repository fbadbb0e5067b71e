"""Invalid requests get the documented status and code, and write nothing."""

import uuid
from typing import Any

import httpx
import pytest

from tests.support.api_user import ApiUser, add_user
from tests.support.platform_cases import DEFAULT_PLATFORM, SHARED_CHATS

ONE = [{"role": "user", "content": "hi"}]
HOME = f"/platforms/{DEFAULT_PLATFORM}/home"


def rejection(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == answer.status_code
    assert body["detail"]
    return answer.status_code, body["code"]


def test_an_unknown_platform_is_rejected(user: ApiUser) -> None:
    session_id = user.create_session()

    assert rejection(user.request_handoff(session_id, "pigeon")) == (422, "unknown_platform")
    assert user.session(session_id)["active_handoff"] is None


def test_another_users_session_looks_unknown(user: ApiUser) -> None:
    theirs = ApiUser(user.service, "other").create_session()

    unknown, foreign = user.request_handoff("no-such-session"), user.request_handoff(theirs)

    assert rejection(unknown) == rejection(foreign) == (404, "unknown_session")
    assert rejection(user.http.get(f"/sessions/{theirs}")) == (404, "unknown_session")
    assert rejection(user.http.put(f"/sessions/{theirs}", json={"title": "mine now"})) == (404, "unknown_session")
    assert ApiUser(user.service, "other").session(theirs)["title"] is None


def test_another_users_handoff_looks_unknown(user: ApiUser) -> None:
    done = user.hand_off(user.create_session())
    other = ApiUser(user.service, "other")

    assert rejection(other.http.get(f"/handoffs/{done['id']}")) == (404, "unknown_handoff")
    assert rejection(other.http.delete(f"/handoffs/{done['id']}")) == (404, "unknown_handoff")
    assert rejection(user.http.get("/handoffs/nothing")) == (404, "unknown_handoff")


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer nonsense", "Basic abc", "Bearer ho_owner." + "A" * 43]
)
def test_the_token_is_checked_before_the_body(user: ApiUser, authorization: str | None) -> None:
    headers = {"Authorization": authorization} if authorization is not None else {}
    answer = httpx.post(f"{user.service.url}/handoffs", content=b"{not json", headers=headers)

    assert rejection(answer) == (401, "unauthenticated")


def test_health_needs_no_token(user: ApiUser) -> None:
    assert httpx.get(f"{user.service.url}/health").json() == {"status": "ok"}


def test_malformed_json_is_a_400(user: ApiUser) -> None:
    headers = {"Content-Type": "application/json"}

    assert rejection(user.http.post("/handoffs", content=b"{not json", headers=headers)) == (400, "malformed_json")


def test_a_body_over_the_limit_is_a_413(user: ApiUser) -> None:
    session_id = user.create_session(count=0)
    big = {"epoch": 0, "after": 0, "messages": [{"role": "user", "content": "x" * 200_000}] * 6}

    assert rejection(user.http.post(f"/sessions/{session_id}/messages", json=big)) == (413, "body_too_large")
    assert user.session(session_id)["message_count"] == 0


BAD_MESSAGES: list[Any] = [
    {"role": "wizard", "content": "hi"},
    {"role": "user"},
    {"role": "user", "content": 7},
    {"role": "tool", "content": "result"},
    {"role": "user", "content": "x" * (256 * 1024)},
]


@pytest.mark.parametrize("message", BAD_MESSAGES, ids=["role", "no content", "number", "no call id", "too long"])
def test_an_invalid_message_is_named_and_none_is_written(user: ApiUser, message: Any) -> None:
    session_id = user.create_session(count=0)
    answer = user.http.post(
        f"/sessions/{session_id}/messages", json={"epoch": 0, "after": 0, "messages": [*ONE, message]}
    )

    assert rejection(answer) == (422, "invalid_request")
    assert answer.json()["errors"][0]["field"].startswith("messages.1")
    assert user.session(session_id)["message_count"] == 0


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"platform": DEFAULT_PLATFORM},
        {"platform": DEFAULT_PLATFORM, "session_id": "x", "session": {"messages": ONE}, "epoch": 0},
        {"platform": DEFAULT_PLATFORM, "session_id": "x"},
        {"platform": DEFAULT_PLATFORM, "session_id": "x", "epoch": -1},
        {"platform": DEFAULT_PLATFORM, "session_id": "x", "epoch": 0, "requre_thread": True},
        {"platform": DEFAULT_PLATFORM, "session_id": "x y", "epoch": 0},
        [],
    ],
)
def test_a_body_that_breaks_the_contract_is_a_422(user: ApiUser, body: Any) -> None:
    assert rejection(user.http.post("/handoffs", json=body)) == (422, "invalid_request")


def test_messages_must_continue_the_transcript(user: ApiUser) -> None:
    session_id = user.create_session(count=2)
    url = f"/sessions/{session_id}/messages"
    same = [{"role": "user", "content": "message 0"}, {"role": "assistant", "content": "message 1"}]

    repeated = user.http.post(url, json={"epoch": 0, "after": 0, "messages": same})
    overlapping = user.http.post(url, json={"epoch": 0, "after": 1, "messages": [same[1], *ONE]})
    gap = user.http.post(url, json={"epoch": 0, "after": 9, "messages": ONE})
    other = user.http.post(url, json={"epoch": 0, "after": 1, "messages": ONE})

    assert repeated.json()["message_count"] == 2
    assert overlapping.json()["message_count"] == 3
    assert rejection(gap) == rejection(other) == (409, "out_of_sequence")
    assert gap.json()["message_count"] == 3


def test_a_reused_key_with_another_body_is_rejected(user: ApiUser) -> None:
    key, session_id = uuid.uuid4().hex, user.create_session()
    user.wait_for_handoff(user.request_handoff(session_id, key=key).json()["id"])

    assert rejection(user.request_handoff(session_id, key=key, message="other")) == (422, "idempotency_key_reused")


def test_without_a_home_the_error_says_how_to_set_one(user: ApiUser) -> None:
    newcomer = add_user(user.service)
    session_id = newcomer.create_session()

    rejected = newcomer.request_handoff(session_id)
    assert rejection(rejected) == (422, "no_home")
    assert f"handoff link {DEFAULT_PLATFORM}" in rejected.json()["detail"]

    assert newcomer.http.put(HOME, json={"chat": SHARED_CHATS[DEFAULT_PLATFORM]}).status_code == 200
    assert newcomer.hand_off(session_id)["state"] == "completed"


def test_a_session_has_one_handoff_at_a_time(user: ApiUser) -> None:
    session_id = user.create_session()
    first = user.request_handoff(session_id).json()
    second = user.request_handoff(session_id)
    assert second.status_code == 409
    assert second.json()["code"] in ("handoff_in_flight", "moved")  # `moved` if the first was fast
    user.wait_for_handoff(first["id"])
    epoch = user.session(session_id)["epoch"]

    again = user.hand_off(session_id, epoch=epoch)

    assert (again["state"], again["error"]) == ("completed", None)


def test_an_unknown_path_is_a_404(user: ApiUser) -> None:
    assert user.http.get("/nothing").status_code == 404


def test_handoffs_can_be_listed_by_state(user: ApiUser) -> None:
    newcomer = add_user(user.service)
    newcomer.http.put(HOME, json={"chat": SHARED_CHATS[DEFAULT_PLATFORM]})
    done = newcomer.hand_off(newcomer.create_session())

    def listed(state: str) -> list[str]:
        return [view["id"] for view in newcomer.http.get("/handoffs", params={"state": state}).json()["handoffs"]]

    assert listed("completed") == [done["id"]]
    assert listed("pending") == listed("running") == listed("failed") == []
    assert rejection(newcomer.http.get("/handoffs", params={"state": "sideways"})) == (422, "invalid_request")
