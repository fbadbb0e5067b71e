"""No log line of a function or of the local run holds a user's text, a token or a secret."""

import base64
import hashlib
import logging
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import httpx
import pytest

from local.functions import Interceptors
from local.service import LocalService
from local.watcher import Watcher
from shared.log_redaction import redact_exception
from tests.support.api_user import ApiUser, add_user
from tests.support.chat_thread import shared_thread
from tests.support.platform_cases import PLATFORMS
from tests.support.waiting import eventually

MARK = "xyzzy"


class LogLines(logging.Handler):
    """Every log line of this process, as the functions' handler would write it."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []
        self.addFilter(redact_exception)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@dataclass
class Watched:
    """A service and everything that it logged."""

    service: LocalService
    lines: list[str]

    def secrets_in_items(self) -> list[str]:
        """Items with a token of a platform or of a user, such as the address of a file on Telegram."""
        dynamodb, made = self.service.engine.client("dynamodb"), self.service.stack.resources
        tables = [made["HandoffsTable"], made["SessionsTable"]]
        items = [repr(item) for table in tables for item in dynamodb.scan(TableName=table)["Items"]]
        hidden = [*self.service.tokens.values(), *self.service.simulator.secrets.values()]
        return [item[:300] for item in items if any(secret in item for secret in hidden)]

    def leaks(self) -> list[str]:
        hidden = [MARK, *self.service.tokens.values(), *self.service.simulator.secrets.values()]
        return [line[:300] for line in self.lines if any(secret in line for secret in hidden)]


@pytest.fixture(scope="module", params=["in_process", "runtime"])
def watched(request: pytest.FixtureRequest) -> Iterator[Watched]:
    mode: Literal["runtime", "in_process"] = request.param
    handler = LogLines()
    watcher = Watcher(
        on_log=lambda function, line: handler.lines.append(f"{function} {line}"),
        on_answer=lambda method, path, status, _: handler.lines.append(f"{method} {path} {status}"),
        on_error=lambda error: handler.lines.append(repr(error)),
    )
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.INFO)
    root.addHandler(handler)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # the tests' client
    try:
        with LocalService(mode=mode, watcher=watcher) as running:
            yield Watched(running, handler.lines)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def marked(text: str) -> str:
    return f"{text} {MARK}-{uuid.uuid4().hex[:8]}"


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_conversation_leaves_no_text_in_the_logs(watched: Watched, platform: str) -> None:
    user = ApiUser(watched.service)
    thread = shared_thread(user, platform, message=marked("kickoff"))
    user.http.put(f"/sessions/{thread.session_id}", json={"title": marked("renamed")}).raise_for_status()

    thread.say(marked("hello"), user="stranger")
    for text in ("hello", "/resume", "/status", "/handoff", "/unknown", "/stop", "rehearse: fail"):
        thread.say(marked(text))
    eventually(lambda: thread.bot_texts("I could not answer"), show=thread.bot_texts)
    last = marked("the end")
    content = {"type": "text/plain", "data": base64.b64encode(marked("log").encode()).decode()}
    thread.say(last, files=[{"name": marked("run") + ".log", **content}])
    eventually(lambda: thread.bot_texts(last), show=thread.bot_texts)

    (asked,) = [message for message in user.transcript(thread.session_id) if "files" in message]
    read = user.http.get(f"/sessions/{thread.session_id}/files/{asked['files'][0]['id']}")
    assert hashlib.sha256(httpx.get(read.headers["location"]).content).hexdigest() == asked["files"][0]["sha256"]
    assert watched.secrets_in_items() == []
    assert watched.lines
    assert watched.leaks() == []


@pytest.mark.parametrize("kind", ["forbidden", "rate_limit", "reset", "accept_then_reset"])
def test_a_failing_platform_leaves_no_text_in_the_logs(watched: Watched, kind: str) -> None:
    thread = shared_thread(ApiUser(watched.service), platform := PLATFORMS[1])
    more: dict[str, Any] = {"retry_after": 1} if kind == "rate_limit" else {}
    watched.service.simulator.arm(platform, kind, **more)

    text = marked(kind)
    thread.say(text)
    eventually(lambda: text in thread.contents(), within=40)

    assert watched.leaks() == []


def test_rejected_requests_leave_no_text_in_the_logs(watched: Watched) -> None:
    user = add_user(watched.service)
    session_id, json = user.create_session(), {"Content-Type": "application/json"}
    url = watched.service.url

    for body in (f'{{"{MARK}', f'{{"epoch": "{MARK}"}}', f'{{"messages": [{{"role": "{MARK}"}}]}}', f'["{MARK}"]'):
        assert user.http.post(f"/sessions/{session_id}/messages", content=body, headers=json).status_code >= 400
    assert user.request_handoff(session_id, PLATFORMS[1], target=MARK).status_code == 422
    assert httpx.get(f"{url}/sessions", headers={"Authorization": f"Bearer ho_u.{MARK * 6}"}).status_code == 401
    for platform in (*PLATFORMS, "pigeon"):
        assert httpx.post(f"{url}/webhooks/{platform}", json={"text": MARK}).status_code == 401
    eventually(lambda: user.session(session_id)["active_handoff"] is None)

    assert watched.leaks() == []


def test_an_exception_is_logged_by_its_type_only() -> None:
    lines = LogLines()
    record = logging.LogRecord("x", logging.ERROR, __file__, 1, "broken", (), None)
    with pytest.raises(KeyError) as raised:
        raise KeyError(MARK) from ValueError(MARK)
    record.exc_info = (raised.type, raised.value, raised.tb)

    lines.handle(record)

    (line,) = lines.lines
    assert "KeyError from ValueError" in line
    assert "test_log_privacy.py" in line
    assert f'"{MARK}"' not in line
    assert f"'{MARK}'" not in line


class Quoting:
    """Raises an error with a user's text on any access."""

    def __getattr__(self, _: str) -> Any:
        raise RuntimeError(marked("a user said"))


def test_an_unexpected_error_quotes_no_text() -> None:
    """The status function's store and the agent function's agent fail; the answer is a problem without details."""
    handler, root = LogLines(), logging.getLogger()
    interceptors = Interceptors(
        client=lambda function, client: Quoting() if function == "StatusFunction" else client,
        services=lambda function, services: (
            replace(services, agent=Quoting) if function == "AgentFunction" else services
        ),
    )
    watcher = Watcher(on_error=lambda error: handler.lines.append(repr(error)))
    root.addHandler(handler)
    try:
        with LocalService(mode="in_process", watcher=watcher, interceptors=interceptors) as running:
            user = ApiUser(running)
            session_id = user.create_session()
            answer = user.http.get("/sessions")
            turn = user.http.post(f"/sessions/{session_id}/turns", json={"epoch": 0, "id": "t", "text": MARK})
            assert turn.status_code == 202
            eventually(
                lambda: (session := running.store.sessions.get(session_id)) and session.turn and session.turn.begun
            )
    finally:
        root.removeHandler(handler)

    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert any("RuntimeError" in line for line in handler.lines)
    assert [line for line in handler.lines if MARK in line] == []
