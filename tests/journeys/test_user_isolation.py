"""To another user with a valid token, my sessions and handoffs do not exist."""

import base64
import json
import time
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.support.api_user import ApiUser, add_user
from tests.support.platform_cases import DEFAULT_PLATFORM, SHARED_CHATS
from tests.support.problems import problem_code
from tests.support.snapshots import settled_snapshot, snapshot

ONE = [{"role": "user", "content": "hi"}]
PLATFORM = DEFAULT_PLATFORM
CHAT = SHARED_CHATS[PLATFORM]
Request = Callable[[httpx.Client, str], httpx.Response]

ON_A_SESSION: dict[str, Request] = {
    "read it": lambda http, mine: http.get(f"/sessions/{mine}"),
    "read its messages": lambda http, mine: http.get(f"/sessions/{mine}/messages"),
    "rename it": lambda http, mine: http.put(f"/sessions/{mine}", json={"title": "theirs"}),
    "add messages": lambda http, mine: http.post(
        f"/sessions/{mine}/messages", json={"epoch": 0, "after": 4, "messages": ONE}
    ),
    "take a turn": lambda http, mine: http.post(
        f"/sessions/{mine}/turns", json={"epoch": 0, "id": "t1", "text": "hello"}
    ),
    "resume it": lambda http, mine: http.post(f"/sessions/{mine}/resume", json={"epoch": 0}),
    "fork it": lambda http, mine: http.post(f"/sessions/{mine}/resume", json={"fork": True}),
    "delete it": lambda http, mine: http.delete(f"/sessions/{mine}"),
    "hand it off": lambda http, mine: http.post(
        "/handoffs", json={"session_id": mine, "platform": PLATFORM, "target": CHAT, "epoch": 0}
    ),
    "hand it off inline": lambda http, mine: http.post(
        "/handoffs",
        json={"session": {"id": mine, "messages": ONE}, "platform": PLATFORM, "target": CHAT},
    ),
}


@pytest.mark.parametrize("action", ON_A_SESSION)
@pytest.mark.parametrize("moved", [False, True], ids=["in the terminal", "in a thread"])
def test_another_user_cannot_access_a_session(user: ApiUser, action: str, moved: bool) -> None:
    mine = user.create_session(title="mine")
    if moved:
        user.hand_off(mine)
    other = add_user(user.service)
    before = settled_snapshot(user.service)

    answer = ON_A_SESSION[action](other.http, mine)

    assert problem_code(answer) == "unknown_session"
    assert mine not in answer.text or f"no session {mine}" in answer.text
    assert snapshot(user.service) == before
    assert other.http.get("/sessions").json()["sessions"] == []


def test_another_user_cannot_access_a_handoff(user: ApiUser) -> None:
    key = uuid.uuid4().hex
    done = user.wait_for_handoff(user.request_handoff(user.create_session(), key=key).json()["id"])
    other = add_user(user.service)

    assert problem_code(other.http.get(f"/handoffs/{done['id']}")) == "unknown_handoff"
    assert problem_code(other.http.delete(f"/handoffs/{done['id']}")) == "unknown_handoff"
    assert other.http.get("/handoffs").json()["handoffs"] == []
    assert other.http.get("/handoffs", params={"session_id": done["session_id"]}).json()["handoffs"] == []

    theirs = other.request_handoff(other.create_session(), PLATFORM, key=key, target=CHAT)
    assert theirs.status_code == 202
    assert theirs.json()["id"] != done["id"]
    assert other.wait_for_handoff(theirs.json()["id"])["state"] == "completed"


def test_a_cursor_does_not_reveal_another_users_sessions(user: ApiUser) -> None:
    for _ in range(3):
        user.create_session()
    cursor = user.http.get("/sessions?limit=1").json()["next"]
    other = add_user(user.service)
    own = {other.create_session(), other.create_session()}

    shown = other.http.get("/sessions", params={"cursor": cursor}).json()["sessions"]

    assert {session["id"] for session in shown} <= own


@pytest.mark.parametrize(
    "inside", ["1 ", "-5 x", "9" * 60 + " x", "1 " + "y" * 3000, "nan x", "1 \x00", "\u0663 x", "1 x\n", "1  x", "x"]
)
def test_a_forged_cursor_is_rejected(user: ApiUser, inside: str) -> None:
    cursor = base64.urlsafe_b64encode(inside.encode()).decode()

    assert problem_code(user.http.get("/sessions", params={"cursor": cursor})) == "invalid_request"


def test_a_cursor_of_an_unknown_session_is_valid(user: ApiUser) -> None:
    user.create_session()
    cursor = base64.urlsafe_b64encode(f"{int(time.time() * 1000) + 10_000} zzz".encode()).decode()

    assert user.http.get("/sessions", params={"cursor": cursor}).json()["sessions"]


def test_a_session_id_belongs_to_its_first_user(user: ApiUser) -> None:
    other, wanted = add_user(user.service), f"shared-{uuid.uuid4().hex[:8]}"
    other.http.put(f"/sessions/{wanted}", json={"title": "theirs"}).raise_for_status()

    assert problem_code(user.http.put(f"/sessions/{wanted}", json={"title": "mine"})) == "unknown_session"
    inline = {"session": {"id": wanted, "messages": ONE}, "platform": PLATFORM}
    assert problem_code(user.http.post("/handoffs", json=inline)) == "unknown_session"
    assert other.session(wanted)["title"] == "theirs"
    assert other.session(wanted)["message_count"] == 0


REJECTED_INLINE: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "another conversation": ({"messages": [{"role": "user", "content": "other"}]}, {}, "out_of_sequence"),
    "an old epoch": ({}, {"epoch": 3}, "moved"),
    "an unknown platform": ({}, {"platform": "pigeon"}, "unknown_platform"),
    "a broken message": ({"messages": [{"role": "user", "content": float("inf")}]}, {}, "invalid_request"),
}


@pytest.mark.parametrize("name", REJECTED_INLINE)
def test_a_rejected_inline_session_writes_nothing(user: ApiUser, name: str) -> None:
    more, around, code = REJECTED_INLINE[name]
    kept = user.create_session(count=0)
    user.http.post(f"/sessions/{kept}/messages", json={"epoch": 0, "after": 0, "messages": ONE}).raise_for_status()
    before = settled_snapshot(user.service)
    for session_id in (kept, f"fresh-{uuid.uuid4().hex[:8]}"):
        session = {"id": session_id, "title": "renamed", "messages": ONE, **more}
        body = {"session": session, "platform": PLATFORM, "target": CHAT, **around}
        if session_id != kept and code == "out_of_sequence":
            continue  # a new session accepts any messages
        expected = "unknown_session" if session_id != kept and code == "moved" else code
        raw = json.dumps(body).encode()  # httpx refuses to encode infinity
        answer = user.http.post("/handoffs", content=raw, headers={"Content-Type": "application/json"})
        assert problem_code(answer) == expected

    assert snapshot(user.service) == before


def test_a_reused_key_with_another_session_writes_nothing(user: ApiUser) -> None:
    key = {"Idempotency-Key": uuid.uuid4().hex}
    body = {"session": {"messages": ONE}, "platform": PLATFORM, "target": CHAT}
    first = user.http.post("/handoffs", json=body, headers=key)
    assert user.wait_for_handoff(first.json()["id"])["state"] == "completed"
    before = settled_snapshot(user.service)

    for changed in (
        {"messages": [*ONE, *ONE]},
        {"messages": ONE, "title": "another"},
        {"messages": ONE, "id": f"fresh-{uuid.uuid4().hex[:8]}"},
    ):
        answer = user.http.post("/handoffs", json={**body, "session": changed}, headers=key)
        assert problem_code(answer) == "idempotency_key_reused"

    assert user.http.post("/handoffs", json=body, headers=key).json()["id"] == first.json()["id"]
    assert snapshot(user.service) == before
