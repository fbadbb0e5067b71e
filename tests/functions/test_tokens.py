"""Tokens and users over HTTP: scopes, expiry, revocation, and the rights of an administrator."""

import uuid
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from functions.request import account_routes as request_accounts
from functions.request import link_routes as links
from functions.request import routes as request
from functions.status import account_routes as status_accounts
from functions.status import routes as status
from shared.domain.routes import Place
from shared.domain.tokens import USUAL, Scope
from shared.ports.inbound import WebhookRequest
from shared.use_cases.chat.receive_message import receive_message
from tests.support.memory_api import MemoryApi
from tests.support.problems import problem_code

ROUTES = [
    (method, route.path, module)
    for module in (request, request_accounts, links, status, status_accounts)
    for route in module.router.routes
    if isinstance(route, APIRoute) and route.path not in {"/health", "/logins", "/invitations"}
    for method in route.methods or ()
]
OF_ADMIN = {"/users", "/users/{user_id}"}
ALSO_OF_RUNNERS = {"/sessions/{session_id}/files"}
OWNER = "ada"


@pytest.mark.parametrize(("method", "path", "module"), ROUTES, ids=[f"{method} {path}" for method, path, _ in ROUTES])
def test_every_route_needs_its_scope(api: MemoryApi, method: str, path: str, module: Any) -> None:
    usual = Scope.LINK if module is links else Scope.HANDOFF if "request" in module.__name__ else Scope.READ
    needed = Scope.ADMIN if path in OF_ADMIN else usual
    body: dict[str, str] | None = {} if method in ("PUT", "POST") else None
    address = path.format(session_id="s", file_id="f", handoff_id="h", token_id="t", user_id="no-such", platform="chat")
    every = {Scope.ADMIN} if needed is Scope.READ else set(Scope) - {needed}
    if path in ALSO_OF_RUNNERS:
        every -= {Scope.RUN}
        assert problem_code(api.client(OWNER, Scope.RUN).request(method, address, json=body)) == "invalid_request"

    refused = api.client(OWNER, *every).request(method, address, json=body)
    allowed = api.client(OWNER, needed).request(method, address, json=body)

    assert problem_code(refused) == "missing_scope"
    assert refused.json()["scope"] == needed
    assert f"`{needed}`" in refused.json()["detail"]
    assert allowed.status_code != 403


@pytest.mark.parametrize("lacking", [Scope.ADMIN, Scope.LINK])
def test_an_invitation_needs_both_its_scopes(api: MemoryApi, lacking: Scope) -> None:
    body = {"platform": "chat", "name": f"u{uuid.uuid4().hex[:8]}"}
    refused = api.client(OWNER, *set(Scope) - {lacking}).post("/invitations", json=body)

    assert (problem_code(refused), refused.json()["scope"]) == ("missing_scope", lacking)
    assert api.client(OWNER, Scope.ADMIN, Scope.LINK).post("/invitations", json=body).status_code == 201


def test_a_refusal_names_the_command_that_makes_a_token(api: MemoryApi) -> None:
    refused = api.client(OWNER, *USUAL).post("/links", json={"platform": "chat"})
    assert "`handoff tokens new --scope link`" in refused.json()["detail"]


def test_a_further_token_links_accounts_only_if_that_was_asked_for(api: MemoryApi) -> None:
    first = api.client(OWNER, *Scope)
    assert first.post("/tokens", json={}).json()["scopes"] == sorted(USUAL)
    assert first.post("/tokens", json={"scopes": ["link"]}).json()["scopes"] == ["link"]


@pytest.mark.parametrize("scopes", [(Scope.ADMIN,), (Scope.ADMIN, Scope.LINK)])
def test_a_new_user_links_accounts_only_if_the_administrator_may(api: MemoryApi, scopes: tuple[Scope, ...]) -> None:
    made = api.client(OWNER, *scopes).post("/users", json={"id": f"u{uuid.uuid4().hex[:8]}"}).json()
    assert ("link" in made["scopes"]) is (Scope.LINK in scopes)


def linked(api: MemoryApi, http: httpx.Client, account: str, **body: Any) -> None:
    """Link an account with a code that this client makes."""
    code = http.post("/links", json={"platform": "chat", **body}).json()["code"]
    webhook = WebhookRequest(f"dm-{account}||{code}|{account}".encode(), {"signature": "good"})
    receive_message(api.world.services, "chat", webhook)


def test_revoking_names_the_accounts_of_a_token_and_unlinks_them(api: MemoryApi) -> None:
    first, thief = api.client(OWNER), api.client(OWNER, Scope.LINK)
    linked(api, first, "phone")
    linked(api, thief, "stolen", home=True)
    stolen = thief.get("/tokens").json()["current"]
    accounts, mine = api.world.store.accounts, ["ada-there", "phone"]
    assert accounts.home(OWNER, "chat") == Place("chat", "with-stolen")

    named = {"id": stolen, "accounts": [{"platform": "chat", "account": "stolen"}]}
    for _ in range(2):
        assert first.delete(f"/tokens/{stolen}").json() == {**named, "unlinked": False}
        assert accounts.identities(OWNER, "chat") == [*mine, "stolen"]
    assert problem_code(thief.get("/tokens")) == "unauthenticated"

    assert first.delete(f"/tokens/{stolen}?unlink=true").json() == {**named, "unlinked": True}
    assert (accounts.identities(OWNER, "chat"), accounts.home(OWNER, "chat")) == (mine, None)
    assert problem_code(first.delete(f"/tokens/{stolen}?unlink=true")) == "unknown_token"


def test_only_who_may_unlink_unlinks_by_revoking(api: MemoryApi) -> None:
    other = api.client(OWNER, Scope.LINK)
    linked(api, other, "phone")
    of_other = other.get("/tokens").json()["current"]
    refused = api.client(OWNER, *USUAL).delete(f"/tokens/{of_other}?unlink=true")
    assert (problem_code(refused), refused.json()["scope"]) == ("missing_scope", "link")
    assert other.get("/tokens").status_code == 200


def test_a_token_is_listed_used_and_revoked(api: MemoryApi) -> None:
    user, other = api.client(OWNER), api.newcomer()
    made = other.post("/tokens", json={"label": "laptop", "scopes": ["read"]}).json()
    with api.with_token(made["token"]) as http:
        http.get("/tokens")  # the day of a read is noted after its answer
        mine = http.get("/tokens").json()
        assert mine["current"] == made["id"]
        (shown,) = [token for token in mine["tokens"] if token["id"] == made["id"]]
        assert (shown["label"], shown["scopes"]) == ("laptop", ["read"])
        assert shown["last_used"] == datetime.fromtimestamp(api.world.clock.now() / 1000, UTC).date().isoformat()
        assert made["token"] not in http.get("/tokens").text

        assert problem_code(http.delete(f"/tokens/{made['id']}")) == "missing_scope"
        assert problem_code(user.delete(f"/tokens/{made['id']}")) == "unknown_token"
        nothing = {"id": made["id"], "accounts": [], "unlinked": False}
        assert other.delete(f"/tokens/{made['id']}").json() == nothing
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


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2999-01-01T00:00:00"])
def test_an_expiry_that_is_no_time_in_utc_is_refused(api: MemoryApi, at: str) -> None:
    http = api.client(OWNER)
    before = api.snapshot()
    refused = http.post("/tokens", json={"expires_at": at})
    assert problem_code(refused) == "invalid_request"
    assert "`expires_at`" in refused.json()["detail"]
    assert api.snapshot() == before


def test_the_last_moment_of_all_is_an_expiry(api: MemoryApi) -> None:
    made = api.client(OWNER).post("/tokens", json={"expires_at": "9999-12-31T23:59:59.999999Z"})
    assert made.json()["expires_at"].startswith("9999-12-31T23:59:59")


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
