"""A user at a limit gets a 429 that says which limit it is and when to come back."""

from collections.abc import Iterator

import httpx
import pytest

from local.service import LocalService
from tests.support.api_user import ApiUser

LIMITS = {"MaxOpenHandoffs": "1", "MaxTurnsPerHour": "2", "MaxStoredMegabytes": "1"}


@pytest.fixture(scope="module")
def limited() -> Iterator[LocalService]:
    with LocalService(mode="in_process", parameters=LIMITS) as service:
        yield service


def _refusal(answer: httpx.Response) -> tuple[int, str, int]:
    assert answer.headers["content-type"] == "application/problem+json"
    assert int(answer.headers["Retry-After"]) > 0
    return answer.status_code, answer.json()["code"], answer.json()["limit"]


def test_each_limit_has_a_code_and_a_time(limited: LocalService) -> None:
    user, other = ApiUser(limited), ApiUser(limited, "other")
    large = [{"role": "user", "content": "x" * 200_000} for _ in range(5)]
    session_id = user.create_session(0)
    upload = {"epoch": 0, "after": 0, "messages": large[:4]}
    user.http.post(f"/sessions/{session_id}/messages", json=upload).raise_for_status()
    more = {"epoch": 0, "after": 4, "messages": large[4:]}
    assert _refusal(user.http.post(f"/sessions/{session_id}/messages", json=more)) == (429, "storage_full", 1_000_000)

    limited.simulator.arm("telegram", "rate_limit", seconds=600, on="open_thread")
    waiting = user.request_handoff(user.create_session(1)).raise_for_status().json()["id"]
    refused = user.request_handoff(user.create_session(1))
    assert _refusal(refused) == (429, "too_many_open_handoffs", 1)
    user.http.delete(f"/handoffs/{waiting}").raise_for_status()

    turn = {"epoch": 0, "id": "t1", "text": "What next?"}
    user.http.post(f"/sessions/{session_id}/turns", json=turn).raise_for_status()
    assert _refusal(user.request_handoff(user.create_session(1))) == (429, "too_many_turns", 2)
    assert other.request_handoff(other.create_session(1)).status_code == 202
