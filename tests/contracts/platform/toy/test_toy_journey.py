"""A whole journey on the toy platforms: one SPEC and one CHAT each, and no other change."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from local.chats import CHATS
from local.service import LocalService
from shared.domain.routes import Place
from tests.contracts.platform.toy import CHAT, PLAIN_CHAT
from tests.contracts.platform.toy.case import CASE
from tests.support.api_user import ApiUser
from tests.support.browser import Browser, missing
from tests.support.snapshots import settled_snapshot, snapshot
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[4]
pytestmark = pytest.mark.xdist_group("toy")  # one service for all


@pytest.fixture(scope="module")
def service() -> Iterator[LocalService]:
    with LocalService(mode="in_process", chats=[*CHATS, CHAT, PLAIN_CHAT]) as running:
        yield running


@pytest.fixture
def user(service: LocalService) -> ApiUser:
    return ApiUser(service)


def transaction(service: LocalService, *events: dict[str, Any], size: int = 0) -> httpx.Response:
    """A webhook of the toy, with any number of events in one request."""
    return httpx.put(
        f"{service.url}/webhooks/toy/transactions/{uuid.uuid4().hex}",
        content=json.dumps({"token": service.simulator.secrets["toy/webhook_secret"], "events": events}).ljust(size),
    )


def written_by_bot(service: LocalService, platform: str, chat_id: str, thread_id: str | None = None) -> list[str]:
    chats = service.simulator.state()["platforms"][platform]["chats"]
    (chat,) = [chat for chat in chats if chat["id"] == chat_id]
    (place,) = [thread for thread in chat["threads"] if thread["id"] == thread_id] if thread_id else [chat]
    return [message["text"] for message in place["messages"] if message["from"] == "bot"]


def test_a_handoff_opens_a_thread_and_a_reply_is_answered(user: ApiUser) -> None:
    title = f"toy {uuid.uuid4().hex[:6]}"
    session_id = user.create_session(title=title)

    done = user.hand_off(session_id, "toy")

    assert (done["state"], done["error"]) == ("completed", None)
    (thread,) = user.threads(title, "toy")
    assert done["thread"]["url"] == user.service.simulator.link_url("toy", "lounge", thread["id"])
    user.service.simulator.say("toy", "lounge", "And now?", thread=thread["id"])
    answers = eventually(lambda: written_by_bot(user.service, "toy", "lounge", thread["id"])[1:])
    assert "And now?" in answers[0]
    assert [message["content"] for message in user.transcript(session_id)][-2] == "And now?"


def test_without_threads_a_handoff_arrives_in_the_home(user: ApiUser) -> None:
    done = user.hand_off(user.create_session(), "plaintoy")

    assert done["state"] == "completed"
    assert written_by_bot(user.service, "plaintoy", "lounge")


def test_the_command_line_hands_over_to_the_toy(service: LocalService) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "cli")}
    environment |= {"HANDOFF_URL": service.url, "HANDOFF_TOKEN": service.tokens["owner"]}
    transcript = str(ROOT / "examples" / "session.jsonl")
    command = [sys.executable, "-m", "handoff_cli", "send", "toy", "--yes", "--json", "--transcript", transcript]

    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)

    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["state"] == "completed"


def test_the_service_lists_the_toys(user: ApiUser) -> None:
    listed = {entry["name"]: entry for entry in user.http.get("/platforms").json()["platforms"]}

    own: dict[str, Any] = {"name": "toy", "home": None, "accounts": []}
    assert listed["toy"] | own == {**listed["slack"], **own}
    assert (listed["plaintoy"]["supported"], listed["plaintoy"]["threads"]) == (True, False)


def test_the_doctor_finds_no_problem(user: ApiUser) -> None:
    checks = [check for check in user.http.get("/doctor").json()["checks"] if check["platform"] == "toy"]

    assert {"bot", "secrets", "webhook", "home", "thread", "identity"} <= {check["name"] for check in checks}
    assert [check for check in checks if not check["ok"]] == []


def test_the_doctor_reports_a_failing_toy(user: ApiUser) -> None:
    user.service.simulator.arm("toy", "reset", count=50, on="read")
    checks = {
        check["name"]: check["ok"] for check in user.http.get("/doctor").json()["checks"] if check["platform"] == "toy"
    }
    user.service.simulator.arm("toy", "reset", count=0)

    assert checks["bot"] is False


def test_the_webhook_answers_the_challenge(service: LocalService) -> None:
    assert service.simulator.verify("toy").ok
    assert httpx.get(f"{service.url}/webhooks/toy", params={"token": "wrong", "challenge": "x"}).status_code == 401


def test_every_event_of_a_transaction_is_handled(user: ApiUser) -> None:
    title = f"batch {uuid.uuid4().hex[:6]}"
    session_id = user.create_session(title=title)
    user.hand_off(session_id, "toy")
    (thread,) = user.threads(title, "toy")
    message = {"kind": "message", "chat": "lounge", "thread": thread["id"], "from": "ann"}
    first, second = {**message, "id": "900001", "text": "one"}, {**message, "id": "900002", "text": "two"}
    invite = {"kind": "invite", "chat": "studio", "from": "ann"}
    stranger = {"kind": "invite", "chat": "note", "from": "joe"}

    assert transaction(user.service, first, invite, second, stranger).status_code == 200

    eventually(lambda: {"one", "two"} <= {m["content"] for m in user.transcript(session_id)})
    joined = [call.name for call in user.service.simulator.calls if call.name.endswith("/join")]
    assert joined == ["POST /toy/api/chats/studio/join"]


def test_events_without_a_known_person_are_ignored(user: ApiUser) -> None:
    webhook, before = CASE.webhooks["toy"], settled_snapshot(user.service)
    for event, body in CASE.ignored.items():
        raw, _ = webhook.signed(user.service.simulator.secrets, json.dumps(body).encode(), 0)
        assert user.http.request(webhook.method, webhook.path, content=raw).status_code == 200, event

    assert {key for key in snapshot(user.service) if "INBOX#" in key} == {key for key in before if "INBOX#" in key}


def test_the_body_limit_is_the_one_of_the_platform(service: LocalService) -> None:
    assert transaction(service, size=2 * 1024 * 1024).status_code == 200
    assert transaction(service, size=2 * 1024 * 1024 + 1).status_code == 413


def test_sethome_checks_the_chat_with_the_platform(service: LocalService) -> None:
    service.simulator.say("toy", "note", "/sethome")

    eventually(lambda: service.store.accounts.home("owner", "toy") == Place("toy", "note"))
    service.store.accounts.set_home("owner", Place("toy", "lounge"))
    assert "GET /toy/api/chats/note" in [call.name for call in service.simulator.calls]


def test_the_page_receives_the_toy(service: LocalService) -> None:
    assert '[data-platform="toy"]' in httpx.get(f"{service.simulator.url}/static/platforms.css").text
    with httpx.stream("GET", f"{service.simulator.url}/live") as stream:
        scene = next(line for line in stream.iter_lines() if line.startswith("data:"))
    assert "Lounge" in scene


@pytest.mark.browser
@pytest.mark.skipif(missing() is not None, reason=missing() or "")
def test_the_page_shows_the_toy(service: LocalService) -> None:
    with Browser() as browser:
        browser.open(service.simulator.link_url("toy", "lounge"))

        browser.until(lambda: browser.text("#live-text") == "live")
        assert browser.texts("#places h2") == [chat.spec.title for chat in service.chats]
        browser.until(lambda: "Lounge" in browser.text("main"))
