"""A service of its own, the scripted agent behind it, and a directory in which `handoff` is a command."""

import json
import logging
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docs.recording.story import answer
from examples.agent.agent import serve
from local.service import ROOT, LocalService
from shared.domain.routes import Place

FORUM = "-1001000000001"
_LINKS = "https://t.me"  # the link of a real Telegram: a page of this machine's own has a port, and no phone reaches it


@dataclass(frozen=True)
class Stage:
    """What the actors need."""

    service: LocalService
    environ: dict[str, str]
    directory: str

    def thread(self) -> dict[str, Any] | None:
        """The thread in the forum, once it is there."""
        chats = self.service.simulator.state()["platforms"]["telegram"]["chats"]
        threads = next(chat["threads"] for chat in chats if chat["id"] == FORUM)
        return threads[0] if threads else None

    def typing_shown(self) -> int:
        """How often the forum was told that the agent is typing."""
        calls = (call for call in self.service.simulator.calls if call.name == "sendChatAction")
        return sum(call.arguments.get("chat_id") == FORUM for call in calls)

    @property
    def forum(self) -> str:
        chats = self.service.simulator.state()["platforms"]["telegram"]["chats"]
        return str(next(chat["title"] for chat in chats if chat["id"] == FORUM))

    @property
    def private(self) -> list[str]:
        """What no picture may show."""
        ports = [url.rpartition(":")[2] for url in (self.service.url, self.service.simulator.url)]
        return [*self.service.tokens.values(), *ports, self.directory, str(ROOT), str(Path.home())]


@contextmanager
def stage() -> Iterator[Stage]:
    """Nothing of it is left afterwards."""
    logging.getLogger().setLevel(logging.ERROR)
    key = secrets.token_hex(16)
    agent = serve(key, 0, answer)
    threading.Thread(target=agent.serve_forever, daemon=True).start()
    urls = json.dumps({"telegram": {"link": _LINKS}})
    parameters = {"Agent": "http", "AgentUrl": f"http://127.0.0.1:{agent.server_port}/", "PlatformUrls": urls}
    try:
        with (
            LocalService(parameters=parameters, secrets={"agent/key": key}) as service,
            tempfile.TemporaryDirectory() as directory,
        ):
            service.store.accounts.set_home("owner", Place("telegram", FORUM))
            environ = _environ(service, directory)
            _rehearse({**environ, "HANDOFF_TOKEN": service.tokens["other"]})
            yield Stage(service, environ, directory)
    finally:
        agent.shutdown()
        agent.server_close()


def _rehearse(environ: dict[str, str]) -> None:
    """One handoff of somebody else, not recorded: a service just started is slower once than it is ever after."""
    command = [sys.executable, "-m", "handoff_cli", "send", "telegram", "--yes", "--json"]
    transcript = str(ROOT / "examples" / "session.jsonl")
    subprocess.run([*command, "--transcript", transcript], env=environ, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  # our own program


def _environ(service: LocalService, directory: str) -> dict[str, str]:
    command = Path(directory) / "bin" / "handoff"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m handoff_cli "$@"\n')
    command.chmod(0o755)
    return {
        "PATH": f"{command.parent}:/usr/bin:/bin",
        "PYTHONPATH": str(ROOT / "cli"),
        "HOME": directory,
        "LANG": "C.UTF-8",
        "HANDOFF_URL": service.url,
        "HANDOFF_TOKEN": service.tokens["owner"],
    }
