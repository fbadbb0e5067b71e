"""Whatever leaves the process was on the disk before: a power cut at any moment takes back nothing that was told."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from shared.domain.handoffs import Step
from shared.domain.routes import cli_place
from shared.platforms.registry import PlatformRegistry
from shared.ports.tables import Table
from shared.sqlite.tables import SqliteTables
from shared.store.bundle import Store, store_on
from shared.store.outbox import _part_of
from shared.use_cases.people.authenticate import hash_of
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.flushed_log import FlushedLog
from tests.support.one_machine import OneMachine, one_machine
from tests.support.platform_cases import CASES, PLATFORMS, THREADED
from tests.support.server_process import user_of
from tests.support.waiting import eventually

EFFECTS = ("open_thread", "send", "edit")
HANDOFF_FLUSHES = 3
"""The accepted request, the intent before the thread is opened, the reply before it is posted."""
UPLOAD_FLUSHES = 2
"""The session, its messages."""
MESSAGE_FLUSHES = 2
"""The message before it is acknowledged, the reply before it is posted."""


@dataclass(frozen=True)
class Machine:
    """A server, and what would be left of its file."""

    server: OneMachine
    log: FlushedLog

    def left(self) -> AbstractContextManager[SqliteTables]:
        return self.log.left(self.server.directory.database)

    def has(self, look: Callable[[Store], object]) -> bool:
        """Whether what `look` finds would still be there."""
        with self.left() as tables:
            return bool(look(store_on(tables)))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    log = FlushedLog()
    log.install(monkeypatch)
    with one_machine(tmp_path) as server:
        yield Machine(server, log)


@pytest.fixture
def idle(machine: Machine) -> Machine:
    """Only requests are answered: nothing else flushes what they wrote."""
    assert machine.server.work.stop(10)
    return machine


@pytest.fixture
def user(machine: Machine) -> ApiUser:
    return user_of(machine.server)


def test_answers_to_writes_are_on_the_disk(idle: Machine, user: ApiUser) -> None:
    session_id = user.create_session(4)
    assert idle.has(lambda store: (found := store.sessions.get(session_id)) and found.message_count == 4)

    user.http.put("/platforms/telegram/home", json={"chat": "-1001000000001"}).raise_for_status()
    assert idle.has(lambda store: (home := store.accounts.home("owner", "telegram")) and home.chat == "-1001000000001")

    token = user.http.post("/tokens", json={}).raise_for_status().json()["token"]
    assert idle.has(lambda store: store.accounts.token("owner", hash_of(token)))

    turn = {"epoch": 0, "id": "t-1", "text": "and now?"}
    user.http.post(f"/sessions/{session_id}/turns", json=turn).raise_for_status()
    assert idle.has(lambda store: store.inbox.get(cli_place(session_id), "t-1"))
    assert idle.has(lambda store: (found := store.sessions.get(session_id)) and found.turn)

    other = user.create_session()
    handoff_id = user.request_handoff(other).json()["id"]
    assert idle.has(lambda store: store.handoffs.get(handoff_id))

    user.http.delete(f"/handoffs/{handoff_id}").raise_for_status()
    assert idle.has(lambda store: (found := store.handoffs.get(handoff_id)) and not found.is_open)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_an_acknowledged_message_is_on_the_disk(idle: Machine, platform: str) -> None:
    server, text = idle.server, uuid.uuid4().hex
    for webhook in CASES[platform].webhooks.values():
        raw = json.dumps(webhook.message(uuid.uuid4().int % 10**8 + 10**8, text)).encode()
        headers = webhook.sign(server.simulator.secrets, raw, int(time.time()))
        answer = httpx.post(f"{server.url}/webhooks/{platform}", content=raw, headers=headers)

        assert answer.status_code == 200
        with idle.left() as tables:
            rows = [item for item in tables.scan(Table.SESSIONS) if item["pk"].startswith("INBOX#")]
        assert [row for row in rows if text in str(row)], "the message would be lost"
        text = uuid.uuid4().hex


def test_a_reply_that_a_terminal_has_read_is_on_the_disk(machine: Machine, user: ApiUser) -> None:
    session_id = user.create_session(4)
    turn = {"epoch": 0, "id": "t-1", "text": "and now?"}
    user.http.post(f"/sessions/{session_id}/turns", json=turn).raise_for_status()

    eventually(lambda: len(user.transcript(session_id)) == 6)

    assert machine.has(lambda store: (found := store.sessions.get(session_id)) and found.message_count == 6)


class CheckedPlatform:
    """A platform that looks at the disk when it is asked to do something."""

    def __init__(self, platform: Any, check: Callable[[str, Any], None]) -> None:
        self._platform, self._check = platform, check

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._platform, name)
        if name not in EFFECTS:
            return real

        def call(*arguments: Any, **named: Any) -> Any:
            self._check(name, named["key"] if "key" in named else arguments[1])
            return real(*arguments, **named)

        return call


class Intents:
    """Whether the intent of each call to a platform was on the disk."""

    def __init__(self, machine: Machine, patch: pytest.MonkeyPatch) -> None:
        self._machine, get = machine, PlatformRegistry.get
        self.seen: dict[str, list[bool]] = {name: [] for name in EFFECTS}
        patch.setattr(PlatformRegistry, "get", lambda registry, name: CheckedPlatform(get(registry, name), self._check))

    def _check(self, name: str, key: str) -> None:
        with self._machine.left() as tables:
            self.seen[name].append(_has_intent(tables, name, key))


def _has_intent(tables: SqliteTables, name: str, key: str) -> bool:
    if name == "open_thread":
        handoff = store_on(tables).handoffs.get(key)
        return handoff is not None and handoff.has_done(Step.OPENING_THREAD)
    parts = [_part_of(item) for item in tables.scan(Table.SESSIONS) if item["sk"].startswith("OUT#")]
    claimed = [part for part in parts if part and part.state == "sending"]
    return any(part.placeholder == key if name == "edit" else key in (part.key, part.address) for part in claimed)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_intent_of_each_call_to_a_platform_is_on_the_disk(
    machine: Machine, user: ApiUser, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    """Also of a notice, and of a repeat after an answer that was lost."""
    intents = Intents(machine, monkeypatch)

    thread = ChatThread(user, platform)
    thread.say("and now?")
    thread.wait_for("and now?")
    thread.say("/status")
    thread.wait_for("lives here")
    machine.server.simulator.arm(platform, "accept_then_reset", on="send")
    thread.say("again?")
    thread.wait_for("again?")

    assert intents.seen["open_thread"] == [True] * (platform in THREADED)
    assert len(intents.seen["send"]) >= 4
    assert all(intents.seen["send"] + intents.seen["edit"]), intents.seen


def test_a_handoff_is_flushed_three_times_at_most(
    machine: Machine, user: ApiUser, capsys: pytest.CaptureFixture[str]
) -> None:
    """Polls flush nothing, and callers that wait share a flush. The figures are those of docs/decisions/one-file.md."""
    ChatThread(user)
    log, database = machine.log, machine.server.engine.database
    before, commits = log.flushes, database._commits
    thread = ChatThread(user)
    moved, moved_commits = log.flushes, database._commits
    thread.say("and now?")
    thread.wait_for("and now?")
    eventually(lambda: not thread.session()["turn_running"])

    assert UPLOAD_FLUSHES < moved - before <= UPLOAD_FLUSHES + HANDOFF_FLUSHES
    assert 0 < log.flushes - moved <= MESSAGE_FLUSHES
    with capsys.disabled():
        shown = f"a handoff with its upload: {moved_commits - commits} commits, {moved - before} flushes"
        print(f"\n{shown}; a message: {database._commits - moved_commits} and {log.flushes - moved}")  # noqa: T201
