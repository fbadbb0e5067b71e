"""Whatever is said, and whatever breaks: no log line of any function or of the local run holds a word or a secret of it."""

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
from tests.journeys.hostile import Thread, add_user
from tests.support.desk import Desk, until

MARK = "xyzzy"


class Lines(logging.Handler):
    """Every log line of this process, as the functions' own handler would write it."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []
        self.addFilter(redact_exception)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@dataclass
class Watched:
    """A service, all that it logged, and everything that must not be there."""

    service: LocalService
    lines: list[str]

    def leaks(self) -> list[str]:
        hidden = [MARK, *self.service.tokens.values(), *self.service.simulator.secrets.values()]
        return [line[:300] for line in self.lines if any(secret in line for secret in hidden if len(secret) > 4)]


@pytest.fixture(scope="module", params=["in_process", "runtime"])
def watched(request: pytest.FixtureRequest) -> Iterator[Watched]:
    mode: Literal["runtime", "in_process"] = request.param
    handler = Lines()
    watcher = Watcher(
        on_log=lambda function, line: handler.lines.append(f"{function} {line}"),
        on_answer=lambda method, path, status, _: handler.lines.append(f"{method} {path} {status}"),
        on_error=lambda error: handler.lines.append(repr(error)),
    )
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.INFO)
    root.addHandler(handler)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # the tests' own client
    try:
        with LocalService(mode=mode, watcher=watcher) as running:
            yield Watched(running, handler.lines)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def marked(words: str) -> str:
    return f"{words} {MARK}-{uuid.uuid4().hex[:8]}"


@pytest.mark.parametrize("platform", ["telegram", "slack", "discord"])
def test_a_handoff_and_a_conversation_leave_no_word_in_a_log(watched: Watched, platform: str) -> None:
    desk = Desk(watched.service)
    thread = Thread(desk, platform, message=marked("kickoff"))
    desk.http.put(f"/sessions/{thread.session_id}", json={"title": marked("renamed")}).raise_for_status()

    thread.say(marked("hello"), user="stranger")
    for text in ("hello", "/resume", "/status", "/handoff", "/unknown", "/stop", "rehearse: fail"):
        thread.say(marked(text))
    thread.wait_for("I could not answer")
    last = marked("the end")
    thread.say(last)
    thread.wait_for(last)

    assert watched.lines
    assert watched.leaks() == []


@pytest.mark.parametrize("kind", ["forbidden", "rate_limit", "reset", "accept_then_reset"])
def test_a_platform_that_refuses_or_breaks_leaves_no_word_in_a_log(watched: Watched, kind: str) -> None:
    desk = Desk(watched.service)
    thread = Thread(desk, "slack")
    more: dict[str, Any] = {"retry_after": 1} if kind == "rate_limit" else {}
    watched.service.simulator.arm("slack", kind, **more)

    text = marked(kind)
    thread.say(text)
    until(lambda: text in thread.words(), patience=40)

    assert watched.leaks() == []


def test_requests_that_are_refused_leave_no_word_in_a_log(watched: Watched) -> None:
    desk = add_user(watched.service)
    session_id, json = desk.session(), {"Content-Type": "application/json"}
    address = watched.service.url

    for body in (f'{{"{MARK}', f'{{"epoch": "{MARK}"}}', f'{{"messages": [{{"role": "{MARK}"}}]}}', f'["{MARK}"]'):
        assert desk.http.post(f"/sessions/{session_id}/messages", content=body, headers=json).status_code >= 400
    assert desk.request(session_id, "slack", target=MARK).status_code == 202
    assert httpx.get(f"{address}/sessions", headers={"Authorization": f"Bearer ho_u.{MARK * 6}"}).status_code == 401
    for platform in ("telegram", "slack", "discord", "pigeon"):
        assert httpx.post(f"{address}/webhooks/{platform}", json={"text": MARK}).status_code == 401
    until(lambda: desk.see(session_id)["active_handoff"] is None)

    assert watched.leaks() == []


def test_an_error_that_quotes_a_person_is_logged_by_its_kind_alone() -> None:
    lines = Lines()
    record = logging.LogRecord("x", logging.ERROR, __file__, 1, "broken", (), None)
    with pytest.raises(KeyError) as raised:
        raise KeyError(MARK) from ValueError(MARK)
    record.exc_info = (raised.type, raised.value, raised.tb)

    lines.handle(record)

    (line,) = lines.lines
    assert "KeyError from ValueError" in line
    assert "test_hostile_logs.py" in line
    assert f'"{MARK}"' not in line
    assert f"'{MARK}'" not in line


class Quoting:
    """Whatever it is asked, it breaks, and quotes what was said."""

    def __getattr__(self, _: str) -> Any:
        raise RuntimeError(marked("somebody said"))


def test_functions_that_break_as_nobody_foresaw_quote_nobody() -> None:
    """The status function's store and the turn function's agent break; the answer is a problem, the logs hold no word."""
    handler, root = Lines(), logging.getLogger()
    between = Interceptors(
        client=lambda function, client: Quoting() if function == "StatusFunction" else client,
        services=lambda function, services: (
            replace(services, agent=Quoting) if function == "TurnFunction" else services
        ),
    )
    watcher = Watcher(on_error=lambda error: handler.lines.append(repr(error)))
    root.addHandler(handler)
    try:
        with LocalService(mode="in_process", watcher=watcher, interceptors=between) as running:
            desk = Desk(running)
            session_id = desk.session()
            answer = desk.http.get("/sessions")
            turn = desk.http.post(f"/sessions/{session_id}/turns", json={"epoch": 0, "id": "t", "text": MARK})
            assert turn.status_code == 202
            until(lambda: running.store.sessions.get(session_id).strikes)  # type: ignore[union-attr]  # it is there
    finally:
        root.removeHandler(handler)

    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert any("RuntimeError" in line for line in handler.lines)
    assert [line for line in handler.lines if MARK in line] == []
