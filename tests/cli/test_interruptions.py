"""Ctrl-C at any moment: the CLI says what the state is, and restores the terminal."""

import signal
import subprocess
import termios
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from tests.cli.conftest import PROGRAM, User
from tests.support.fault_proxy import FaultProxy
from tests.support.pseudo_terminal import PROMPT_READY, Spawn, chat_during_handoff, ends, type_line
from tests.support.servers import HANG

Process = subprocess.Popen[str]


@pytest.fixture
def send(connected: dict[str, str], tmp_path: Path) -> Callable[[], Process]:
    """Start `handoff send` in a new process without a terminal."""
    path = tmp_path / "s.jsonl"
    path.write_text('{"role": "user", "content": "hi"}')
    command = [*PROGRAM, "send", "telegram", "--transcript", str(path)]
    return lambda: subprocess.Popen(command, env=connected, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _interrupt(process: Process) -> str:
    """Press Ctrl-C; returns what the program says."""
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == 130
    return stderr


def test_ctrl_c_while_waiting_can_cancel(spawn: Spawn, hold: Callable[..., None]) -> None:
    hold("open_thread", seconds=25)
    chat = chat_during_handoff(spawn, until="picked up")
    chat.sendintr()
    chat.expect("ancel it")
    chat.send("c\r")
    chat.expect("The handoff failed: .*ancelled")
    type_line(chat, "go on")
    chat.expect("You said")


def test_ctrl_c_stops_waiting_but_not_the_agent(spawn: Spawn) -> None:
    chat = spawn("chat")
    type_line(chat, "rehearse: slow 8")
    chat.expect("thinking")
    chat.sendintr()
    chat.expect("Stopped waiting. The agent continues")
    type_line(chat, "/handoff telegram")
    chat.expect("still answering")
    type_line(chat, "another")
    chat.expect("when it has answered")


def test_too_late_to_cancel_shows_no_step_twice(spawn: Spawn, hold: Callable[..., None]) -> None:
    hold("send", seconds=12)
    chat = chat_during_handoff(spawn, until="agent confirmed")
    chat.sendintr()
    chat.expect("ancel it")
    chat.send("c\r")
    chat.expect("moved already|has moved|too late")
    assert "picked up" not in ends(chat, 0)


@pytest.mark.parametrize("requests", range(1, 6))
def test_ctrl_c_at_any_request_reports_the_state(
    send: Callable[[], Process], proxy: FaultProxy, user: User, requests: int
) -> None:
    proxy.fail(".*", after=requests, response=HANG)
    process = send()
    assert proxy.hanging.wait(20)
    stderr = _interrupt(process)
    assert stderr.count("\n") == 1
    handoffs = user.api.handoffs()
    assert (f"handoff status {handoffs[0]['id']}" if handoffs else "before the handoff was requested") in stderr


def test_ctrl_c_restores_the_terminal(spawn: Spawn) -> None:
    chat = spawn("chat")
    before = termios.tcgetattr(chat.child_fd)
    type_line(chat, "rehearse: slow 5")
    chat.expect("thinking")
    chat.sendintr()
    type_line(chat, "/quit")
    chat.expect(pexpect.EOF)
    assert termios.tcgetattr(chat.child_fd)[:4] == before[:4]
    assert chat.before.rfind("\x1b[?25h") > chat.before.rfind("\x1b[?25l")
    assert chat.before.rfind("\x1b[?2004l") > chat.before.rfind(PROMPT_READY)


def test_ctrl_c_works_if_it_was_ignored_at_the_start(spawn: Spawn) -> None:
    """As in a terminal that was itself started by `nohup … &`."""
    ignoring = ["/bin/sh", "-c", 'trap "" INT; exec "$0" "$@"', *PROGRAM]
    chat = spawn("chat", program=ignoring)
    type_line(chat, "rehearse: slow 5")
    chat.expect("thinking")
    chat.sendintr()
    chat.expect("Stopped waiting")


def test_ctrl_c_and_ctrl_d_at_the_prompt(spawn: Spawn) -> None:
    chat = spawn("chat")
    chat.expect_exact(PROMPT_READY)
    chat.sendintr()
    chat.expect("/quit leaves")
    chat.expect_exact(PROMPT_READY)
    chat.sendeof()
    ends(chat, 0)


def test_ctrl_c_without_a_terminal_leaves_it_running(
    send: Callable[[], Process], user: User, hold: Callable[..., None]
) -> None:
    hold("open_thread")
    process = send()
    assert process.stdout is not None
    while "picked up" not in process.stdout.readline():
        pass
    (handoff,) = user.api.handoffs()
    assert f"continues. Check with: handoff status {handoff['id']}" in _interrupt(process)
