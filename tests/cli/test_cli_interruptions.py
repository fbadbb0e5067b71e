"""Ctrl-C at any moment: a word on how things stand, and a terminal as it was."""

import signal
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pexpect
import pytest

from tests.cli.stub_service import Fault, StubService
from tests.support.pseudo_terminal import Spawn, ends, handing_over, type_line


def sending(environ: dict[str, str], stub: StubService, directory: Path) -> "subprocess.Popen[str]":
    """`handoff send` as a program without a terminal, under way."""
    path = directory / "s.jsonl"
    path.write_text('{"role": "user", "content": "hi"}')
    return subprocess.Popen(
        [sys.executable, "-m", "handoff_cli", "send", "telegram", "--transcript", str(path)],
        env={**environ, **stub.environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def interrupted(process: "subprocess.Popen[str]") -> str:
    """What it says on Ctrl-C."""
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == 130
    return stderr


def test_ctrl_c_while_waiting_can_cancel(spawn: Spawn, stub: StubService) -> None:
    stub.state.script.stop_after = 2
    chat = handing_over(spawn, until="picked up")
    chat.sendintr()
    chat.expect("ancel it")
    chat.send("c\r")
    chat.expect("cancelled on request. The session is intact")
    type_line(chat, "go on")
    chat.expect("You said")


def test_ctrl_c_stops_waiting_for_the_agent_but_not_the_session(spawn: Spawn, stub: StubService) -> None:
    stub.state.script.turn_polls = 0
    chat = spawn("chat")
    type_line(chat, "hello")
    chat.expect("thinking")
    chat.sendintr()
    chat.expect("Stopped waiting. The agent goes on")
    type_line(chat, "/handoff telegram")
    chat.expect("still answering")
    type_line(chat, "another")
    chat.expect("still answering")


def test_too_late_to_cancel_is_told_and_no_step_is_shown_twice(spawn: Spawn, stub: StubService) -> None:
    stub.state.script.stop_after = 4
    chat = handing_over(spawn, until="session moved")
    chat.sendintr()
    chat.expect("ancel it")
    chat.send("c\r")
    chat.expect("has moved already")
    stub.state.script.stop_after = 99
    assert "picked up" not in ends(chat, 0)


@pytest.mark.parametrize("requests", range(1, 9))
def test_ctrl_c_at_any_moment_ends_with_a_word_and_no_traceback(
    environ: dict[str, str], stub: StubService, tmp_path: Path, requests: int
) -> None:
    stub.state.script.poll_after_ms = 100
    stub.faults.append(Fault(".*", after=requests, hang=threading.Event()))
    process = sending(environ, stub, tmp_path)
    assert stub.hanging.wait(20)
    stderr = interrupted(process)
    assert stderr.count("\n") == 1
    assert ("handoff status h1" if stub.state.handoffs else "before the handoff was requested") in stderr


def test_the_terminal_is_as_it_was_after_ctrl_c(spawn: Spawn, stub: StubService) -> None:
    stub.state.script.turn_polls = 0
    chat = spawn("chat")
    before = termios.tcgetattr(chat.child_fd)
    type_line(chat, "hello")
    chat.expect("thinking")
    chat.sendintr()
    type_line(chat, "/quit")
    chat.expect(pexpect.EOF)
    assert termios.tcgetattr(chat.child_fd)[:4] == before[:4]
    assert chat.before.rfind("\x1b[?25h") > chat.before.rfind("\x1b[?25l")
    assert chat.before.rfind("\x1b[?2004l") > chat.before.rfind("\x1b[?2004h")


def test_ctrl_c_and_ctrl_d_at_the_prompt(spawn: Spawn) -> None:
    chat = spawn("chat")
    chat.expect_exact("\x1b[?2004h")
    chat.sendintr()
    chat.expect("/quit leaves")
    chat.expect_exact("\x1b[?2004h")
    chat.sendeof()
    ends(chat, 0)


def test_ctrl_c_without_a_terminal_leaves_it_running_and_says_so(
    environ: dict[str, str], stub: StubService, tmp_path: Path
) -> None:
    stub.state.script.stop_after = 2
    process = sending(environ, stub, tmp_path)
    assert process.stdout is not None
    while "picked up" not in process.stdout.readline():
        pass
    assert "goes on. Look again with: handoff status h1" in interrupted(process)
