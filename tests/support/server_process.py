"""`python -m local.server` as a program that tests start, kill and start again."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import httpx

from local.chats import CHATS
from local.chats.simulator import Simulator
from local.service import LocalService
from tests.support.api_user import ApiUser
from tests.support.servers import NO_TLS
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60.0


def bot_variables(platforms: Simulator, names: tuple[str, ...]) -> dict[str, str]:
    """The variables of real bots, whose platforms a simulator outside the program plays."""
    found: dict[str, str] = {}
    for chat in CHATS:
        if chat.name in names and chat.relay:
            tokens = {*chat.spec.secrets, *chat.relay.secrets} - set(chat.relay.shared_secrets)
            found |= {name.replace("/", "_").upper(): platforms.secrets[name] for name in tokens}
            options = platforms.relay_options(chat.name).items()
            found |= {f"{chat.name}_{name}".upper(): url for name, url in options}
            prefix = chat.name.upper()
            found[f"{prefix}_API_URL"] = platforms.api_url(chat.name)
            found[f"{prefix}_USER_ID"] = chat.people["owner"]
            found[f"{prefix}_HOME"] = chat.homes["owner"]
    return found


class ServerProcess:
    """The program on a directory. What tests of the whole service need of a service is here, too."""

    def __init__(
        self,
        data: Path,
        platforms: Simulator | None = None,
        *,
        names: tuple[str, ...] = (),
        python: str = sys.executable,
        **more: str,
    ):
        self.data, self._python = data, python
        self.output = data.with_name(f"{data.name}.output")
        bots = bot_variables(platforms, names) if platforms else {}
        self.environment = {**os.environ, **bots, **more}
        self._platforms = platforms
        self._port = 0
        self._http = httpx.Client(timeout=5, verify=NO_TLS)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when it answers. A restart uses the same port."""
        self.launch()
        eventually(self.answers, within=START_SECONDS, show=self.output.read_text)
        self._port = httpx.URL(self.url).port or 0

    def launch(self) -> None:
        """Start a process, and do not wait for it."""
        with self.output.open("ab") as stream:
            self.process = subprocess.Popen(
                self.command(), cwd=ROOT, env=self.environment, stdout=stream, stderr=stream, umask=0
            )

    def command(self) -> list[str]:
        """Without a runner: the agents of the developer must not answer tests."""
        options = ["--data", str(self.data), "--listen", f"127.0.0.1:{self._port}", "--no-runner"]
        return [self._python, "-m", "local.server", *options]

    def kill(self) -> None:
        """SIGKILL; nothing of the process is left when this returns."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(30)

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    @property
    def variables(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in (self.data / "env").read_text().splitlines())

    @property
    def url(self) -> str:
        return self.variables["HANDOFF_URL"]

    @property
    def tokens(self) -> dict[str, str]:
        return {"owner": self.variables["HANDOFF_TOKEN"]}

    @property
    def simulator(self) -> Simulator:
        assert self._platforms is not None
        return self._platforms

    def user(self) -> ApiUser:
        return user_of(self)

    def answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.output.read_text()
        try:
            return self._http.get(f"{self.url}/health").status_code == 200
        except (OSError, httpx.TransportError):
            return False


def user_of(service: Any) -> ApiUser:
    """The owner of a service that has what `ApiUser` needs: `url`, `tokens`, `simulator`."""
    return ApiUser(cast("LocalService", service))
