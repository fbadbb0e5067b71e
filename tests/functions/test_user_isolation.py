"""To another user with a valid token, my sessions and handoffs do not exist."""

import base64
import json
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.support.memory_api import MemoryApi
from tests.support.problems import problem_code

ONE = [{"role": "user", "content": "hi"}]
PLATFORM, CHAT = "chat", "home"
OWNER = "ada"
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
    "announce a file": lambda http, mine: http.post(f"/sessions/{mine}/files", json={"sha256": "0" * 64, "size": 1}),
    "read a file": lambda http, mine: http.get(f"/sessions/{mine}/files/{'0' * 64}"),
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
def test_another_user_cannot_access_a_session(api: MemoryApi, action: str, moved: bool) -> None:
    mine = "s-1"
    api.world.moved(mine) if moved else api.world.session(mine, ONE)
    other = api.newcomer()
    before = api.snapshot()

    answer = ON_A_SESSION[action](other, mine)

    assert problem_code(answer) == "unknown_session"
    assert mine not in answer.text or f"no session {mine}" in answer.text
    assert api.snapshot() == before
    assert other.get("/sessions").json()["sessions"] == []


def test_another_user_cannot_access_a_handoff(api: MemoryApi) -> None:
    key = {"Idempotency-Key": uuid.uuid4().hex}
    body = {"session": {"messages": ONE}, "platform": PLATFORM}
    accepted, other = api.client(OWNER).post("/handoffs", json=body, headers=key), api.newcomer()
    api.process(accepted)
    done = accepted.json()

    assert problem_code(other.get(f"/handoffs/{done['id']}")) == "unknown_handoff"
    assert problem_code(other.delete(f"/handoffs/{done['id']}")) == "unknown_handoff"
    assert other.get("/handoffs").json()["handoffs"] == []
    assert other.get("/handoffs", params={"session_id": done["session_id"]}).json()["handoffs"] == []

    theirs = other.post("/handoffs", json=body, headers=key)
    assert theirs.status_code == 202
    assert theirs.json()["id"] != done["id"]
    api.process(theirs)
    assert other.get(f"/handoffs/{theirs.json()['id']}").json()["state"] == "completed"


def test_a_cursor_does_not_reveal_another_users_sessions(api: MemoryApi) -> None:
    for number in range(3):
        api.world.session(f"s-{number}")
    cursor = api.client(OWNER).get("/sessions?limit=1").json()["next"]
    other, own = api.newcomer(), {"theirs-1", "theirs-2"}
    for session_id in own:
        other.put(f"/sessions/{session_id}", json={}).raise_for_status()

    shown = other.get("/sessions", params={"cursor": cursor}).json()["sessions"]

    assert {session["id"] for session in shown} <= own


@pytest.mark.parametrize(
    "inside", ["1 ", "-5 x", "9" * 60 + " x", "1 " + "y" * 3000, "nan x", "1 \x00", "\u0663 x", "1 x\n", "1  x", "x"]
)
def test_a_forged_cursor_is_rejected(api: MemoryApi, inside: str) -> None:
    cursor = base64.urlsafe_b64encode(inside.encode()).decode()

    assert problem_code(api.client(OWNER).get("/sessions", params={"cursor": cursor})) == "invalid_request"


def test_a_cursor_of_an_unknown_session_is_valid(api: MemoryApi) -> None:
    api.world.session()
    cursor = base64.urlsafe_b64encode(f"{api.world.clock.now() + 10_000} zzz".encode()).decode()

    assert api.client(OWNER).get("/sessions", params={"cursor": cursor}).json()["sessions"]


def test_a_session_id_belongs_to_its_first_user(api: MemoryApi) -> None:
    user, other, wanted = api.client(OWNER), api.newcomer(), "shared"
    other.put(f"/sessions/{wanted}", json={"title": "theirs"}).raise_for_status()

    assert problem_code(user.put(f"/sessions/{wanted}", json={"title": "mine"})) == "unknown_session"
    inline = {"session": {"id": wanted, "messages": ONE}, "platform": PLATFORM}
    assert problem_code(user.post("/handoffs", json=inline)) == "unknown_session"
    kept = other.get(f"/sessions/{wanted}").json()
    assert (kept["title"], kept["message_count"]) == ("theirs", 0)


REJECTED_INLINE: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "another conversation": ({"messages": [{"role": "user", "content": "other"}]}, {}, "out_of_sequence"),
    "an old epoch": ({}, {"epoch": 3}, "moved"),
    "an unknown platform": ({}, {"platform": "pigeon"}, "unknown_platform"),
    "a broken message": ({"messages": [{"role": "user", "content": float("inf")}]}, {}, "invalid_request"),
}


@pytest.mark.parametrize("name", REJECTED_INLINE)
def test_a_rejected_inline_session_writes_nothing(api: MemoryApi, name: str) -> None:
    more, around, code = REJECTED_INLINE[name]
    user, kept = api.client(OWNER), api.world.session("s-1", ONE).id
    before = api.snapshot()
    for session_id in (kept, f"fresh-{uuid.uuid4().hex[:8]}"):
        session = {"id": session_id, "title": "renamed", "messages": ONE, **more}
        body = {"session": session, "platform": PLATFORM, "target": CHAT, **around}
        if session_id != kept and code == "out_of_sequence":
            continue  # a new session accepts any messages
        expected = "unknown_session" if session_id != kept and code == "moved" else code
        raw = json.dumps(body).encode()  # httpx refuses to encode infinity
        answer = user.post("/handoffs", content=raw, headers={"Content-Type": "application/json"})
        assert problem_code(answer) == expected

    assert api.snapshot() == before


def test_a_reused_key_with_another_session_writes_nothing(api: MemoryApi) -> None:
    key, user = {"Idempotency-Key": uuid.uuid4().hex}, api.client(OWNER)
    body = {"session": {"messages": ONE}, "platform": PLATFORM, "target": CHAT}
    first = user.post("/handoffs", json=body, headers=key)
    api.process(first)
    before = api.snapshot()

    for changed in (
        {"messages": [*ONE, *ONE]},
        {"messages": ONE, "title": "another"},
        {"messages": ONE, "id": f"fresh-{uuid.uuid4().hex[:8]}"},
    ):
        answer = user.post("/handoffs", json={**body, "session": changed}, headers=key)
        assert problem_code(answer) == "idempotency_key_reused"

    assert user.post("/handoffs", json=body, headers=key).json()["id"] == first.json()["id"]
    assert api.snapshot() == before
