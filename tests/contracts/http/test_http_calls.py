"""Every documented call succeeds as documented. The client checks each response against docs/openapi.json."""

import hashlib
import json
import re
import uuid

import httpx

from local.chats import CHATS
from local.service import LocalService
from shared.domain.messages import digest
from shared.domain.tokens import Scope
from shared.use_cases.people.tokens import issue_token
from tests.contracts.http.conftest import CHAT, FORUM, ONE, Api, new_user
from tests.support.waiting import eventually

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


def test_half_an_emoji_in_details_is_replaced(api: Api) -> None:
    session_id = api.session()
    details = {"title": " half \ud83d", "source": "\ude80", "cwd": "/caf\udce9", "model": "\ud83d"}

    changed = api.http.put(f"/sessions/{session_id}", content=json.dumps(details), headers=JSON)

    assert changed.status_code == 200
    read = api.http.get(f"/sessions/{session_id}").json()
    assert [read[name] for name in details] == ["half \ufffd", "\ufffd", "/caf\ufffd", "\ufffd"]


def test_half_an_emoji_in_a_turn_is_replaced(api: Api) -> None:
    session_id = api.session()
    body = json.dumps({"epoch": 0, "id": "t-1", "text": "half \ud83d"})

    assert api.http.post(f"/sessions/{session_id}/turns", content=body, headers=JSON).status_code == 202

    path = f"/sessions/{session_id}/messages"
    said = eventually(lambda: [message["content"] for message in api.http.get(path).json()["messages"]][1:3])
    assert said[0] == "half \ufffd"


def test_half_an_emoji_in_a_transcript_is_handed_over(api: Api) -> None:
    messages = [{"role": "user", "content": "half \ud83d"}]
    body = {"platform": CHAT, "session": {"title": "half \ud83d", "messages": messages}, "message": "half \ud83d"}

    accepted = api.http.post("/handoffs", content=json.dumps(body), headers=JSON)

    assert accepted.status_code == 202
    done = api.ended_handoff(accepted.json()["id"])
    assert (done["state"], done["receipt"]["digest"]) == ("completed", digest(messages))
    stored = api.http.get(f"/sessions/{done['session_id']}/messages").json()["messages"]
    assert stored[0] == messages[0]


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
        view = api.http.get(f"/handoffs/{handoff_id}", params={"wait": 25, "seen": waiting["version"]}).json()
        assert view["poll_after_ms"] > 0  # not held: a held request would be paid for
        cancelled = [api.http.delete(f"/handoffs/{handoff_id}").json()["state"] for _ in range(2)]
    assert cancelled == ["cancelled", "cancelled"]


def test_platforms_are_listed_with_homes_that_can_be_set(api: Api) -> None:
    listed = {view["name"]: view for view in api.http.get("/platforms").json()["platforms"]}
    chat = listed[CHAT]["home"]["chat"]

    assert api.http.put(f"/platforms/{CHAT}/home", json={"chat": chat}).json() == {"platform": CHAT, "chat": chat}


def test_a_notice_is_accepted_and_its_retry_too(api: Api) -> None:
    api = new_user(api.service)
    api.http.put(f"/platforms/{CHAT}/home", json={"chat": FORUM}).raise_for_status()
    key = {"Idempotency-Key": "n-1"}
    first, again = (api.http.post("/notices", json={"text": "done", "platform": CHAT}, headers=key) for _ in range(2))
    assert (first.status_code, first.json()) == (202, again.json())
    assert (first.json()["chat"], first.json()["link"] != "") == (FORUM, True)


def test_the_doctor_reports(api: Api) -> None:
    assert {"agent", "handoffs"} <= {entry["name"] for entry in api.http.get("/doctor").json()["checks"]}


def test_an_account_is_linked_by_a_code_and_unlinked(service: LocalService) -> None:
    api, chat = new_user(service), CHATS[0]
    made = api.http.post("/links", json={"platform": chat.name}).json()
    assert (made["state"], made["user"], made["invitation"]) == ("open", api.user_id, False)

    person = chat.people["stranger"]
    home = next(each.id for each in chat.chats if each.people == ("stranger",))
    service.simulator.say(chat.name, home, made["text"], user="stranger")

    (seen,) = eventually(lambda: [one for one in api.http.get("/links").json()["links"] if one["state"] == "linked"])
    assert (seen["id"], seen["account"], seen["home"]) == (made["id"], person, home)
    (shown,) = [one for one in api.http.get("/platforms").json()["platforms"] if one["name"] == chat.name]
    assert (shown["home"], shown["accounts"]) == ({"chat": home}, [person])
    assert api.http.delete(f"/links/{chat.name}").status_code == 204
    assert service.store.accounts.user_of(chat.name, person) is None


def test_an_invited_person_logs_in_once(service: LocalService, api: Api) -> None:
    admin = issue_token(service.store.accounts, api.user_id, now=1, scopes=frozenset(Scope))
    api.http.headers["Authorization"] = f"Bearer {admin.plaintext}"
    chat, name = CHATS[1], f"guest{uuid.uuid4().hex[:6]}"
    made = api.http.post("/invitations", json={"name": name, "platform": chat.name}).json()
    assert (made["user"], made["invitation"]) == (name, True)
    home = next(each.id for each in chat.chats if each.people == ("stranger",))
    service.simulator.say(chat.name, home, made["text"], user="stranger")
    said = eventually(lambda: re.search(r"/login#(hl_[\w.-]+)", json.dumps(service.simulator.state())))

    del api.http.headers["Authorization"]
    body = {"code": said[1], "key": uuid.uuid4().hex}
    first = api.http.post("/logins", json=body)
    assert (first.status_code, first.json()["user"]) == (201, name)
    assert api.http.post("/logins", json=body).json()["token"] == first.json()["token"]
    again = api.http.post("/logins", json={**body, "key": uuid.uuid4().hex})
    assert again.json()["code"] == "login_refused"
    api.http.headers["Authorization"] = f"Bearer {first.json()['token']}"
    assert api.http.get("/tokens").json()["current"] == first.json()["id"]
    service.store.accounts.unlink(name, chat.name)


def test_a_file_is_announced_uploaded_read_and_copied(api: Api) -> None:
    session_id, content = api.session(), b"a picture, as it were"
    path = f"/sessions/{session_id}/files"
    digest_of_file = hashlib.sha256(content).hexdigest()
    asked = {"sha256": digest_of_file, "size": len(content), "type": "image/png", "name": "../a b.png"}

    announced = api.http.post(path, json=asked).json()
    assert (announced["id"], announced["name"]) == (digest_of_file, "a b.png")
    upload = announced["upload"]
    assert httpx.put(upload["url"], content=content, headers=upload["headers"]).is_success
    assert api.http.post(path, json=asked).json()["upload"] is None
    found = api.http.get(f"{path}/{digest_of_file}")
    assert found.status_code == 302
    assert httpx.get(found.headers["Location"]).content == content

    copy = api.http.post(f"/sessions/{session_id}/resume", json={"fork": True}).raise_for_status().json()
    assert api.http.delete(f"/sessions/{session_id}").is_success
    found = api.http.get(f"/sessions/{copy['id']}/files/{digest_of_file}")
    assert httpx.get(found.headers["Location"]).content == content
