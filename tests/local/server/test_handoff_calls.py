"""The quick way to request and follow a handoff gives the answers of FastAPI's routes, to which all that is unusual goes."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from local.server.handoff_calls import call_of
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
    return call_of(scope) is not None


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


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("HEAD", "/handoffs/x"),
        ("POST", "/handoffs/x"),
        ("DELETE", "/handoffs/x"),
        ("GET", "/handoffs"),
        ("GET", "/handoffs/"),
        ("GET", "/handoffs/x/y"),
        ("GET", "/handoffsx"),
        ("PUT", "/handoffs"),
        ("POST", "/handoffs/"),
        ("POST", f"/handoffs{FASTAPI}"),
        ("POST", "/sessions"),
    ],
)
def test_other_calls_are_left_to_fastapi(method: str, path: str) -> None:
    assert not is_quick(path, method)


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


@pytest.fixture
def post(server: Server) -> Callable[..., httpx.Response]:
    """Asks for a handoff; `query` chooses the way."""

    def send(body: Any, *, query: str = "", **headers: str) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        token = f"Bearer {server.tokens['owner']}"
        usual = {"Authorization": token, "Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex}
        return httpx.post(f"{server.url}/handoffs{query}", content=content, headers=usual | headers, timeout=40)

    return send


def asked(**more: Any) -> dict[str, Any]:
    return {"platform": "telegram", "session": {"messages": [{"role": "user", "content": "hi"}]}} | more


Post = Callable[..., httpx.Response]


def test_health_is_the_same_on_both_ways(get: Callable[..., httpx.Response]) -> None:
    one, other = get("/health"), get(f"/health{FASTAPI}")

    assert (one.status_code, one.json(), one.headers["content-type"]) == (200, {"status": "ok"}, "application/json")
    assert (other.status_code, other.json(), other.headers["content-type"]) == (
        200,
        {"status": "ok"},
        "application/json",
    )


def test_a_request_gets_the_same_answer_on_both_ways(post: Post, user: ApiUser) -> None:
    """The second one repeats the first, so that both are about one handoff."""
    key = {"Idempotency-Key": uuid.uuid4().hex}
    one = post(asked(), **key)
    user.wait_for_handoff(one.json()["id"])
    again, other = post(asked(), **key), post(asked(), query=FASTAPI, **key)

    assert is_quick("/handoffs", "POST")
    assert one.status_code == again.status_code == other.status_code == 202
    assert _answer(again) == _answer(other)
    for header in ("content-type", "location", "retry-after"):
        assert again.headers[header] == other.headers[header]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "invalid_request"),
        (b"{", "malformed_json"),
        (b"\xff", "malformed_json"),
        (b"[" * 100_000, "malformed_json"),
        ([], "invalid_request"),
        ({}, "invalid_request"),
        (asked(epoch="1"), "invalid_request"),
        (asked(unknown=1), "invalid_request"),
        (asked(platform="pigeon"), "unknown_platform"),
        (asked(session_id="s-1"), "invalid_request"),
        (asked(session=None, session_id="none", epoch=0), "unknown_session"),
        (asked(target="no such chat"), "invalid_request"),
    ],
)
def test_a_wrong_request_is_refused_alike(post: Post, body: Any, code: str) -> None:
    one, other = post(body), post(body, query=FASTAPI)

    assert (one.status_code, one.json()) == (other.status_code, other.json())
    assert one.headers["content-type"] == other.headers["content-type"]
    assert one.json()["code"] == code


@pytest.mark.parametrize(
    "headers",
    [
        {"Idempotency-Key": ""},
        {"Idempotency-Key": "x" * 256},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Authorization": "Bearer none"},
    ],
)
def test_wrong_headers_are_refused_alike(post: Post, headers: dict[str, str]) -> None:
    one, other = post(asked(), **headers), post(asked(), query=FASTAPI, **headers)

    assert one.status_code >= 400
    assert (one.status_code, one.json()) == (other.status_code, other.json())


def test_a_key_with_another_body_is_refused_alike(post: Post, user: ApiUser) -> None:
    key = {"Idempotency-Key": uuid.uuid4().hex}
    user.wait_for_handoff(post(asked(), **key).json()["id"])
    one, other = post(asked(message="other"), **key), post(asked(message="other"), query=FASTAPI, **key)

    assert (one.status_code, one.json()) == (other.status_code, other.json())
    assert one.json()["code"] == "idempotency_key_reused"


def test_a_token_that_may_only_read_asks_for_no_handoff(server: Server, post: Post) -> None:
    made = httpx.post(
        f"{server.url}/tokens",
        headers={"Authorization": f"Bearer {server.tokens['owner']}"},
        json={"label": "a reader", "scopes": [Scope.READ]},
    ).json()
    token = {"Authorization": f"Bearer {made['token']}"}
    one, other = post(asked(), **token), post(asked(), query=FASTAPI, **token)

    assert (one.status_code, one.json()) == (other.status_code, other.json())
    assert one.json()["code"] == "missing_scope"
