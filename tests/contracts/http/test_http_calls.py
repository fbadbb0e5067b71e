"""Every documented call succeeds as documented. The client checks each response against docs/openapi.json."""

import json
import uuid

from tests.contracts.http.conftest import CHAT, ONE, Api

JSON = {"Content-Type": "application/json"}


def test_health_needs_no_token(api: Api) -> None:
    del api.http.headers["Authorization"]

    assert api.http.get("/health").json() == {"status": "ok"}


def test_a_session_is_created_changed_read_listed_and_deleted(api: Api) -> None:
    path = f"/sessions/s-{uuid.uuid4().hex[:12]}"
    details = {"title": "Parser", "source": "codex", "cwd": "/src", "model": None}

    assert api.http.put(path, json=details).status_code == 201
    assert api.http.put(path, json={"title": "Lexer"}).status_code == 200
    assert api.http.get(path).json()["title"] == "Lexer"
    page = api.http.get("/sessions", params={"limit": 1}).json()
    assert page["sessions"][0]["source"] == "codex"
    assert api.http.delete(path).status_code == 204
    assert api.http.get(path).status_code == 404


def test_sessions_are_listed_page_by_page(api: Api) -> None:
    made = [api.session() for _ in range(2)]
    first = api.http.get("/sessions", params={"limit": 1}).json()
    second = api.http.get("/sessions", params={"limit": 1, "cursor": first["next"]}).json()

    assert [page["sessions"][0]["id"] for page in (first, second)] == made[::-1]


def test_messages_are_appended_and_read_page_by_page(api: Api) -> None:
    session_id = api.session(messages=0)
    path = f"/sessions/{session_id}/messages"
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    messages = [
        *ONE,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": [{"type": "text", "text": "a.py"}], "tool_call_id": "c1", "own_key": "\ud83d"},
    ]

    body = json.dumps({"epoch": 0, "after": 0, "messages": messages})  # ASCII escapes, as for half an emoji
    appended = api.http.post(path, content=body, headers=JSON)
    assert appended.json() == {"message_count": 3, "epoch": 0}
    page = api.http.get(path, params={"after": 1, "limit": 1}).json()
    assert (page["messages"], page["next"]) == (messages[1:2], 2)
    assert api.http.get(path, params={"after": 2}).json()["messages"] == messages[2:]


def test_a_turn_is_accepted_once(api: Api) -> None:
    path = f"/sessions/{api.session()}/turns"
    body = {"epoch": 0, "id": "t-1", "text": "go on"}

    assert [api.http.post(path, json=body).status_code for _ in range(2)] == [202, 202]


def test_a_handoff_completes_and_can_be_resumed_and_forked(api: Api) -> None:
    done = api.completed_handoff()
    resume = f"/sessions/{done['session_id']}/resume"
    key = {"Idempotency-Key": uuid.uuid4().hex}

    assert (done["state"], done["receipt"]["message_count"]) == ("completed", 1)
    copies = [api.http.post(resume, json={"fork": True}, headers=key) for _ in range(2)]
    assert [copy.status_code for copy in copies] == [201, 201]
    assert copies[0].json()["id"] == copies[1].json()["id"]
    resumed = api.http.post(resume, json={"epoch": done["session"]["epoch"]})
    assert resumed.json()["owner"] == "cli"


def test_an_inline_handoff_is_accepted_once_for_its_key(api: Api) -> None:
    body = {"platform": CHAT, "session": {"title": "Inline", "messages": ONE}, "message": "look at the tests"}
    key = {"Idempotency-Key": uuid.uuid4().hex}
    first, second = (api.http.post("/handoffs", json=body, headers=key) for _ in range(2))

    assert first.json()["id"] == second.json()["id"]
    assert first.headers["location"] == first.json()["status_url"]
    assert first.headers["retry-after"] == "1"


def test_a_waiting_handoff_is_listed_polled_and_cancelled(api: Api) -> None:
    with api.waiting_handoff() as waiting:
        handoff_id = waiting["id"]
        listed = api.http.get("/handoffs", params={"limit": 1}).json()["handoffs"]
        assert [view["id"] for view in listed] == [handoff_id]
        assert api.http.get(f"/handoffs/{handoff_id}").headers["retry-after"] == "1"
        cancelled = [api.http.delete(f"/handoffs/{handoff_id}").json()["state"] for _ in range(2)]
    assert cancelled == ["cancelled", "cancelled"]


def test_platforms_are_listed_with_homes_that_can_be_set(api: Api) -> None:
    listed = {view["name"]: view for view in api.http.get("/platforms").json()["platforms"]}
    chat = listed[CHAT]["home"]["chat"]

    assert api.http.put(f"/platforms/{CHAT}/home", json={"chat": chat}).json() == {"platform": CHAT, "chat": chat}


def test_the_doctor_reports(api: Api) -> None:
    assert {"agent", "handoffs"} <= {entry["name"] for entry in api.http.get("/doctor").json()["checks"]}
