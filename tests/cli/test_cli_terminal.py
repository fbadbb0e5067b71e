"""Interactive behaviour in real pseudo-terminals."""

import re
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pexpect
import pytest

from tests.cli.stub_service import Fault, StubService
from tests.cli.stub_state import LINK

Spawn = Callable[..., Any]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\r")


@pytest.fixture
def spawn(environ: dict[str, str], stub: StubService) -> Iterator[Spawn]:
    started: list[Any] = []

    def start(*argv: str, rows: int = 60, **extra: str) -> Any:
        child = pexpect.spawn(
            sys.executable,
            ["-m", "handoff_cli", *argv],
            env={**environ, **stub.environ, "TERM": "xterm-256color", **extra},
            encoding="utf-8",
            dimensions=(rows, 100),
            timeout=20,
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.close(force=True)


def _type(child: Any, text: str) -> None:
    """Types once the prompt is there: it switches bracketed paste on when it is ready."""
    child.expect_exact("\x1b[?2004h")
    child.send(text + "\r")


def _ends(child: Any, code: int) -> str:
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == code, child.before
    return ESCAPES.sub("", child.before)


def test_chat_then_handoff_shows_link_and_code_and_leaves(spawn: Spawn, stub: StubService) -> None:
    chat = spawn("chat")
    _type(chat, "hello there")
    chat.expect("You said")
    _type(chat, "/handoff telegram")
    chat.expect("picked up")
    chat.expect("agent confirmed")
    chat.expect("All 2 messages arrived")
    chat.expect_exact(LINK)
    assert "█▀▀▀▀▀█" in _ends(chat, 0)


def test_a_second_terminal_resumes_and_goes_on(spawn: Spawn, stub: StubService) -> None:
    first = spawn("chat", "--title", "Trip")
    _type(first, "plan it")
    first.expect("You said")
    _type(first, "/handoff telegram")
    _ends(first, 0)
    second = spawn("chat")
    _type(second, "/resume trip")
    second.expect("Said meanwhile")
    second.expect("I am here now")
    second.expect("is here now")
    _type(second, "and now?")
    second.expect("You said")
    _type(second, "/quit")
    _ends(second, 0)


def test_the_old_terminal_is_told_where_the_session_lives(spawn: Spawn, stub: StubService) -> None:
    stub.state.script.stop_after = 4
    chat = spawn("chat")
    _type(chat, "hello")
    chat.expect("You said")
    _type(chat, "/handoff telegram")
    chat.expect("session moved")
    chat.sendintr()
    chat.expect("eave it running")
    chat.send("l\r")
    chat.expect("handoff status h1")
    _type(chat, "still here?")
    chat.expect_exact(f"lives at {LINK} now")
    chat.expect("/resume")
    _type(chat, "/resume")
    chat.expect("is here now")
    _type(chat, "and again")
    chat.expect("You said")
    _type(chat, "/quit")
    _ends(chat, 0)


def test_two_terminals_in_one_session_have_one_writer(spawn: Spawn, stub: StubService) -> None:
    first = spawn("chat", "--title", "Both")
    _type(first, "hello")
    first.expect("You said")
    second = spawn("chat", "--resume", "both")
    second.expect("is here now")
    _type(first, "me too")
    first.expect("Another terminal took this session over")


def test_ctrl_c_while_waiting_can_cancel(spawn: Spawn, stub: StubService) -> None:
    stub.state.script.stop_after = 2
    chat = spawn("chat")
    _type(chat, "hello")
    chat.expect("You said")
    _type(chat, "/handoff telegram")
    chat.expect("picked up")
    chat.sendintr()
    chat.expect("ancel it")
    chat.send("c\r")
    chat.expect("cancelled on request. The session is intact")
    _type(chat, "go on")
    chat.expect("You said")


def test_ctrl_c_stops_waiting_for_the_agent_but_not_the_session(spawn: Spawn, stub: StubService) -> None:
    stub.state.script.turn_polls = 0
    chat = spawn("chat")
    _type(chat, "hello")
    chat.expect("thinking")
    chat.sendintr()
    chat.expect("Stopped waiting. The agent goes on")
    _type(chat, "/handoff telegram")
    chat.expect("still answering")
    _type(chat, "another")
    chat.expect("still answering")


def test_too_late_to_cancel_is_told_and_no_step_is_shown_twice(spawn: Spawn, stub: StubService) -> None:
    stub.state.script.stop_after = 4
    chat = spawn("chat")
    _type(chat, "hello")
    chat.expect("You said")
    _type(chat, "/handoff telegram")
    chat.expect("session moved")
    chat.sendintr()
    chat.expect("ancel it")
    chat.send("c\r")
    chat.expect("has moved already")
    stub.state.script.stop_after = 99
    assert "picked up" not in _ends(chat, 0)


@pytest.mark.parametrize("requests", range(1, 9))
def test_ctrl_c_at_any_moment_ends_with_a_word_and_no_traceback(
    environ: dict[str, str], stub: StubService, tmp_path: Any, requests: int
) -> None:
    stub.state.script.poll_after_ms = 100
    stub.faults.append(Fault(".*", after=requests, hang=threading.Event()))
    path = tmp_path / "s.jsonl"
    path.write_text('{"role": "user", "content": "hi"}')
    process = subprocess.Popen(
        [sys.executable, "-m", "handoff_cli", "send", "telegram", "--transcript", str(path)],
        env={**environ, **stub.environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert stub.hanging.wait(20)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == 130
    assert stderr.count("\n") == 1
    assert ("handoff status h1" in stderr) == bool(stub.state.handoffs)


def test_the_terminal_is_as_it_was_after_ctrl_c(spawn: Spawn, stub: StubService) -> None:
    stub.state.script.turn_polls = 0
    chat = spawn("chat")
    before = termios.tcgetattr(chat.child_fd)
    _type(chat, "hello")
    chat.expect("thinking")
    chat.sendintr()
    _type(chat, "/quit")
    chat.expect(pexpect.EOF)
    assert termios.tcgetattr(chat.child_fd)[:4] == before[:4]
    assert chat.before.rfind("\x1b[?25h") > chat.before.rfind("\x1b[?25l")
    assert chat.before.rfind("\x1b[?2004l") > chat.before.rfind("\x1b[?2004h")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/handoff", "Where to\\?"),
        ("/handoff nix", "no platform"),
        ("/handoff matrix", "not supported yet"),
        ("/handoff discord", "not configured"),
        ("/handoff slack", "No home on slack"),
        ("/nonsense", "There is no /nonsense"),
    ],
)
def test_refusals_say_what_to_do_and_leave_the_session_alone(
    spawn: Spawn, stub: StubService, line: str, said: str
) -> None:
    chat = spawn("chat")
    _type(chat, line)
    chat.expect(said)
    _type(chat, "/quit")
    _ends(chat, 0)
    assert stub.state.sessions == {}


def test_a_failed_handoff_says_why_and_that_the_session_is_intact(spawn: Spawn, stub: StubService) -> None:
    stub.state.script.stop_after = 5
    stub.state.script.error = {"code": "rejected", "message": "The bot was removed from the chat"}
    chat = spawn("chat")
    _type(chat, "hello")
    chat.expect("You said")
    _type(chat, "/handoff telegram")
    chat.expect("removed from the chat. The session is intact")
    stub.state.script.error = None
    _type(chat, "go on")
    chat.expect("You said")


def test_slash_commands_show_and_change_things(spawn: Spawn, stub: StubService) -> None:
    chat = spawn("chat")
    _type(chat, "/help")
    chat.expect("/handoff PLATFORM")
    _type(chat, "/status")
    chat.expect("Nothing was said yet")
    _type(chat, "hello")
    chat.expect("You said")
    _type(chat, "/title Better name")
    chat.expect("The title is now")
    _type(chat, "/sessions")
    chat.expect("Better name")
    _type(chat, "/history")
    chat.expect("hello")
    _type(chat, "/new Second")
    chat.expect("A new session begins")
    _type(chat, "again")
    chat.expect("You said")
    _type(chat, "/quit")
    _ends(chat, 0)
    assert [session["title"] for session in stub.state.sessions.values()] == ["Better name", "Second"]


def test_several_lines_and_completion(spawn: Spawn, stub: StubService) -> None:
    chat = spawn("chat")
    chat.expect_exact("\x1b[?2004h")
    chat.send("one\x1b\rtwo\r")
    chat.expect("You said")
    chat.expect_exact("\x1b[?2004h")
    chat.send("/sta\t")
    chat.expect("tus")
    chat.send("\r")
    chat.expect("2 messages")
    _type(chat, "/h")
    chat.expect("Did you mean /handoff or /history or /help")
    assert next(iter(stub.state.transcripts.values()))[0]["content"] == "one\ntwo"


def test_an_ambiguous_title_is_a_list_to_choose_from(spawn: Spawn, stub: StubService) -> None:
    stub.state.put_session("aaa", {"title": "Trip north"})
    stub.state.put_session("bbb", {"title": "Trip south"})
    chat = spawn("chat")
    _type(chat, "/resume trip")
    chat.expect("Which one")
    chat.send("2\r")
    chat.expect("Trip north” is here now")
    assert stub.state.sessions["aaa"]["epoch"] == 1


def test_an_ambiguous_name_on_the_command_line_is_a_list_too(spawn: Spawn, stub: StubService) -> None:
    stub.state.put_session("aaa", {"title": "Trip north"})
    stub.state.put_session("bbb", {"title": "Trip south"})
    resume = spawn("resume", "trip")
    resume.expect("Which one")
    resume.send("1\r")
    assert "Trip south” is back" in _ends(resume, 0)


def test_ctrl_c_and_ctrl_d_at_the_prompt(spawn: Spawn) -> None:
    chat = spawn("chat")
    chat.expect_exact("\x1b[?2004h")
    chat.sendintr()
    chat.expect("/quit leaves")
    chat.expect_exact("\x1b[?2004h")
    chat.sendeof()
    _ends(chat, 0)


def test_send_in_a_terminal_asks_about_likely_secrets(spawn: Spawn, stub: StubService, tmp_path: Any) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"role": "user", "content": "AKIA' + 'IOSFODNN7EXAMPLE"}')
    send = spawn("send", "telegram", "--transcript", str(path))
    send.expect("Send them as they are")
    send.send("\r")
    assert "Nothing was sent" in _ends(send, 130)
    assert stub.state.sessions == {}


def test_ctrl_c_without_a_terminal_leaves_it_running_and_says_so(
    environ: dict[str, str], stub: StubService, tmp_path: Any
) -> None:
    stub.state.script.stop_after = 2
    path = tmp_path / "s.jsonl"
    path.write_text('{"role": "user", "content": "hi"}')
    process = subprocess.Popen(
        [sys.executable, "-m", "handoff_cli", "send", "telegram", "--transcript", str(path)],
        env={**environ, **stub.environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    while "picked up" not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "goes on. Look again with: handoff status h1" in stderr


def test_colours_stay_out_with_no_color_and_the_code_out_of_small_or_dumb_terminals(
    spawn: Spawn, stub: StubService, tmp_path: Any
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"role": "user", "content": "hi"}')
    command = ("send", "telegram", "--transcript", str(path))
    plain = spawn(*command, NO_COLOR="1")
    plain.expect(pexpect.EOF)
    assert "\x1b[3" not in plain.before
    assert "█▀▀▀▀▀█" in plain.before
    small = spawn(*command, rows=10)
    small.expect(pexpect.EOF)
    assert "█▀▀▀▀▀█" not in small.before
    dumb = spawn(*command, TERM="dumb")
    dumb.expect(pexpect.EOF)
    assert "█▀▀▀▀▀█" not in dumb.before
    assert "\x1b" not in dumb.before
