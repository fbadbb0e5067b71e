"""A real agent behind `handoff run`, and the thread in which it answers."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

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

    @property
    def _found(self) -> dict[str, Any]:
        threads = self.user.threads(self.title, PLATFORM)
        (thread,) = [one for one in threads if self.owner in {"", f"{PLATFORM}:{one['chat']}:{one['id']}"}]
        return thread

    def say(self, text: str) -> None:
        self.user.service.simulator.say(PLATFORM, str(self._found["chat"]), text, thread=str(self._found["id"]))

    def shows(self, text: str) -> dict[str, Any]:
        """The first message of the bot that contains the text; waits for it."""

        def look() -> dict[str, Any] | None:
            written = [message for message in self._found["messages"] if message["from"] == "bot"]
            return next((message for message in written if text in message["text"]), None)

        return eventually(look, within=60, show=lambda: [message["text"] for message in self._found["messages"]])

    def press(self, label: str) -> None:
        """Press the newest button with this label; waits until there is one."""

        def look() -> tuple[str, str] | None:
            for message in reversed(self._found["messages"]):
                for button in message.get("buttons") or []:
                    if label in button["label"]:
                        return str(message["id"]), str(button["id"])
            return None

        message, button = eventually(look, within=60, show=lambda: self._found["messages"])
        where = {"platform": PLATFORM, "chat": self._found["chat"], "thread": self._found["id"], "user": "owner"}
        address = f"{self.user.service.simulator.url}/press"
        httpx.post(address, json={**where, "message": message, "button": button}).raise_for_status()


@contextmanager
def runner(laptop: Home, user: ApiUser) -> Iterator[None]:
    """`handoff run` of this machine, for the length of the block. Runners of other tests may look online, too."""
    before = _online(user)
    process = subprocess.Popen([*HANDOFF, "run"], cwd=laptop.project, env=laptop.environ, stdin=subprocess.DEVNULL)
    try:
        eventually(lambda: _online(user) - before, within=60)
        yield
    finally:
        process.terminate()
        process.wait(30)


def _online(user: ApiUser) -> set[str]:
    return {each["id"] for each in user.http.get("/runners").json()["runners"] if each["online"]}
