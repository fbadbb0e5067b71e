"""The program ends and starts again on the same directory: nothing is lost, nothing happens twice."""

import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from local.chats import CHATS
from local.chats.simulator import Simulator
from local.server.directory import DataDirectory
from local.server.program import REFUSED, WRONG_USAGE
from local.server.service import Address, Server
from shared.sqlite.database import Database
from shared.sqlite.tables import SqliteTables
from shared.store.bundle import Store, store_on
from tests.support.chat_thread import ChatThread
from tests.support.platform_cases import CASES
from tests.support.server_process import ServerProcess, user_of
from tests.support.waiting import eventually

STOP_SECONDS = 10.0
LEASE_SECONDS = 60.0
HUNDRED = 100
ANYWHERE = Address(port=0, page_port=0)
REPEATING, IDEMPOTENT = "telegram", "slack"
PLATFORMS = (REPEATING, IDEMPOTENT)


@pytest.fixture
def program(data: Path, platforms: Simulator) -> Iterator[ServerProcess]:
    """Its chats are outside, so that they outlive it."""
    server = ServerProcess(data, platforms, names=PLATFORMS)
    server.start()
    yield server
    server.kill()


@pytest.mark.parametrize("is_killed", [False, True], ids=["stopped", "killed"])
def test_a_restart_keeps_sessions_routes_threads_and_tokens(program: ServerProcess, *, is_killed: bool) -> None:
    thread = ChatThread(program.user())
    before, tokens = thread.session(), program.tokens

    program.kill() if is_killed else program.stop()
    program.start()

    assert program.tokens == tokens
    assert thread.session() == before
    thread.say("still there?")
    thread.wait_for("still there?")
    assert thread.is_answered("still there?")


def test_simulated_chats_are_kept(data: Path) -> None:
    with Server(DataDirectory(data), {}, ANYWHERE) as first:
        thread = ChatThread(user_of(first))
    with Server(DataDirectory(data), {}, ANYWHERE) as second:
        thread.user = user_of(second)
        thread.say("still there?")
        thread.wait_for("still there?")
        other = ChatThread(user_of(second))

        assert second.tokens == first.tokens
        assert thread.is_answered("still there?")
        assert other.route != thread.route


def test_what_is_said_while_it_is_off_is_answered(program: ServerProcess) -> None:
    thread = ChatThread(program.user())

    program.stop()
    thread.say("are you there?")
    program.start()

    thread.wait_for("are you there?")
    assert thread.is_answered("are you there?")


def test_a_stop_takes_seconds_and_interrupts_no_turn_for_good(program: ServerProcess) -> None:
    thread = ChatThread(program.user())
    thread.say("rehearse: slow 8")
    eventually(lambda: thread.session()["turn_running"])

    began = time.monotonic()
    code = program.stop()
    took = time.monotonic() - began
    program.start()

    assert (code, took < STOP_SECONDS) == (0, True), took
    thread.wait_for("rehearse: slow 8", within=40)
    assert thread.is_answered("rehearse: slow 8")
    assert len(thread.replies()) == 1
    assert "interrupted" not in thread.replies()[0]


def test_a_stop_with_many_agents_at_work_gives_no_strike(program: ServerProcess) -> None:
    """Words and kickoffs: all are handed back, and answered once after the next start."""
    user, slow = program.user(), "rehearse: slow 8"
    talks = [ChatThread(user, PLATFORMS[number % 2]) for number in range(6)]
    for talk in talks:
        talk.say(slow)
    moving = [user.request_handoff(user.create_session(), message=slow).json() for _ in range(3)]
    sessions = [*(talk.session_id for talk in talks), *(handoff["session_id"] for handoff in moving)]
    with stored(program) as store:
        eventually(lambda: all(_is_claimed(store, session_id) for session_id in sessions))

    began = time.monotonic()
    code = program.stop()
    took = time.monotonic() - began
    with stored(program) as store:
        turns = [(found := store.sessions.get(session_id)) and found.turn for session_id in sessions]
        assert [turn and (turn.is_claimed, turn.begun) for turn in turns] == [(False, 0)] * len(sessions)
    program.start()

    assert (code, took < STOP_SECONDS) == (0, True), took
    for handoff in moving:
        assert user.wait_for_handoff(handoff["id"], within=60)["state"] == "completed"
    for talk in talks:
        reply = talk.wait_for(slow, within=60)
        assert (talk.is_answered(slow), len(talk.replies()), "interrupted" in reply) == (True, 1, False)


def test_a_hundred_open_handoffs_of_a_killed_process_go_on_at_once(program: ServerProcess) -> None:
    """No lease is waited for. Before, most of them waited for the platform, the others for a thread."""
    user, title = program.user(), "open"
    user.http.event_hooks = {}  # hundreds of polls: other tests check them against docs/openapi.json
    program.simulator.arm("slack", "slow", count=HUNDRED, seconds=LEASE_SECONDS, on=CASES["slack"].opens_threads_with)
    ids = [user.create_session(title=f"{title} {number}") for number in range(HUNDRED)]
    with ThreadPoolExecutor(8) as clients:
        answers = list(clients.map(lambda session_id: user.request_handoff(session_id, "slack"), ids))
    handoffs = [answer.json()["id"] for answer in answers]
    with stored(program) as store:
        open_ones = [found for one in handoffs if (found := store.handoffs.get(one)) and not found.is_bound]
    assert len(open_ones) == HUNDRED

    program.kill()
    program.simulator.arm("slack", "slow", count=0)
    program.start()

    began = time.monotonic()
    for handoff_id in handoffs:
        view = user.wait_for_handoff(handoff_id, within=LEASE_SECONDS * 0.75)
        assert (view["state"], view["attempt"]) == ("completed", 0), view
    assert time.monotonic() - began < LEASE_SECONDS * 0.75
    threads = user.threads(title, "slack")
    assert [len(thread["messages"]) for thread in threads] == [1] * HUNDRED


@contextmanager
def stored(program: ServerProcess) -> Iterator[Store]:
    """The store of the program, read beside it."""
    database = Database(program.data / "handoff.db")
    yield store_on(SqliteTables(database))
    database.close()


def _is_claimed(store: Store, session_id: str) -> bool:
    session = store.sessions.get(session_id)
    return session is not None and session.turn is not None and session.turn.is_claimed


def test_a_second_process_is_refused_with_the_id_of_the_first(program: ServerProcess) -> None:
    assert program.process is not None

    second = subprocess.run(program.command(), capture_output=True, text=True, timeout=60, check=False)

    assert second.returncode == REFUSED
    assert f"process {program.process.pid}" in second.stderr
    assert "Traceback" not in second.stderr
    assert program.user().sessions() == []


def test_a_port_that_is_taken_is_an_error_only_if_it_was_asked_for(program: ServerProcess, tmp_path: Path) -> None:
    command = [*program.command(), "--data", str(tmp_path / "other")]

    second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert (second.returncode, second.stderr.count("\n")) == (1, 1), second.stderr
    assert "Choose another one with --listen" in second.stderr


def test_a_bot_with_a_public_url_needs_its_webhook_secret(data: Path, platforms: Simulator) -> None:
    program = ServerProcess(data, platforms, names=("telegram",))

    ended = subprocess.run(
        [*program.command(), "--public-url", "https://handoff.example"],
        env=program.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == REFUSED
    assert ended.stderr.startswith("TELEGRAM_WEBHOOK_SECRET is not set.")


def test_a_bot_that_only_takes_webhooks_needs_a_public_url(data: Path) -> None:
    bots = [chat for chat in CHATS if not chat.relay]
    names = [name.replace("/", "_").upper() for chat in bots for name in chat.spec.secrets]
    program = ServerProcess(data, None, names=(), **dict.fromkeys(names, "x"))

    ended = subprocess.run(
        program.command(), env=program.environment, capture_output=True, text=True, timeout=60, check=False
    )

    assert ended.returncode == REFUSED
    assert "only posts to a public address. Start with --public-url" in ended.stderr


def test_memory_and_start_are_shown(program: ServerProcess, capsys: pytest.CaptureFixture[str]) -> None:
    for platform in PLATFORMS:
        ChatThread(program.user(), platform)

    assert program.process is not None
    status = Path(f"/proc/{program.process.pid}/status").read_text()
    (memory,) = re.findall(r"VmRSS:\s+(\d+) kB", status)
    (ready,) = re.findall(r"Ready in ([\d.]+) s", program.output.read_text())
    with capsys.disabled():
        sys.stdout.write(
            f"\nready in {ready} s, {int(memory) // 1000} MB after a handoff to {' and '.join(PLATFORMS)}\n"
        )


def test_files_are_private_and_the_log_holds_no_secret(program: ServerProcess) -> None:
    thread = ChatThread(program.user())
    thread.say("a private sentence")
    thread.wait_for("a private sentence")
    httpx.get(f"{program.url}/sessions", headers={"Authorization": "Bearer ho_owner.wrong-wrong-wrong-wrong"})
    program.stop()

    files = [path for path in program.data.rglob("*") if path.is_file()]
    assert {"env", "handoff.db", "lock", "log"} <= {path.name for path in files}
    assert stat.S_IMODE(program.data.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    written = (program.data / "log").read_text() + program.output.read_text()
    assert "completed" in written
    for hidden in ("a private sentence", "message 0", *program.tokens.values(), *program.simulator.secrets.values()):
        assert hidden not in written


def test_it_starts_again_in_its_process_while_work_goes_on(program: ServerProcess) -> None:
    thread = ChatThread(program.user())
    assert program.process is not None
    pid, port, tokens = program.process.pid, program.url, program.tokens

    program.process.send_signal(signal.SIGUSR1)
    program.process.send_signal(signal.SIGUSR1)  # a second one, which may come while it stops or starts
    thread.say("in between")

    eventually(lambda: program.output.read_text().count("Ready in") >= 2, within=60, show=program.output.read_text)
    eventually(program.answers, within=60)
    assert (program.process.poll(), program.process.pid, program.url, program.tokens) == (None, pid, port, tokens)
    thread.wait_for("in between")
    assert thread.is_answered("in between")


def test_a_stop_while_it_restarts_stops_it(program: ServerProcess) -> None:
    thread = ChatThread(program.user())
    thread.say("rehearse: slow 8")  # so that the restart waits
    eventually(lambda: thread.session()["turn_running"])
    assert program.process is not None

    program.process.send_signal(signal.SIGUSR1)
    eventually(lambda: "Restarting" in program.output.read_text())

    assert program.stop() == 0
    assert "Stopped. Everything is kept" in program.output.read_text()


def test_settings_that_were_changed_count_after_a_restart(data: Path) -> None:
    server = ServerProcess(data, HANDOFF_REHEARSAL_SECONDS="0")
    data.mkdir(parents=True, exist_ok=True)
    (data / "settings").write_text("HANDOFF_STRIKES=3\n")
    server.start()
    try:
        assert server.process is not None
        (data / "settings").write_text("HANDOFF_STRIKES=many\n")
        server.process.send_signal(signal.SIGUSR1)
        assert server.process.wait(60) == WRONG_USAGE, "it reads the file again, and not what it read before"
        assert "HANDOFF_STRIKES=many" in server.output.read_text()
    finally:
        if server.process is not None and server.process.poll() is None:
            server.kill()
