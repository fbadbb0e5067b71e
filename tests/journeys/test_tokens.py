"""Tokens and users over HTTP: scopes, expiry, revocation, and the rights of an administrator."""

import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from functions.request import account_routes as request_accounts
from functions.request import routes as request
from functions.status import account_routes as status_accounts
from functions.status import routes as status
from shared.domain.tokens import Scope
from shared.use_cases.people.authenticate import hash_of, new_token
from tests.support.api_user import ApiUser, add_user
from tests.support.problems import problem_code

ROUTES = [
    (method, route.path, module)
    for module in (request, request_accounts, status, status_accounts)
    for route in module.router.routes
    if isinstance(route, APIRoute) and route.path != "/health"
    for method in route.methods or ()
]
OF_ADMIN = {"/users", "/users/{user_id}"}


@pytest.fixture
def other(user: ApiUser) -> ApiUser:
    return add_user(user.service)


@pytest.fixture
def client(user: ApiUser) -> Iterator[Callable[..., httpx.Client]]:
    """Clients with a token of their own for a user."""
    made: list[httpx.Client] = []

    def connect(user_id: str, *scopes: Scope, **more: Any) -> httpx.Client:
        token = new_token(user_id)
        user.service.store.accounts.add_token(user_id, hash_of(token), scopes=frozenset(scopes), **more)
        made.append(_with(user, token))
        return made[-1]

    yield connect
    for http in made:
        http.close()


def _with(user: ApiUser, token: str) -> httpx.Client:
    return httpx.Client(base_url=user.service.url, headers={"Authorization": f"Bearer {token}"}, timeout=30)


@pytest.mark.parametrize(("method", "path", "module"), ROUTES, ids=[f"{method} {path}" for method, path, _ in ROUTES])
def test_every_route_needs_its_scope(
    user: ApiUser, client: Callable[..., httpx.Client], method: str, path: str, module: Any
) -> None:
    needed = Scope.ADMIN if path in OF_ADMIN else Scope.HANDOFF if "request" in module.__name__ else Scope.READ
    body: dict[str, str] | None = {} if method in ("PUT", "POST") else None
    address = path.format(session_id="s", handoff_id="h", token_id="t", user_id="no-such", platform="telegram")
    every = set(Scope) - {needed} - ({Scope.HANDOFF, Scope.RUN} if needed is Scope.READ else set())

    refused = client("owner", *every).request(method, address, json=body)
    allowed = client("owner", needed).request(method, address, json=body)

    assert problem_code(refused) == "missing_scope"
    assert refused.json()["scope"] == needed
    assert f"`{needed}`" in refused.json()["detail"]
    assert allowed.status_code != 403


def test_a_token_is_listed_used_and_revoked(user: ApiUser, other: ApiUser) -> None:
    made = other.http.post("/tokens", json={"label": "laptop", "scopes": ["read"]}).json()
    with _with(user, made["token"]) as http:
        mine = http.get("/tokens").json()
        assert mine["current"] == made["id"]
        (shown,) = [token for token in mine["tokens"] if token["id"] == made["id"]]
        assert (shown["label"], shown["scopes"]) == ("laptop", ["read"])
        assert shown["last_used"] == datetime.now(UTC).date().isoformat()
        assert made["token"] not in http.get("/tokens").text

        assert problem_code(http.delete(f"/tokens/{made['id']}")) == "missing_scope"
        assert problem_code(user.http.delete(f"/tokens/{made['id']}")) == "unknown_token"
        assert other.http.delete(f"/tokens/{made['id']}").status_code == 204
        assert problem_code(http.get("/tokens")) == "unauthenticated"
    assert problem_code(other.http.delete(f"/tokens/{made['id']}")) == "unknown_token"


def test_an_expired_token_is_rejected(client: Callable[..., httpx.Client]) -> None:
    now = int(time.time() * 1000)
    assert problem_code(client("owner", *Scope, expires_at=now).get("/sessions")) == "unauthenticated"
    assert client("owner", *Scope, expires_at=now + 60_000).get("/sessions").status_code == 200


def test_a_token_gives_no_more_than_it_has(client: Callable[..., httpx.Client]) -> None:
    soon = int(time.time() * 1000) + 60_000
    http = client("owner", Scope.HANDOFF, expires_at=soon)

    assert problem_code(http.post("/tokens", json={"scopes": ["admin"]})) == "missing_scope"
    late = {"expires_at": "2999-01-01T00:00:00Z"}
    assert problem_code(http.post("/tokens", json=late)) == "invalid_request"
    assert problem_code(http.post("/tokens", json={"expires_at": "2001-01-01T00:00:00Z"})) == "invalid_request"
    made = http.post("/tokens", json={}).json()
    assert made["scopes"] == ["handoff"]
    assert datetime.fromisoformat(made["expires_at"]).timestamp() * 1000 == pytest.approx(soon, abs=1)


def test_nothing_that_a_token_makes_outlives_it(client: Callable[..., httpx.Client]) -> None:
    soon = int(time.time() * 1000) + 60_000
    http = client("owner", *Scope, expires_at=soon)
    name = f"u{uuid.uuid4().hex[:8]}"

    assert problem_code(http.post("/links", json={"platform": "telegram"})) == "invalid_request"
    assert problem_code(http.post("/invitations", json={"platform": "telegram", "name": name})) == "invalid_request"
    made = http.post("/users", json={"id": name}).json()
    assert datetime.fromisoformat(made["expires_at"]).timestamp() * 1000 == pytest.approx(soon, abs=1)


def test_an_administrator_adds_and_removes_users(user: ApiUser, client: Callable[..., httpx.Client]) -> None:
    admin = client("owner", Scope.ADMIN)
    name = f"u{uuid.uuid4().hex[:8]}"
    made = admin.post("/users", json={"id": name}).json()
    assert problem_code(admin.post("/users", json={"id": name})) == "user_exists"
    with _with(user, made["token"]) as http:
        assert http.put("/sessions/theirs", json={}).status_code == 201
        (shown,) = [one for one in admin.get("/users").json()["users"] if one["id"] == name]
        assert shown == {"id": name, "tokens": 1, "accounts": {}, "homes": {}}

        assert admin.delete(f"/users/{name}").status_code == 204
        assert problem_code(http.get("/sessions")) == "unauthenticated"
    assert problem_code(admin.delete(f"/users/{name}")) == "unknown_user"
    assert name not in [one["id"] for one in admin.get("/users").json()["users"]]
