"""Every documented refusal can be provoked. The client checks each response against docs/openapi.json."""

import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from functions.http.problems import CODES
from local.chats import CHATS
from local.service import LocalService
from shared.domain.tokens import Scope
from shared.use_cases.people.tokens import issue_token
from tests.contracts.http.conftest import CHAT, FORUM, ONE, UNCONFIGURED, UNSUPPORTED, Api, new_user
from tests.support.http_contract import OPERATIONS, Operation

UNPROVOKED = {"internal", "conflict"}
"""An outage, and a race that is lost five times in a row."""
ASKED = CHATS[1]
"""A platform whose API is called to resolve a chat."""
JSON = {"Content-Type": "application/json"}
VALID: dict[str, dict[str, Any]] = {
    "put_session": {},
    "post_messages": {"epoch": 0, "after": 0, "messages": ONE},
    "post_turn": {"epoch": 0, "id": "t-1", "text": "hi"},
    "post_resume": {"epoch": 0},
    "put_home": {"chat": "1"},
    "post_handoff": {"platform": CHAT, "session": {"messages": ONE}},
    "post_token": {},
    "post_user": {"id": "newcomer"},
}
"""A body for each call that takes one."""


def send(api: Api, operation: Operation, id: str = "none", body: Any = None, **more: Any) -> httpx.Response:  # noqa: A002
    """Call an operation with its ids filled in."""
    path = operation.path
    for name in ("{session_id}", "{handoff_id}", "{token_id}", "{user_id}"):
        path = path.replace(name, id)
    path = path.replace("{platform}", more.pop("platform", CHAT))
    if "content" not in more and operation.id in VALID:
        more["json"] = {**VALID[operation.id], **(body or {})}
    return api.http.request(operation.method, path, **more)


def unauthenticated(api: Api, operation: Operation) -> httpx.Response:
    api.http.headers["Authorization"] = "Bearer ho_owner." + "A" * 43
    return send(api, operation, content=b"{not json", headers=JSON)


def with_scopes(api: Api, *scopes: Scope) -> Api:
    """The same user with a token that has only these scopes."""
    issued = issue_token(api.service.store.accounts, api.user_id, now=1, scopes=frozenset(scopes))
    other = Api(api.service, api.user_id)
    other.http.headers["Authorization"] = f"Bearer {issued.plaintext}"
    return other


def missing_scope(api: Api, operation: Operation) -> httpx.Response:
    lacking = Scope.HANDOFF if operation.path.startswith("/users") else Scope.ADMIN
    return send(with_scopes(api, lacking), operation)


def malformed_json(api: Api, operation: Operation) -> httpx.Response:
    return send(allowed(api, operation), operation, content=b"{not json", headers=JSON)


def body_too_large(api: Api, operation: Operation) -> httpx.Response:
    return send(allowed(api, operation), operation, content=b" " * (1024 * 1024 + 1), headers=JSON)


def invalid_request(api: Api, operation: Operation) -> httpx.Response:
    api = allowed(api, operation)
    if operation.id in VALID:
        return send(api, operation, body={"misspelt": True})
    if "_id}" in operation.path:
        return send(api, operation, id="not%20an%20id")
    return send(api, operation, params={"limit": 0})


def unknown_session(api: Api, operation: Operation) -> httpx.Response:
    if operation.id == "post_handoff":
        return api.request_handoff("none")
    if operation.id == "put_session":  # creates what is missing, so only another user's is unknown
        return send(api, operation, id=Api(api.service, "other").session())
    return send(api, operation)


def allowed(api: Api, operation: Operation) -> Api:
    """With the scope `admin` for the calls that need it."""
    return with_scopes(api, Scope.ADMIN) if operation.path.startswith("/users") else api


def unknown_token(api: Api, operation: Operation) -> httpx.Response:
    return send(api, operation)


def unknown_user(api: Api, operation: Operation) -> httpx.Response:
    return send(allowed(api, operation), operation)


def user_exists(api: Api, operation: Operation) -> httpx.Response:
    return send(allowed(api, operation), operation, body={"id": new_user(api.service).user_id})


def chat_refused(api: Api, operation: Operation) -> httpx.Response:
    return send(api, operation, platform=ASKED.name, body={"chat": f"{ASKED.homes['owner']}0"})


def platform_unavailable(api: Api, operation: Operation) -> httpx.Response:
    api.service.simulator.arm(ASKED.name, "server_error", 20, on="read")
    try:
        return send(api, operation, platform=ASKED.name, body={"chat": ASKED.homes["owner"]})
    finally:
        api.service.simulator.arm(ASKED.name, "server_error", 0)


def unknown_handoff(api: Api, operation: Operation) -> httpx.Response:
    return send(api, operation)


def moved(api: Api, operation: Operation) -> httpx.Response:
    if operation.id == "post_handoff":
        return api.request_handoff(api.session(), epoch=7)
    return send(api, operation, id=api.session(), body={"epoch": 7})


def out_of_sequence(api: Api, operation: Operation) -> httpx.Response:
    if operation.id == "post_handoff":
        other = {"id": api.session(), "messages": [{"role": "user", "content": "another conversation"}]}
        return send(api, operation, body={"session": other})
    return send(api, operation, id=api.session(), body={"after": 9})


def session_busy(api: Api, operation: Operation) -> httpx.Response:
    busy = api.busy_session()
    if operation.id == "post_handoff":
        return api.request_handoff(busy)
    return send(api, operation, id=busy, body={"after": 1} if operation.id == "post_messages" else None)


def session_suspended(api: Api, operation: Operation) -> httpx.Response:
    return send(api, operation, id=api.session(suspended=True))


def handoff_in_flight(api: Api, operation: Operation) -> httpx.Response:
    with api.waiting_handoff() as waiting:
        session_id = waiting["session_id"]
        return (
            api.request_handoff(session_id) if operation.id == "post_handoff" else send(api, operation, id=session_id)
        )


def unknown_platform(api: Api, operation: Operation) -> httpx.Response:
    return on_platform(api, operation, "pigeon")


def platform_not_supported(api: Api, operation: Operation) -> httpx.Response:
    return on_platform(api, operation, UNSUPPORTED)


def platform_not_configured(api: Api, operation: Operation) -> httpx.Response:
    return on_platform(api, operation, UNCONFIGURED.name)


def on_platform(api: Api, operation: Operation, name: str) -> httpx.Response:
    if operation.id == "put_home":
        return send(api, operation, platform=name)
    return send(api, operation, body={"platform": name})


def place_busy(api: Api, operation: Operation) -> httpx.Response:
    """The private chat of another user has that user's id."""
    (theirs, *_) = api.service.store.accounts.identities("owner", CHAT)
    body = {"chat": theirs} if operation.id == "put_home" else {"target": theirs}
    return send(Api(api.service, "other"), operation, body=body)


def idempotency_key_reused(api: Api, operation: Operation) -> httpx.Response:
    key = {"Idempotency-Key": uuid.uuid4().hex}
    send(api, operation, headers=key).raise_for_status()
    return send(api, operation, body={"message": "another body"}, headers=key)


def too_late(api: Api, operation: Operation) -> httpx.Response:
    return send(api, operation, id=api.completed_handoff()["id"])


def too_many_open_handoffs(api: Api, _: Operation) -> httpx.Response:
    with api.waiting_handoff():
        return api.request_handoff(api.session(), target=FORUM)


def too_many_turns(api: Api, operation: Operation) -> httpx.Response:
    for _ in range(2):
        send(api, OPERATIONS["post_turn"], id=api.session()).raise_for_status()
    if operation.id == "post_handoff":
        return api.request_handoff(api.session(), target=FORUM)
    return send(api, operation, id=api.session())


def storage_full(api: Api, operation: Operation) -> httpx.Response:
    large = {"role": "user", "content": "x" * 225_000}
    session_id = api.session(messages=0)
    send(api, OPERATIONS["post_messages"], id=session_id, body={"messages": [large] * 4}).raise_for_status()
    body = {
        "post_messages": {"after": 4, "messages": [large]},
        "post_resume": {"fork": True},
        "post_handoff": {"target": FORUM, "session": {"messages": [large]}},
    }
    return send(api, operation, id=session_id, body=body[operation.id])


PROVOKE: dict[str, Callable[[Api, Operation], httpx.Response]] = {
    provoke.__name__: provoke
    for provoke in (
        *(unauthenticated, malformed_json, body_too_large, invalid_request, unknown_session, unknown_handoff, moved),
        *(out_of_sequence, session_busy, session_suspended, handoff_in_flight, unknown_platform),
        *(platform_not_supported, platform_not_configured, place_busy, idempotency_key_reused, too_late),
        *(too_many_open_handoffs, too_many_turns, storage_full, missing_scope, unknown_token, unknown_user),
        *(user_exists, chat_refused, platform_unavailable),
    )
}
DOCUMENTED = [
    (operation.id, code)
    for operation in OPERATIONS.values()
    for code in operation.codes
    if code not in UNPROVOKED | {"no_home"}
]


@pytest.mark.parametrize(("operation", "code"), [case for case in DOCUMENTED if CODES[case[1]].status != 429])
def test_a_documented_refusal_happens(api: Api, operation: str, code: str) -> None:
    assert PROVOKE[code](api, OPERATIONS[operation]).json()["code"] == code


@pytest.mark.parametrize(("operation", "code"), [case for case in DOCUMENTED if CODES[case[1]].status == 429])
def test_a_documented_limit_is_reached(limited_service: LocalService, operation: str, code: str) -> None:
    answer = PROVOKE[code](new_user(limited_service), OPERATIONS[operation])

    assert answer.json()["code"] == code
    assert int(answer.headers["retry-after"]) > 0


def test_a_user_without_a_home_is_refused(service: LocalService) -> None:
    assert send(new_user(service), OPERATIONS["post_handoff"]).json()["code"] == "no_home"
