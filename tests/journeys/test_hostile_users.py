"""Another user with a valid token: everything of mine answers as if it did not exist, and stays as it is."""

import base64
import json
import time
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.journeys.hostile import add_user, code_of, settled, written
from tests.support.desk import Desk

ONE = [{"role": "user", "content": "hi"}]
Attack = Callable[[httpx.Client, str], httpx.Response]

ON_A_SESSION: dict[str, Attack] = {
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
        "/handoffs", json={"session_id": mine, "platform": "slack", "target": "C0GENERAL", "epoch": 0}
    ),
    "hand it off inline": lambda http, mine: http.post(
        "/handoffs",
        json={"session": {"id": mine, "messages": ONE}, "platform": "slack", "target": "C0GENERAL"},
    ),
}


@pytest.mark.parametrize("attack", ON_A_SESSION)
@pytest.mark.parametrize("moved", [False, True], ids=["in the terminal", "in a thread"])
def test_a_session_is_nobody_elses(desk: Desk, attack: str, moved: bool) -> None:
    mine = desk.session(title="mine")
    if moved:
        desk.hand_over(mine)
    other = add_user(desk.service)
    before = settled(desk.service)

    answer = ON_A_SESSION[attack](other.http, mine)

    assert code_of(answer) == "unknown_session"
    assert mine not in answer.text or f"no session {mine}" in answer.text
    strangers = {key: item for key, item in written(desk.service).items() if before.get(key) != item}
    assert strangers == {}
    assert other.http.get("/sessions").json()["sessions"] == []


def test_a_handoff_is_nobody_elses(desk: Desk) -> None:
    key = uuid.uuid4().hex
    done = desk.wait(desk.request(desk.session(), key=key).json()["id"])
    other = add_user(desk.service)

    assert code_of(other.http.get(f"/handoffs/{done['id']}")) == "unknown_handoff"
    assert code_of(other.http.delete(f"/handoffs/{done['id']}")) == "unknown_handoff"
    assert other.http.get("/handoffs").json()["handoffs"] == []
    assert other.http.get("/handoffs", params={"session_id": done["session_id"]}).json()["handoffs"] == []

    theirs = other.request(other.session(), "slack", key=key, target="C0GENERAL")
    assert theirs.status_code == 202
    assert theirs.json()["id"] != done["id"]
    assert other.wait(theirs.json()["id"])["state"] == "completed"


def test_a_cursor_of_mine_shows_another_user_nothing_of_mine(desk: Desk) -> None:
    for _ in range(3):
        desk.session()
    cursor = desk.http.get("/sessions?limit=1").json()["next"]
    other = add_user(desk.service)
    own = {other.session(), other.session()}

    shown = other.http.get("/sessions", params={"cursor": cursor}).json()["sessions"]

    assert {session["id"] for session in shown} <= own


@pytest.mark.parametrize(
    "inside", ["1 ", "-5 x", "9" * 60 + " x", "1 " + "y" * 3000, "nan x", "1 \x00", "\u0663 x", "1 x\n", "1  x", "x"]
)
def test_a_cursor_that_we_did_not_give_is_refused(desk: Desk, inside: str) -> None:
    cursor = base64.urlsafe_b64encode(inside.encode()).decode()

    assert code_of(desk.http.get("/sessions", params={"cursor": cursor})) == "invalid_request"


def test_a_cursor_that_names_no_session_is_a_place_in_the_list(desk: Desk) -> None:
    desk.session()
    cursor = base64.urlsafe_b64encode(f"{int(time.time() * 1000) + 10_000} zzz".encode()).decode()

    assert desk.http.get("/sessions", params={"cursor": cursor}).json()["sessions"]


def test_who_chose_an_id_first_keeps_it_and_the_second_is_told_nothing(desk: Desk) -> None:
    other, wanted = add_user(desk.service), f"shared-{uuid.uuid4().hex[:8]}"
    other.http.put(f"/sessions/{wanted}", json={"title": "theirs"}).raise_for_status()

    assert code_of(desk.http.put(f"/sessions/{wanted}", json={"title": "mine"})) == "unknown_session"
    inline = {"session": {"id": wanted, "messages": ONE}, "platform": "telegram"}
    assert code_of(desk.http.post("/handoffs", json=inline)) == "unknown_session"
    assert other.see(wanted)["title"] == "theirs"
    assert other.see(wanted)["message_count"] == 0


INLINE_REFUSALS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "another conversation": ({"messages": [{"role": "user", "content": "other"}]}, {}, "out_of_sequence"),
    "an old epoch": ({}, {"epoch": 3}, "moved"),
    "an unknown platform": ({}, {"platform": "pigeon"}, "unknown_platform"),
    "a broken message": ({"messages": [{"role": "user", "content": float("inf")}]}, {}, "invalid_request"),
}


@pytest.mark.parametrize("name", INLINE_REFUSALS)
def test_a_whole_session_that_is_refused_leaves_nothing_behind(desk: Desk, name: str) -> None:
    more, around, code = INLINE_REFUSALS[name]
    kept = desk.session(count=0)
    desk.http.post(f"/sessions/{kept}/messages", json={"epoch": 0, "after": 0, "messages": ONE}).raise_for_status()
    before = settled(desk.service)
    for session_id in (kept, f"fresh-{uuid.uuid4().hex[:8]}"):
        session = {"id": session_id, "title": "renamed", "messages": ONE, **more}
        body = {"session": session, "platform": "telegram", "target": "-1001000000001", **around}
        if session_id != kept and code == "out_of_sequence":
            continue  # a fresh one takes any conversation
        expected = "unknown_session" if session_id != kept and code == "moved" else code
        raw = json.dumps(body).encode()  # httpx would refuse what is no JSON
        answer = desk.http.post("/handoffs", content=raw, headers={"Content-Type": "application/json"})
        assert code_of(answer) == expected

    assert written(desk.service) == before


def test_the_same_key_with_another_conversation_is_refused_and_stores_nothing(desk: Desk) -> None:
    key = {"Idempotency-Key": uuid.uuid4().hex}
    body = {"session": {"messages": ONE}, "platform": "telegram", "target": "-1001000000001"}
    first = desk.http.post("/handoffs", json=body, headers=key)
    assert desk.wait(first.json()["id"])["state"] == "completed"
    before = settled(desk.service)

    for changed in (
        {"messages": [*ONE, *ONE]},
        {"messages": ONE, "title": "another"},
        {"messages": ONE, "id": f"fresh-{uuid.uuid4().hex[:8]}"},
    ):
        answer = desk.http.post("/handoffs", json={**body, "session": changed}, headers=key)
        assert code_of(answer) == "idempotency_key_reused"

    assert desk.http.post("/handoffs", json=body, headers=key).json()["id"] == first.json()["id"]
    assert written(desk.service) == before
