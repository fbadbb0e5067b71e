"""A file that cannot be used while the service runs: a sentence for people and clients, and nothing is lost.

What SQLite and the system report is tested in tests/shared/sqlite; here it is the whole service that meets it.
"""

import logging
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

from local.chats.simulator import Simulator
from local.server.program import CANNOT_START, REFUSED
from shared.errors import (
    DataFileCorrupt,
    DataFileError,
    DataFileLocked,
    DataFileReadOnly,
    DiskFull,
)
from shared.sqlite import database as databases
from shared.sqlite.database import Database
from tests.support.api_user import ApiUser
from tests.support.chat_thread import ChatThread
from tests.support.one_machine import OneMachine, one_machine
from tests.support.server_process import ServerProcess, user_of
from tests.support.waiting import eventually

WAIT_SECONDS = 40.0
LEASES = {"HANDOFF_LEASE_SECONDS": "2", "HANDOFF_TURN_LEASE_SECONDS": "2"}
DISK_BYTES = 3_000_000
ERRORS: dict[type[DataFileError], Callable[[], DataFileError]] = {
    DiskFull: lambda: DiskFull("FILE"),
    DataFileReadOnly: lambda: DataFileReadOnly("FILE"),
    DataFileCorrupt: lambda: DataFileCorrupt("FILE"),
}


class Writes:
    """Lets writes to the file fail."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.error: Callable[[], DataFileError] | None = None
        writing = Database.writing

        @contextmanager
        def watched(database: Database) -> Iterator[sqlite3.Connection]:
            if self.error is not None:
                raise self.error()
            with writing(database) as connection:
                yield connection

        patch.setattr(Database, "writing", watched)


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> Writes:
    return Writes(monkeypatch)


@pytest.fixture
def machine(writes: Writes, tmp_path: Path) -> Iterator[OneMachine]:
    with one_machine(tmp_path, LEASES) as running:
        yield running
        writes.error = None


@pytest.fixture
def owner(machine: OneMachine) -> ApiUser:
    user = user_of(machine)
    user.http.event_hooks = {}  # docs/openapi.json is checked elsewhere
    return user


def check_refused(answer: httpx.Response, error: type[DataFileError]) -> None:
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (503, "storage_unavailable")
    assert problem["detail"] == error.for_clients
    assert int(answer.headers["retry-after"]) > 0


def check_logged(records: list[logging.LogRecord], *, sentence: str) -> None:
    """What is wrong is said by the workers once, and with no traceback."""
    ours = [record for record in records if record.name.startswith(("local", "shared", "functions"))]
    said = [record for record in ours if record.name == "local.server.workers" and sentence in record.getMessage()]
    assert len(said) == 1, [record.getMessage() for record in ours]
    assert [record.getMessage() for record in ours if record.exc_info] == []


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_a_service_that_cannot_write_says_so_and_goes_on(
    machine: OneMachine,
    owner: ApiUser,
    writes: Writes,
    caplog: pytest.LogCaptureFixture,
    error: type[DataFileError],
) -> None:
    """A handoff whose thread is being opened, one whose agent works, and a message that is said in the meantime."""
    caplog.set_level(logging.INFO)
    thread = ChatThread(owner)
    working = owner.request_handoff(owner.create_session(), message="rehearse: slow 1").json()
    eventually(lambda: owner.session(working["session_id"])["turn_running"])
    machine.simulator.arm("telegram", "slow", seconds=1, on="open_thread")
    opening = owner.request_handoff(owner.create_session()).json()
    writes.error = ERRORS[error]

    check_refused(owner.http.put("/sessions/new", json={}), error)
    assert owner.handoff(opening["id"])["state"] in ("pending", "running"), "reads go on"
    thread.say("are you there?")
    eventually(lambda: [r for r in caplog.records if r.name == "local.server.workers"], within=WAIT_SECONDS)
    writes.error = None

    for handoff in (working, opening):
        view = owner.wait_for_handoff(handoff["id"], within=WAIT_SECONDS)
        assert (view["state"], view["error"]) == ("completed", None)
    thread.wait_for("are you there?", within=WAIT_SECONDS)
    assert (thread.is_answered("are you there?"), len(thread.replies())) == (True, 1)
    check_logged(caplog.records, sentence=str(ERRORS[error]())[:20])
    eventually(lambda: "can be used again" in caplog.text, within=WAIT_SECONDS)


def test_a_flush_that_fails_is_never_answered_with_success(
    machine: OneMachine, owner: ApiUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: int) -> None:
        raise OSError(5, "Input/output error")

    session_id = owner.create_session()
    with monkeypatch.context() as patch:
        patch.setattr(databases, "_flush", broken)
        refused = [owner.http.put("/sessions/new", json={})]
    refused.append(owner.http.put("/sessions/new", json={}))  # a later flush proves nothing

    assert [answer.status_code for answer in refused] == [503, 503]
    assert "did not confirm" in refused[0].json()["detail"]
    assert owner.session(session_id)["message_count"] == 4


def test_a_stop_with_a_full_disk_ends_in_order(
    writes: Writes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What could not be handed back goes on after the next start, as after a crash."""
    with one_machine(tmp_path) as first:
        user = user_of(first)
        thread = ChatThread(user)
        thread.say("rehearse: slow 60")
        sessions = first.store.sessions
        eventually(lambda: (found := sessions.get(thread.session_id)) and found.turn and found.turn.is_claimed)
        writes.error = ERRORS[DiskFull]
    writes.error = None
    assert "could not be handed back: The disk is full" in caplog.text
    assert not [record for record in caplog.records if record.exc_info]

    with one_machine(tmp_path) as second:
        thread.user = user_of(second)
        eventually(lambda: thread.session()["turn_running"])
        thread.say("/stop")
        eventually(lambda: not thread.session()["turn_running"])


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    options = f"size={DISK_BYTES},mode=700"
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", mounted], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("a small disk needs the right to mount one")
    yield mounted
    subprocess.run(["umount", "--lazy", mounted], check=True)


def fill(disk: Path) -> Path:
    """Take all room that is left; returns the file that has it."""
    filler = disk / "filler"
    with filler.open("ab", buffering=0) as stream:
        while True:
            try:
                stream.write(bytes(4096))
            except OSError:
                return filler


@pytest.fixture
def program(disk: Path, platforms: Simulator) -> Iterator[ServerProcess]:
    server = ServerProcess(disk / "data", platforms, names=("telegram",), **LEASES)
    server.output = disk.with_name("output")
    yield server
    if server.process is not None:
        server.kill()


def test_a_full_disk_loses_nothing(program: ServerProcess, disk: Path) -> None:
    program.start()
    user = program.user()
    user.http.event_hooks = {}
    thread = ChatThread(user)
    working = user.request_handoff(user.create_session(), message="rehearse: slow 1").json()
    eventually(lambda: user.session(working["session_id"])["turn_running"])

    filler = fill(disk)
    check_refused(eventually(lambda: refused_write(user)), DiskFull)
    thread.say("are you there?")
    eventually(lambda: "The disk is full" in program.output.read_text(), within=WAIT_SECONDS)
    filler.unlink()

    view = user.wait_for_handoff(working["id"], within=WAIT_SECONDS)
    assert (view["state"], view["error"]) == ("completed", None)
    thread.wait_for("are you there?", within=WAIT_SECONDS)
    assert (thread.is_answered("are you there?"), len(thread.replies())) == (True, 1)
    assert program.stop() == 0
    assert "Traceback" not in program.output.read_text()
    with closing(sqlite3.connect(program.data / "handoff.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def refused_write(user: ApiUser) -> httpx.Response | None:
    """The first writes may succeed: SQLite has room left inside its files."""
    answer = user.http.put(f"/sessions/{uuid.uuid4().hex}", json={"title": "x" * 100})
    return answer if answer.status_code == 503 else None


def start_and_fail(program: ServerProcess, code: int = CANNOT_START) -> str:
    """What it says when it does not start."""
    ended = subprocess.run(
        program.command(), env=program.environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout) == (code, "")
    assert "Traceback" not in ended.stderr
    return ended.stderr


def test_a_start_on_a_full_disk_is_refused(program: ServerProcess, disk: Path) -> None:
    program.start()
    thread = ChatThread(program.user())
    program.stop()
    filler = fill(disk)

    assert "The disk is full" in start_and_fail(program)

    filler.unlink()
    program.start()
    thread.say("still there?")
    thread.wait_for("still there?")


def test_a_start_on_a_read_only_disk_is_refused(program: ServerProcess, disk: Path) -> None:
    program.start()
    program.stop()
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)

    assert "cannot be written: Read-only file system. Nothing was started." in start_and_fail(program)


@pytest.mark.parametrize("damage", ["pages", "header", "newer"])
def test_a_start_on_an_unusable_file_is_refused(tmp_path: Path, platforms: Simulator, damage: str) -> None:
    program = ServerProcess(tmp_path / "data", platforms, names=("telegram",))
    program.start()
    user = program.user()
    user.create_session()
    program.stop()
    path = program.data / "handoff.db"
    content = bytearray(path.read_bytes())
    match damage:
        case "pages":
            content[4096:] = b"\xa5" * (len(content) - 4096)
        case "header":
            content[:100] = b"\xa5" * 100
        case "newer":
            content[60:64] = (999).to_bytes(4, "big")  # PRAGMA user_version
    path.write_bytes(content)

    expected = "written by a newer version" if damage == "newer" else "is damaged"
    assert expected in start_and_fail(program, REFUSED)  # a supervisor must not try again
    assert path.read_bytes()[4096:] == content[4096:]


def test_damage_that_is_found_while_it_runs_is_told(machine: OneMachine, owner: ApiUser) -> None:
    session_id = owner.create_session(60)
    with machine.engine.database.writing() as connection:
        assert connection.execute("SELECT count(*) FROM sessions").fetchone()
    machine.engine.database._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = machine.directory.database
    with path.open("r+b") as stream:
        stream.seek(4096)
        stream.write(b"\xa5" * (path.stat().st_size - 4096))
    while machine.engine.database._readers:
        machine.engine.database._readers.pop().close()  # they remember pages

    check_refused(owner.http.get(f"/sessions/{session_id}/messages"), DataFileCorrupt)


def test_a_lock_of_another_process_is_told_and_outlasted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    defaults = Database.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "patience", 0.3)
    with one_machine(tmp_path, LEASES) as machine:
        user = user_of(machine)
        user.http.event_hooks = {}
        thread = ChatThread(user)
        with locked_by_another_process(machine.directory.database):
            check_refused(user.http.put("/sessions/new", json={}), DataFileLocked)
            thread.say("are you there?")
            assert user.session(thread.session_id)["epoch"] == 1, "reads go on"
        thread.wait_for("are you there?", within=WAIT_SECONDS)
        assert user.http.put("/sessions/new", json={}).is_success
    assert not [record for record in caplog.records if record.exc_info and record.name.startswith("local.server")]


@contextmanager
def locked_by_another_process(path: Path) -> Iterator[None]:
    program = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('BEGIN IMMEDIATE'); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        try:
            assert other.stdout
            assert other.stdout.readline()
            yield
        finally:
            other.kill()
