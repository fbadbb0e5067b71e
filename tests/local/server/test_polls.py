"""The quick way to read a handoff gives the same answers as the route of FastAPI, to which everything unusual goes."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from functions.status import routes
from local.server import polls
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


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each handoff that was shown: whether in the quick way."""
    ways: list[bool] = []

    def noted(*, is_quick: bool) -> Callable[..., Any]:
        def show(*arguments: Any, **named: Any) -> Any:
            ways.append(is_quick)
            return real(*arguments, **named)

        return show

    real = routes.show_handoff
    monkeypatch.setattr(polls, "show_handoff", noted(is_quick=True))
    monkeypatch.setattr(routes, "show_handoff", noted(is_quick=False))
    return ways


@pytest.fixture
def handoff(user: ApiUser) -> str:
    done = user.hand_off(user.create_session(), "telegram")
    return str(done["id"])


def _answer(response: httpx.Response) -> list[tuple[str, Any]]:
    """In its order, without what depends on the time."""
    return [(name, value) for name, value in response.json().items() if name != "poll_after_ms"]


def test_both_ways_give_the_same_answer(handoff: str, get: Callable[..., httpx.Response], quick: list[bool]) -> None:
    one, other = get(f"/handoffs/{handoff}"), get(f"/handoffs/{handoff}{FASTAPI}")

    assert quick == [True, False]
    assert (one.status_code, _answer(one)) == (other.status_code, _answer(other))
    assert one.headers["content-type"] == other.headers["content-type"]


@pytest.mark.parametrize("query", ["", "?wait=1", "?wait=25&seen=other", "?seen=other", "?wait=0"])
def test_what_the_cli_asks_for_is_quick(
    handoff: str, get: Callable[..., httpx.Response], quick: list[bool], query: str
) -> None:
    assert get(f"/handoffs/{handoff}{query}").json()["done"]
    assert quick == [True]


def test_an_open_handoff_says_when_to_ask_again(
    server: Server, user: ApiUser, get: Callable[..., httpx.Response], quick: list[bool]
) -> None:
    server.simulator.arm("telegram", "rate_limit", 1, on="open_thread", seconds=3)
    handoff = user.request_handoff(user.create_session(), "telegram").json()["id"]

    one, other = get(f"/handoffs/{handoff}"), get(f"/handoffs/{handoff}{FASTAPI}")

    assert quick == [True, False]
    assert one.headers["retry-after"] == other.headers["retry-after"]
    user.wait_for_handoff(handoff)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/handoffs/unknown", "unknown_handoff"),
        ("/handoffs/not%20an%20id", "invalid_request"),
        (f"/handoffs/{'x' * 65}", "invalid_request"),
        ("/handoffs/x?wait=26", "invalid_request"),
        ("/handoffs/x?wait=-1", "invalid_request"),
        ("/handoffs/x?wait=soon", "invalid_request"),
        (f"/handoffs/x?seen={'x' * 65}", "invalid_request"),
    ],
)
def test_problems_are_those_of_the_api(get: Callable[..., httpx.Response], path: str, code: str) -> None:
    assert get(path).json()["code"] == code


def test_a_token_that_may_not_read_is_refused(
    server: Server, handoff: str, get: Callable[..., httpx.Response], quick: list[bool]
) -> None:
    made = httpx.post(
        f"{server.url}/tokens",
        headers={"Authorization": f"Bearer {server.tokens['owner']}"},
        json={"label": "an operator", "scopes": [Scope.ADMIN]},
    ).json()

    answer = get(f"/handoffs/{handoff}", made["token"])

    assert (answer.status_code, answer.json()["code"]) == (403, "missing_scope")
    assert quick == []


def test_another_users_handoff_is_unknown(server: Server, get: Callable[..., httpx.Response], handoff: str) -> None:
    answer = get(f"/handoffs/{handoff}", server.tokens["other"])

    assert answer.json()["code"] == "unknown_handoff"
