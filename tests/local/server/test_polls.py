"""The quick way to read a handoff gives the same answers as the route of FastAPI, to which everything unusual goes."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from starlette.routing import Match

from local.server.polls import HandoffPolls
from local.server.service import Server
from shared.domain.tokens import Scope
from tests.support.api_user import ApiUser

FASTAPI = "?unknown=1"
"""A parameter that only FastAPI ignores."""


@pytest.fixture
def get(server: Server) -> Callable[..., httpx.Response]:
    return lambda path, token=server.tokens["owner"]: httpx.get(
        f"{server.url}{path}", headers={"Authorization": f"Bearer {token}"}, timeout=40
    )


def is_quick(path: str, method: str = "GET") -> bool:
    """Whether a request is answered in the quick way."""
    url = httpx.URL(f"http://127.0.0.1{path}")
    scope = {"type": "http", "method": method, "path": url.path, "query_string": url.query}
    return HandoffPolls().matches(scope)[0] is Match.FULL


@pytest.fixture
def handoff(user: ApiUser) -> str:
    done = user.hand_off(user.create_session(), "telegram")
    return str(done["id"])


def _answer(response: httpx.Response) -> list[tuple[str, Any]]:
    """In its order, without what depends on the time."""
    return [(name, value) for name, value in response.json().items() if name != "poll_after_ms"]


def test_both_ways_give_the_same_answer(handoff: str, get: Callable[..., httpx.Response]) -> None:
    one, other = get(f"/handoffs/{handoff}"), get(f"/handoffs/{handoff}{FASTAPI}")

    assert (one.status_code, _answer(one)) == (other.status_code, _answer(other))
    assert one.headers["content-type"] == other.headers["content-type"]


@pytest.mark.parametrize("query", ["", "?wait=1", "?wait=25&seen=1-running.2", "?seen=other", "?wait=0"])
def test_what_the_cli_asks_for_is_quick(handoff: str, get: Callable[..., httpx.Response], query: str) -> None:
    assert is_quick(f"/handoffs/{handoff}{query}")
    assert get(f"/handoffs/{handoff}{query}").json()["done"]


def test_the_version_of_a_handoff_can_be_asked_for(handoff: str, get: Callable[..., httpx.Response]) -> None:
    version = get(f"/handoffs/{handoff}").json()["version"]

    assert is_quick(f"/handoffs/{handoff}?wait=25&seen={version}")


def test_an_open_handoff_says_when_to_ask_again(
    server: Server, user: ApiUser, get: Callable[..., httpx.Response]
) -> None:
    server.simulator.arm("telegram", "rate_limit", 1, on="open_thread", seconds=3)
    handoff = user.request_handoff(user.create_session(), "telegram").json()["id"]

    one, other = get(f"/handoffs/{handoff}"), get(f"/handoffs/{handoff}{FASTAPI}")

    assert one.headers["retry-after"] == other.headers["retry-after"]
    user.wait_for_handoff(handoff)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (f"/handoffs/x{FASTAPI}", "unknown_handoff"),
        ("/handoffs/not%20an%20id", "invalid_request"),
        (f"/handoffs/{'x' * 65}", "invalid_request"),
        ("/handoffs/x?wait=26", "invalid_request"),
        ("/handoffs/x?wait=-1", "invalid_request"),
        ("/handoffs/x?wait=soon", "invalid_request"),
        (f"/handoffs/x?seen={'x' * 65}", "invalid_request"),
    ],
)
def test_what_is_unusual_is_left_to_fastapi(get: Callable[..., httpx.Response], path: str, code: str) -> None:
    assert not is_quick(path)
    assert get(path).json()["code"] == code


@pytest.mark.parametrize("method", ["HEAD", "POST", "DELETE"])
def test_other_methods_are_left_to_fastapi(method: str) -> None:
    assert not is_quick("/handoffs/x", method)


def test_an_unknown_handoff_is_not_found(get: Callable[..., httpx.Response]) -> None:
    assert is_quick("/handoffs/unknown")
    assert get("/handoffs/unknown").json()["code"] == "unknown_handoff"


def test_a_token_that_may_not_read_is_refused(server: Server, handoff: str, get: Callable[..., httpx.Response]) -> None:
    made = httpx.post(
        f"{server.url}/tokens",
        headers={"Authorization": f"Bearer {server.tokens['owner']}"},
        json={"label": "an operator", "scopes": [Scope.ADMIN]},
    ).json()

    answer = get(f"/handoffs/{handoff}", made["token"])

    assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope")


def test_another_users_handoff_is_unknown(server: Server, get: Callable[..., httpx.Response], handoff: str) -> None:
    assert get(f"/handoffs/{handoff}", server.tokens["other"]).json()["code"] == "unknown_handoff"
