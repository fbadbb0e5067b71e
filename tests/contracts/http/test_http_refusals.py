"""Every documented refusal can be provoked. The client checks each response against docs/openapi.json."""

import gzip
import hashlib
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import pytest

from functions.http.problems import CODES
from local.chats import CHATS
from local.service import LocalService
from shared.domain.routes import Place
from shared.domain.tokens import Scope
from shared.use_cases.people.tokens import issue_token
from tests.contracts.http.conftest import BUSY, CHAT, FORUM, ONE, UNCONFIGURED, UNSUPPORTED, WINDOWED, Api, new_user
from tests.support.http_contract import OPERATIONS, Operation

UNPROVOKED = {"internal", "conflict", "storage_unavailable", "copy_unfinished"}
"""An outage, a race that is lost five times in a row, a file that only a service on one machine has, and copies of seconds."""
ASKED = CHATS[1]
"""A platform whose API is called to resolve a chat."""
JSON = {"Content-Type": "application/json"}
MOVING = ("put_order_session", "post_order_messages", "post_order_handoff")
"""The calls of a taken order that moves a session."""
LARGE = {"role": "user", "content": "x" * 225_000}
OF_ADMINS = ("/users", "/invitations")
VALID: dict[str, dict[str, Any]] = {
    "put_session": {},
    "post_messages": {"epoch": 0, "after": 0, "messages": ONE},
    "post_turn": {"epoch": 0, "id": "t-1", "text": "hi"},
    "post_file": {"sha256": "0" * 64, "size": 1},
    "post_resume": {"epoch": 0},
    "put_home": {"chat": "1"},
    "post_notices": {"text": "done"},
    "post_handoff": {"platform": CHAT, "session": {"messages": ONE}},
    "post_token": {},
    "post_user": {"id": "newcomer"},
    "post_link": {"platform": CHAT},
    "post_invitation": {"name": "newcomer", "platform": CHAT},
    "post_login": {"code": f"hl_owner.{'A' * 32}", "key": "k" * 32},
    "put_runner": {"name": "laptop", "protocol": 1},
    "post_claim": {"session_id": "none", "claim_id": "c-1"},
    "post_take": {"claim_id": "c-1"},
    "post_renew": {"fence": 1},
    "post_answer": {"fence": 1, "digest": "0" * 64, "outcome": "done"},
    "put_order_session": {"session_id": "none", "fence": 1, "agent": "codex", "native_id": "n-1", "project": "parser"},
    "post_order_messages": {"fence": 1, "after": 0, "messages": ONE},
    "post_order_handoff": {"fence": 1},
    "post_begin": {"session_id": "none", "fence": 1},
    "post_events": {"session_id": "none", "fence": 1, "seq": 1},
    "post_result": {
        "session_id": "none",
        "fence": 1,
        "digest": "0" * 64,
        "outcome": "done",
        "messages": [{"role": "assistant", "content": "done"}],
        "given": [],
    },
}
"""A body for each call that takes one."""


def send(api: Api, operation: Operation, id: str = "none", body: Any = None, **more: Any) -> httpx.Response:  # noqa: A002
    """Call an operation with its ids filled in."""
    path = operation.path
    for name in ("{session_id}", "{handoff_id}", "{token_id}", "{user_id}"):
        path = path.replace(name, id)
    path = path.replace("{platform}", more.pop("platform", CHAT))
    path = path.replace("{runner_id}", more.pop("runner", id)).replace("{turn_id}", more.pop("turn", "none"))
    path = path.replace("{file_id}", more.pop("file", "none"))
    path = path.replace("{order_id}", more.pop("order", "none"))
    if "content" not in more and operation.id in VALID:
        more["json"] = {**VALID[operation.id], **(body or {})}
    return api.http.request(operation.method, path, **more)


def by_order(
    api: Api, operation: Operation, body: Any = None, *, place: Place | None = None, **changes: Any
) -> httpx.Response:
    """Call an operation of a taken order, after `changes` of the session that the order has stored."""
    moving = api.moving_order(place)
    named = {"session_id": moving["id"]}
    send(api, OPERATIONS["put_order_session"], **moving, body=named).raise_for_status()
    api.change(moving["id"], **changes)
    return send(api, operation, **moving, body=body or (named if operation.id == "put_order_session" else {}))


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
    lacking = Scope.HANDOFF if operation.path.startswith(OF_ADMINS) else Scope.ADMIN
    return send(with_scopes(api, lacking), operation)


def malformed_json(api: Api, operation: Operation) -> httpx.Response:
    return send(allowed(api, operation), operation, content=b"{not json", headers=JSON)


def body_too_large(api: Api, operation: Operation) -> httpx.Response:
    return send(allowed(api, operation), operation, content=b" " * (1024 * 1024 + 1), headers=JSON)


def encoded_body(api: Api, operation: Operation) -> httpx.Response:
    headers = {**JSON, "Content-Encoding": "gzip"}
    return send(allowed(api, operation), operation, content=gzip.compress(b"{}"), headers=headers)


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
    if operation.id in MOVING:  # the order has stored none, and this one runs elsewhere
        body = {"session_id": api.session()} if operation.id == "put_order_session" else None
        return send(api, operation, **api.moving_order(), body=body)
    if "{runner_id}" in operation.path:
        return send(api, operation, runner=api.runner())
    if operation.id == "put_session":  # creates what is missing, so only another user's is unknown
        return send(api, operation, id=Api(api.service, "other").session())
    return send(api, operation)


def allowed(api: Api, operation: Operation) -> Api:
    """With the scopes `admin` and `link` for the calls that need them."""
    return with_scopes(api, Scope.ADMIN, Scope.LINK) if operation.path.startswith(OF_ADMINS) else api


def unknown_token(api: Api, operation: Operation) -> httpx.Response:
    return send(api, operation)


def unknown_user(api: Api, operation: Operation) -> httpx.Response:
    return send(allowed(api, operation), operation)


def user_exists(api: Api, operation: Operation) -> httpx.Response:
    name = "name" if operation.id == "post_invitation" else "id"
    return send(allowed(api, operation), operation, body={name: new_user(api.service).user_id})


def login_refused(api: Api, operation: Operation) -> httpx.Response:
    return send(api, operation)


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
    if operation.id in MOVING:
        return by_order(api, operation, owner=Place(CHAT, "elsewhere"))
    if operation.id == "post_handoff":
        return api.request_handoff(api.session(), epoch=7)
    return send(api, operation, id=api.session(), body={"epoch": 7})


def out_of_sequence(api: Api, operation: Operation) -> httpx.Response:
    if operation.id == "post_handoff":
        other = {"id": api.session(), "messages": [{"role": "user", "content": "another conversation"}]}
        return send(api, operation, body={"session": other})
    call = by_order if operation.id in MOVING else partial(send, id=api.session())
    return call(api, operation, body={"after": 9})


def session_busy(api: Api, operation: Operation) -> httpx.Response:
    body = {"after": 1} if operation.id.endswith("_messages") else None
    if operation.id in MOVING:
        return by_order(api, operation, body, turn=BUSY)
    busy = api.busy_session()
    return api.request_handoff(busy) if operation.id == "post_handoff" else send(api, operation, id=busy, body=body)


def session_suspended(api: Api, operation: Operation) -> httpx.Response:
    return send(api, operation, id=api.session(suspended=True))


def handoff_in_flight(api: Api, operation: Operation) -> httpx.Response:
    if operation.id in MOVING:
        return by_order(api, operation, active_handoff="another")
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
    api = allowed(api, operation)
    if operation.id in MOVING:
        return by_order(api, operation, place=Place(name, "chat"))
    if operation.id in ("put_home", "delete_link"):
        return send(api, operation, platform=name)
    return send(api, operation, body={"platform": name})


def place_busy(api: Api, operation: Operation) -> httpx.Response:
    """The private chat of another user has that user's id."""
    (theirs, *_) = api.service.store.accounts.identities("owner", CHAT)
    if operation.id in MOVING:
        return by_order(Api(api.service, "other"), operation, place=Place(CHAT, theirs, "thread"))
    body = {"chat": theirs} if operation.id == "put_home" else {"target": theirs}
    return send(Api(api.service, "other"), operation, body=body)


def write_first(api: Api, operation: Operation) -> httpx.Response:
    silent = Place(WINDOWED.name, WINDOWED.people["stranger"])
    if operation.id in MOVING:
        return by_order(api, operation, place=silent)
    return send(api, operation, body={"platform": silent.platform, "target": silent.chat})


def not_shareable(api: Api, operation: Operation) -> httpx.Response:
    agents = [{"name": "codex", "version": "", "unattended": True}]
    runner = uuid.uuid4().hex
    api.http.put(f"/runners/{runner}", json={"name": "r", "protocol": 1, "agents": agents}).raise_for_status()
    named = {"runs_on": {"runner": runner, "agent": "codex", "native_id": "n-1"}}
    return send(api, operation, body={"session": {"messages": ONE, **named}, "share": True})


def idempotency_key_reused(api: Api, operation: Operation) -> httpx.Response:
    key = {"Idempotency-Key": uuid.uuid4().hex}
    send(api, operation, headers=key).raise_for_status()
    return send(api, operation, body={"message": "another body"}, headers=key)


def too_late(api: Api, operation: Operation) -> httpx.Response:
    return send(api, operation, id=api.completed_handoff()["id"])


def unknown_runner(api: Api, operation: Operation) -> httpx.Response:
    named = {"runs_on": {"runner": "none", "agent": "codex", "native_id": "n-1"}}
    if operation.id == "put_session":
        return send(api, operation, id=api.session(), body=named)
    if operation.id == "post_handoff":
        return send(api, operation, body={"session": {"messages": ONE, **named}})
    return send(api, operation)


def runner_revoked(api: Api, operation: Operation) -> httpx.Response:
    runner = api.runner()
    send(api, OPERATIONS["delete_runner"], runner=runner).raise_for_status()
    return send(api, operation, runner=runner)


def runner_too_old(api: Api, operation: Operation) -> httpx.Response:
    return send(api, operation, body={"protocol": 0})


def unknown_turn(api: Api, operation: Operation) -> httpx.Response:
    return send(api, operation, runner=api.runner(), body={"session_id": api.session()})


def unknown_order(api: Api, operation: Operation) -> httpx.Response:
    return send(api, operation, runner=api.runner())


def answered_order(api: Api) -> dict[str, str]:
    """An order that is done, and its runner."""
    order, runner = api.order()
    for call in ("post_take", "post_answer"):
        send(api, OPERATIONS[call], runner=runner, order=order).raise_for_status()
    return {"order": order, "runner": runner}


def ended(api: Api, operation: Operation) -> httpx.Response:
    if "{order_id}" in operation.path:
        late = {"fence": 2} if operation.id == "post_answer" else {}
        return send(api, operation, **answered_order(api), body=late)
    session_id, runner = api.machine_turn()
    send(api, OPERATIONS["post_resume"], id=session_id).raise_for_status()
    return send(api, operation, runner=runner, turn="turn", body={"session_id": session_id})


def taken(api: Api, operation: Operation) -> httpx.Response:
    if operation.id == "post_take":
        order, runner = api.order()
        send(api, operation, runner=runner, order=order).raise_for_status()
        return send(api, operation, runner=runner, order=order, body={"claim_id": "c-2"})
    session_id, runner = api.machine_turn()
    first = {"session_id": session_id, "claim_id": "first"}
    send(api, operation, runner=runner, turn="turn", body=first).raise_for_status()
    return send(api, operation, runner=runner, turn="turn", body={"session_id": session_id})


def superseded(api: Api, operation: Operation) -> httpx.Response:
    session_id, runner = api.machine_turn()
    return send(api, operation, runner=runner, turn="turn", body={"session_id": session_id})  # at a fence to come


def other_result(api: Api, operation: Operation) -> httpx.Response:
    if operation.id == "post_answer":
        return send(api, operation, **answered_order(api), body={"digest": "f" * 64})
    session_id, runner = api.machine_turn()
    body = {"session_id": session_id, "given": ["row-1"]}
    send(api, OPERATIONS["post_claim"], runner=runner, turn="turn", body={"session_id": session_id}).raise_for_status()
    send(api, operation, runner=runner, turn="turn", body=body).raise_for_status()
    return send(api, operation, runner=runner, turn="turn", body={**body, "digest": "f" * 64})


def too_many_notices(api: Api, operation: Operation) -> httpx.Response:
    api.http.put(f"/platforms/{CHAT}/home", json={"chat": FORUM}).raise_for_status()
    send(api, operation).raise_for_status()
    return send(api, operation)


def one_more_handoff(api: Api, operation: Operation) -> httpx.Response:
    """A handoff that would be in order, but for a limit."""
    if operation.id in MOVING:
        return by_order(api, operation)
    return api.request_handoff(api.session(), target=FORUM)


def too_many_open_handoffs(api: Api, operation: Operation) -> httpx.Response:
    with api.waiting_handoff():
        return one_more_handoff(api, operation)


def too_many_turns(api: Api, operation: Operation) -> httpx.Response:
    for _ in range(2):
        send(api, OPERATIONS["post_turn"], id=api.session()).raise_for_status()
    if operation.id.endswith("_handoff"):
        return one_more_handoff(api, operation)
    return send(api, operation, id=api.session())


def storage_full(api: Api, operation: Operation) -> httpx.Response:
    session_id = api.session(messages=0)
    send(api, OPERATIONS["post_messages"], id=session_id, body={"messages": [LARGE] * 4}).raise_for_status()
    if operation.id in MOVING:
        return by_order(api, operation, {"after": 1, "messages": [LARGE]})
    body = {
        "post_messages": {"after": 4, "messages": [LARGE]},
        "post_resume": {"fork": True},
        "post_handoff": {"target": FORUM, "session": {"messages": [LARGE]}},
    }
    return send(api, operation, id=session_id, body=body[operation.id])


def file_too_large(api: Api, operation: Operation) -> httpx.Response:
    return send(api, operation, id=api.session(), body={"size": 25_000_001})


def file_mismatch(api: Api, operation: Operation) -> httpx.Response:
    session_id = api.session()
    send(api, operation, id=session_id).raise_for_status()
    return send(api, operation, id=session_id, body={"size": 2})


def files_full(api: Api, operation: Operation) -> httpx.Response:
    session_id = api.session()
    if operation.id != "post_resume":
        return send(api, operation, id=session_id, body={"size": 1_000_001})
    content = bytes(600_000)
    asked = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    upload = api.http.post(f"/sessions/{session_id}/files", json=asked).raise_for_status().json()["upload"]
    httpx.put(upload["url"], content=content, headers=upload["headers"]).raise_for_status()
    return send(api, operation, id=session_id, body={"fork": True})


def unknown_file(api: Api, operation: Operation) -> httpx.Response:
    return send(api, operation, id=api.session())


PROVOKE: dict[str, Callable[[Api, Operation], httpx.Response]] = {
    provoke.__name__: provoke
    for provoke in (
        *(unauthenticated, malformed_json, body_too_large, encoded_body, invalid_request, unknown_session),
        *(unknown_handoff, moved),
        *(out_of_sequence, session_busy, session_suspended, handoff_in_flight, unknown_platform),
        *(platform_not_supported, platform_not_configured, place_busy, idempotency_key_reused, too_late),
        *(
            too_many_open_handoffs,
            too_many_turns,
            too_many_notices,
            storage_full,
            missing_scope,
            unknown_token,
            unknown_user,
        ),
        *(user_exists, chat_refused, platform_unavailable, unknown_runner, runner_revoked, runner_too_old),
        *(
            login_refused,
            unknown_turn,
            unknown_order,
            ended,
            taken,
            superseded,
            other_result,
            write_first,
            not_shareable,
            file_too_large,
            file_mismatch,
            files_full,
            unknown_file,
        ),
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


@pytest.mark.parametrize("operation", ["post_handoff", "post_notices"])
def test_a_user_without_a_home_is_refused(service: LocalService, operation: str) -> None:
    assert send(new_user(service), OPERATIONS[operation]).json()["code"] == "no_home"
