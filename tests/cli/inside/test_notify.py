"""Notices: an agent that needs the user or is done tells it in the home chat, and never waits for that."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from handoff_cli.inside.notify import notice_of
from handoff_cli.inside.send_notice import notice
from tests.cli.conftest import HOME_CHAT, PROGRAM, Run
from tests.support.servers import HANG, HttpServer
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.support.one_machine import OneMachine

STOP = {"hook_event_name": "Stop", "last_assistant_message": "my number is 4711"}


def _event(**event: Any) -> bytes:
    return json.dumps({"session_id": "s1", "cwd": "/work/api", **event}).encode()


def _said(service: "OneMachine", project: str) -> list[str]:
    """The notices about a project in the home chat."""
    chats = service.simulator.state()["platforms"]["telegram"]["chats"]
    texts = [message["text"] for chat in chats if chat["id"] == HOME_CHAT for message in chat["messages"]]
    return [text for text in texts if project in text]


def test_the_home_chat_is_told_once_a_minute(service: "OneMachine", connected: dict[str, str], tmp_path: Path) -> None:
    project = tmp_path / "an_api"

    def hook(**event: Any) -> None:
        told = json.dumps({"session_id": "s1", "cwd": str(project), **event})
        command = [*PROGRAM, "hook", "claude-code", "--notify", "telegram"]
        done = subprocess.run(command, env=connected, input=told, capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == ("", "")

    hook(**STOP)
    eventually(lambda: _said(service, "an_api") == ["an_api: Claude Code is done."], within=30)
    hook(hook_event_name="Notification", message="Claude needs your permission to use Bash")
    stamp = tmp_path / "home/.local/state/handoff/noticed"
    os.utime(stamp, (0, 0))
    hook(**STOP)  # the service refuses it: its own minute is not over
    assert stamp.stat().st_mtime > 0
    assert len(_said(service, "an_api")) == 1


def test_the_agent_never_waits(environ: dict[str, str], tmp_path: Path) -> None:
    with HttpServer(HANG) as server:
        variables = {**environ, "HANDOFF_URL": server.url, "HANDOFF_TOKEN": "t"}
        began = time.monotonic()
        command = [*PROGRAM, "hook", "codex", "--notify"]
        subprocess.run(command, env=variables, input=_event(**STOP), check=True, capture_output=True)
        assert time.monotonic() - began < 5
        eventually(lambda: server.requests, within=30)


@pytest.mark.parametrize(
    ("event", "what", "why"),
    [
        (STOP, "done", ""),
        ({"hook_event_name": "AfterAgent"}, "done", ""),
        ({"hook_event_name": "Notification", "message": "May I?"}, "needs you", "May I?"),
        ({"hook_event_name": "PermissionRequest", "tool_name": "Bash"}, "needs you", "May it use Bash?"),
    ],
)
def test_what_is_told_has_no_words_of_the_conversation(event: dict[str, Any], what: str, why: str) -> None:
    told = {"what": what, "session": "s1", "directory": "/work/api", "why": why}
    assert notice_of(_event(**event)) == told


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        _event(),
        _event(hook_event_name="UserPromptSubmit", prompt="hi"),
        _event(hook_event_name="Notification", notification_type="idle_prompt"),
        _event(hook_event_name=["Stop"]),
    ],
)
def test_nothing_else_is_told(raw: bytes) -> None:
    assert notice_of(raw) is None


def test_names_cannot_format_the_message() -> None:
    told = {"what": "needs you", "session": "", "directory": "/work/a`b*", "why": "Use `rm`\nnow"}
    assert notice("Codex", told, "https://t.me/1") == "`a'b*`: Codex needs you.\n\n`Use 'rm' now`\n\nhttps://t.me/1"


def test_turns_in_the_chat_are_not_told(run_alone: Run, tmp_path: Path) -> None:
    run_alone("hook", "claude-code", "--notify", stdin=_event(**STOP).decode(), HANDOFF_HOST="1")
    assert not (tmp_path / "home").exists()


def test_notices_are_an_option_that_stays(run_alone: Run, tmp_path: Path) -> None:
    settings = tmp_path / "home" / ".claude" / "settings.json"
    assert run_alone("install", "claude-code", "--yes").returncode == 0
    assert "--notify" not in settings.read_text()
    shown = run_alone("install", "claude-code", "--notify", "telegram", "--yes").stdout
    assert "No service is configured" in shown
    with_notices = settings.read_text()
    assert with_notices.count("--notify telegram") == 2
    assert "with notices" in run_alone("install", "--list").stdout
    assert "installed already" in run_alone("install", "claude-code", "--yes").stdout
    assert settings.read_text() == with_notices
    run_alone("install", "claude-code", "--no-notify", "--yes")
    assert (settings.read_text().count("hook claude-code"), "--notify" in settings.read_text()) == (3, False)
    run_alone("install", "claude-code", "--notify", "--yes")
    run_alone("uninstall", "claude-code", "--yes")
    assert not settings.exists()


def test_an_agent_without_such_hooks_says_so(run_alone: Run) -> None:
    done = run_alone("install", "opencode", "--notify", "--yes")
    assert (done.returncode, "claude-code, codex, gemini" in done.stderr) == (2, True)


def test_the_installation_says_where_notices_go(run: Run) -> None:
    assert "your home chat on telegram" in run("install", "codex", "--notify", "--yes").stdout
    assert "You have no home chat on slack" in run("install", "codex", "--notify", "slack", "--yes").stdout
