"""A runner program, an agent that does what it is allowed, and a thread: nothing is done that was not shown whole."""

import json
import os
import signal
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner.conftest import Machine
from tests.support.question_text import decoded
from tests.support.runner_process import RunnerProcess, ended
from tests.support.runner_service import RunnerThread, Turn
from tests.support.servers import json_response
from tests.support.waiting import eventually

ALLOW, REJECT = "Yes", "No"
LINES = [f"echo {number} && touch file-{number}" for number in range(120)]
HIDDEN = {
    "a key without an end": {"command": "echo -----BEGIN RSA PRIVATE KEY-----\ntouch ran\necho done"},
    "a password in a URL": {"command": "curl https://me:$(touch${IFS}ran)@example.org"},
    "a password with backticks": {"command": "curl https://me:x`touch`y@example.org/a;touch ran"},
    "an assigned secret": {"command": "PASSWORD=hunter2hunter2|touch;touch ran"},
    "a token and more": {"command": "API_KEY=abcdefgh12345678&touch ran"},
    "other arguments": {
        "command": "ls",
        "env": {"LD_PRELOAD": "./ran.so"},
        "path": "/etc/passwd",
        "file_text": "root::0:0",
        "dangerouslyDisableSandbox": True,
    },
    "bidirectional overrides": {"command": "echo safe \u202e# \u2066nar hcuot\u2069 \u202c; touch ran"},
    "zero-width characters": {"command": "rm\u200b -r\u2060 build\ufeff; touch\u00ad ran"},
    "control characters": {"command": "touch ran\r\x1b[2K\x08echo safe"},
    "tag characters": {"command": "echo \U000e0074\U000e006f; touch ran"},
    "an end out of sight": {"command": "echo safe" + " " * 3000 + "; touch ran"},
    "several messages": {"command": "\n".join(LINES)},
    "more than fits": {"command": "\n".join(LINES * 4)},
    "more than fits of another script": {"command": "\n".join(f"echo {'щ' * 40} {line}" for line in LINES * 3)},
    "more than a file may have": {"command": "\n".join(LINES * 40)},
}

REFUSED = {
    "a key without an end",
    "a password in a URL",
    "a password with backticks",
    "an assigned secret",
    "a token and more",
    "more than a file may have",
}
"""What is not shown whole, because something in it looks like a secret, or it is too long: it cannot be allowed."""


@pytest.fixture
def program(machine: Machine) -> Iterator[RunnerProcess]:
    program = RunnerProcess(machine.agents, machine.proxy.url, machine.service.token)
    yield program
    program.stop_all()
    # A failed test must not leave its agents behind.
    for pid in machine.agents.noted("pid"):
        if not ended(pid):
            os.killpg(int(pid), signal.SIGKILL)


class Attempt:
    """A step that the agent asks for, and all that a user may do to allow it."""

    def __init__(self, machine: Machine, program: RunnerProcess, thread: RunnerThread, call: dict[str, Any]) -> None:
        self.machine, self.program, self.thread = machine, program, thread
        script = machine.home / "step.json"
        script.write_text(json.dumps({"call": call, "step": "the step"}))
        self.turn: Turn = machine.service.say(thread, f"do: run {script}")

    @property
    def ran(self) -> list[str]:
        return self.machine.agents.noted("ran")

    @property
    def shown(self) -> str:
        """Everything in the thread, and in the files that were posted there, without marks."""
        posted = {file["sha256"] for one in self.thread.messages() for file in one.get("files") or []}
        asked = {ask.get("file") for ask in self.turn.questions.values()} & posted
        http = self.thread.user.http
        files = [http.get(f"/sessions/{self.turn.session_id}/files/{file}").text for file in asked]
        return decoded("\n".join([*self.thread.bot_texts(), *files]))

    @property
    def hidden(self) -> set[str]:
        """Characters in the thread that nobody sees, but for those that platforms put between others."""
        characters = set("".join(self.thread.bot_texts())) - set("\n\u200b\u2060")
        return {character for character in characters if unicodedata.category(character) in {"Cc", "Cf"}}

    def allow(self) -> bool:
        """Press Allow if it is there, else try to allow it with a command; whether there was such a button."""
        (message,) = eventually(self._asked, within=60, show=self._state)
        if message is not None and any(ALLOW in button["label"] for button in message["buttons"]):
            self.thread.press(message, next(one["label"] for one in message["buttons"] if ALLOW in one["label"]))
            self._answered()
            return True
        if message is not None:
            self.thread.say("/approve 1")
            self.thread.say("/approve")
            self.thread.press(message, next(one["label"] for one in message["buttons"] if REJECT in one["label"]))
        self._answered()
        return False

    def _asked(self) -> list[Any] | None:
        """The message with the buttons; None in its place if the agent was refused without one."""
        if self.turn.is_committed:
            return [None]
        return self.thread.questions()[-1:] or None

    def _answered(self) -> None:
        eventually(lambda: self.turn.is_committed, within=60, show=self._state)

    def _state(self) -> object:
        return self.thread.bot_texts(), self.program.text()


def _texts(value: Any) -> list[str]:
    """All lines of all texts: a part of the thread ends between two lines."""
    if isinstance(value, dict):
        return [line for item in (*value, *value.values()) for line in _texts(item)]
    return str(value).split("\n") if isinstance(value, str) else [json.dumps(value)]


@pytest.mark.parametrize("platform", ["telegram", "discord"])
@pytest.mark.parametrize("what", HIDDEN)
def test_what_runs_was_shown_whole(machine: Machine, program: RunnerProcess, what: str, platform: str) -> None:
    thread = machine.hand_over(platform=platform)
    program.start()
    call = {"title": "**ls**\nall is well", "kind": "execute", "rawInput": HIDDEN[what]}
    attempt = Attempt(machine, program, thread, call)
    assert attempt.allow() is (what not in REFUSED)
    if what in REFUSED:
        assert attempt.ran == []
    else:
        assert [line for line in _texts(HIDDEN[what]) if line not in attempt.shown] == []
        assert attempt.hidden == set()
        assert attempt.ran == ["the step"]


@pytest.mark.parametrize(
    "call",
    [{}, {"title": "ls"}, {"title": "ls", "kind": "execute"}, {"title": "ls", "rawInput": {}}, {"kind": "execute"}],
)
def test_a_step_that_says_nothing_is_not_run(machine: Machine, program: RunnerProcess, call: dict[str, Any]) -> None:
    thread = machine.hand_over()
    program.start()
    attempt = Attempt(machine, program, thread, call)
    assert not attempt.allow()
    assert attempt.ran == []


@pytest.mark.parametrize("status", [413, 422])
def test_a_question_that_is_not_taken_is_refused(machine: Machine, program: RunnerProcess, status: int) -> None:
    thread = machine.hand_over()
    machine.proxy.fail("POST .*/events", response=json_response({"code": "invalid_request"}, status), count=3)
    program.start()
    attempt = Attempt(machine, program, thread, {"title": "ls", "rawInput": {"command": "touch ran"}})
    if attempt.allow():
        assert "touch ran" in attempt.shown
    else:
        assert attempt.ran == []
    details = [ask["detail"] for body in attempt.turn.sent("events") for ask in body.get("ask", [])]
    assert all("touch ran" in detail for detail in details)


def test_what_was_allowed_is_still_shown_afterwards(machine: Machine, program: RunnerProcess, tmp_path: Path) -> None:
    thread = machine.hand_over()
    program.start()
    attempt = Attempt(
        machine, program, thread, {"title": "ls", "rawInput": {"command": "touch ran", "cwd": str(tmp_path)}}
    )
    assert attempt.allow()
    assert "touch ran" in attempt.shown
    assert str(tmp_path) in attempt.shown
