"""A real agent behind `handoff run`, and the thread in which it answers."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from handoff_cli.runner.machine.files import state_directory
from handoff_cli.runner.machine.groups import group_members
from handoff_cli.runner.machine.locks import session_locks
from handoff_cli.runner.machine.orphans import noted_agent
from tests.support.api_user import ApiUser
from tests.support.real_agents import Home
from tests.support.waiting import eventually

HANDOFF = (sys.executable, "-m", "handoff_cli")
PLATFORM = "telegram"


@dataclass(frozen=True)
class Thread:
    """The thread of a session, as the person sees it; by its title, or by the session's owner."""

    user: ApiUser
    title: str = ""
    owner: str = ""
    platform: str = PLATFORM

    @property
    def _found(self) -> dict[str, Any]:
        threads = self.user.threads(self.title, self.platform)
        (thread,) = [one for one in threads if self.owner in {"", f"{self.platform}:{one['chat']}:{one['id']}"}]
        return thread

    def say(self, text: str, **beside: Any) -> None:
        chat, thread = str(self._found["chat"]), str(self._found["id"])
        self.user.service.simulator.say(self.platform, chat, text, thread=thread, **beside)

    def answer(self, text: str) -> None:
        """Say something in the next second: platforms count in whole ones, and words before a question answer nothing."""
        now = int(time.time())
        eventually(lambda: int(time.time()) > now)
        self.say(text)

    def shows(self, text: str) -> dict[str, Any]:
        """The first message of the bot that contains the text; waits for it."""

        def look() -> dict[str, Any] | None:
            written = [message for message in self._found["messages"] if message["from"] == "bot"]
            return next((message for message in written if text in message["text"]), None)

        return eventually(look, within=60, show=lambda: [message["text"] for message in self._found["messages"]])

    @property
    def files(self) -> list[tuple[str, str]]:
        """The files that the bot has posted: name and caption."""
        written = [message for message in self._found["messages"] if message["from"] == "bot"]
        return [(file["name"], message["text"]) for message in written for file in message.get("files") or []]

    @property
    def buttons(self) -> list[str]:
        """What can be pressed, or could be once."""
        return [button["label"] for message in self._found["messages"] for button in message.get("buttons") or []]

    @property
    def texts(self) -> list[str]:
        """What the bot has written."""
        return [message["text"] for message in self._found["messages"] if message["from"] == "bot"]

    def press(self, label: str, *, times: int = 1) -> None:
        """Press the newest button with this label; waits until there is one."""

        def look() -> tuple[str, str] | None:
            for message in reversed(self._found["messages"]):
                for button in message.get("buttons") or []:
                    if label in button["label"]:
                        return str(message["id"]), str(button["id"])
            return None

        message, button = eventually(look, within=60, show=lambda: self._found["messages"])
        where = {"platform": self.platform, "chat": self._found["chat"], "thread": self._found["id"], "user": "owner"}
        address = f"{self.user.service.simulator.url}/press"
        for _ in range(times):
            httpx.post(address, json={**where, "message": message, "button": button}).raise_for_status()


@contextmanager
def runner(laptop: Home, user: ApiUser, *, again: bool = False) -> Iterator["subprocess.Popen[bytes]"]:
    """`handoff run` of this machine, for the length of the block. Runners of other tests may look online, too.

    `again`: it looks online already, because the one before was killed.
    """
    before = set() if again else _online(user)
    process = subprocess.Popen([*HANDOFF, "run"], cwd=laptop.project, env=laptop.environ, stdin=subprocess.DEVNULL)
    try:
        eventually(lambda: _online(user) - before, within=60)
        yield process
    except BaseException:
        sys.stdout.write((state_directory(laptop.environ) / "runner.log").read_text())  # for the report of the test
        raise
    finally:
        process.terminate()
        process.wait(30)


@dataclass(frozen=True)
class OpenAgent:
    """The processes of the agent that a runner has open on this machine, as long as there is one."""

    laptop: Home

    @property
    def adapters(self) -> list[int]:
        """The leaders of the groups that run."""
        locks = session_locks(state_directory(self.laptop.environ))
        return [pid for lock in locks if (pid := noted_agent(lock)) is not None]

    @property
    def adapter(self) -> int:
        (pid,) = eventually(lambda: self.adapters, within=30)
        return pid

    @property
    def core(self) -> int:
        """The agent itself, which its adapter has started."""
        return next(pid for pid in group_members(self.adapter) if _is_core(pid))

    def kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: not Path(f"/proc/{pid}").exists() or "Z" in _stat(pid), within=30)


def _is_core(pid: int) -> bool:
    return _stat(pid).partition("(")[2].partition(")")[0] in {"claude", "codex"}


def _stat(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""


def _online(user: ApiUser) -> set[str]:
    return {each["id"] for each in user.http.get("/runners").json()["runners"] if each["online"]}
