"""Tokens and users over HTTP: scopes, expiry, revocation, and the rights of an administrator."""

import uuid
from datetime import UTC, datetime
from typing import Any

import pytest
from fastapi.routing import APIRoute

from functions.request import account_routes as request_accounts
from functions.request import routes as request
from functions.status import account_routes as status_accounts
from functions.status import routes as status
from shared.domain.tokens import Scope
from tests.support.memory_api import MemoryApi
from tests.support.problems import problem_code

ROUTES = [
    (method, route.path, module)
    for module in (request, request_accounts, status, status_accounts)
    for route in module.router.routes
    if isinstance(route, APIRoute) and route.path != "/health"
    for method in route.methods or ()
]
OF_ADMIN = {"/users", "/users/{user_id}"}
OWNER = "ada"


@pytest.mark.parametrize(("method", "path", "module"), ROUTES, ids=[f"{method} {path}" for method, path, _ in ROUTES])
def test_every_route_needs_its_scope(api: MemoryApi, method: str, path: str, module: Any) -> None:
    needed = Scope.ADMIN if path in OF_ADMIN else Scope.HANDOFF if "request" in module.__name__ else Scope.READ
    body: dict[str, str] | None = {} if method in ("PUT", "POST") else None
    address = path.format(session_id="s", handoff_id="h", token_id="t", user_id="no-such", platform="chat")
    every = set(Scope) - {needed} - ({Scope.HANDOFF, Scope.RUN} if needed is Scope.READ else set())

    refused = api.client(OWNER, *every).request(method, address, json=body)
    allowed = api.client(OWNER, needed).request(method, address, json=body)

    assert problem_code(refused) == "missing_scope"
    assert refused.json()["scope"] == needed
    assert f"`{needed}`" in refused.json()["detail"]
    assert allowed.status_code != 403


def test_a_token_is_listed_used_and_revoked(api: MemoryApi) -> None:
    user, other = api.client(OWNER), api.newcomer()
    made = other.post("/tokens", json={"label": "laptop", "scopes": ["read"]}).json()
    with api.with_token(made["token"]) as http:
        mine = http.get("/tokens").json()
        assert mine["current"] == made["id"]
        (shown,) = [token for token in mine["tokens"] if token["id"] == made["id"]]
        assert (shown["label"], shown["scopes"]) == ("laptop", ["read"])
        assert shown["last_used"] == datetime.fromtimestamp(api.world.clock.now() / 1000, UTC).date().isoformat()
        assert made["token"] not in http.get("/tokens").text

        assert problem_code(http.delete(f"/tokens/{made['id']}")) == "missing_scope"
        assert problem_code(user.delete(f"/tokens/{made['id']}")) == "unknown_token"
        assert other.delete(f"/tokens/{made['id']}").status_code == 204
        assert problem_code(http.get("/tokens")) == "unauthenticated"
    assert problem_code(other.delete(f"/tokens/{made['id']}")) == "unknown_token"


def test_an_expired_token_is_rejected(api: MemoryApi) -> None:
    now = api.world.clock.now()
    assert problem_code(api.client(OWNER, *Scope, expires_at=now).get("/sessions")) == "unauthenticated"
    assert api.client(OWNER, *Scope, expires_at=now + 60_000).get("/sessions").status_code == 200


def test_a_token_gives_no_more_than_it_has(api: MemoryApi) -> None:
    soon = api.world.clock.now() + 60_000
    http = api.client(OWNER, Scope.HANDOFF, expires_at=soon)

    assert problem_code(http.post("/tokens", json={"scopes": ["admin"]})) == "missing_scope"
    late = {"expires_at": "2999-01-01T00:00:00Z"}
    assert problem_code(http.post("/tokens", json=late)) == "invalid_request"
    assert problem_code(http.post("/tokens", json={"expires_at": "2001-01-01T00:00:00Z"})) == "invalid_request"
    made = http.post("/tokens", json={}).json()
    assert made["scopes"] == ["handoff"]
    assert datetime.fromisoformat(made["expires_at"]).timestamp() * 1000 == pytest.approx(soon, abs=1)


def test_nothing_that_a_token_makes_outlives_it(api: MemoryApi) -> None:
    soon = api.world.clock.now() + 60_000
    http = api.client(OWNER, *Scope, expires_at=soon)
    name = f"u{uuid.uuid4().hex[:8]}"

    assert problem_code(http.post("/links", json={"platform": "chat"})) == "invalid_request"
    assert problem_code(http.post("/invitations", json={"platform": "chat", "name": name})) == "invalid_request"
    made = http.post("/users", json={"id": name}).json()
    assert datetime.fromisoformat(made["expires_at"]).timestamp() * 1000 == pytest.approx(soon, abs=1)


def test_an_administrator_adds_and_removes_users(api: MemoryApi) -> None:
    admin = api.client(OWNER, Scope.ADMIN)
    name = f"u{uuid.uuid4().hex[:8]}"
    made = admin.post("/users", json={"id": name}).json()
    assert problem_code(admin.post("/users", json={"id": name})) == "user_exists"
    with api.with_token(made["token"]) as http:
        assert http.put("/sessions/theirs", json={}).status_code == 201
        (shown,) = [one for one in admin.get("/users").json()["users"] if one["id"] == name]
        assert shown == {"id": name, "tokens": 1, "accounts": {}, "homes": {}}

        assert admin.delete(f"/users/{name}").status_code == 204
        assert problem_code(http.get("/sessions")) == "unauthenticated"
    assert problem_code(admin.delete(f"/users/{name}")) == "unknown_user"
    assert name not in [one["id"] for one in admin.get("/users").json()["users"]]
