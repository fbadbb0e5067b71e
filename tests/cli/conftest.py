"""Fixtures of the CLI's tests: the real service in this process, behind a proxy that can fail, and ways to run the CLI."""

import contextlib
import io
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pexpect
import pytest

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.config.sources import Configuration
from handoff_cli.main import main
from tests.support.fault_proxy import FaultProxy
from tests.support.pseudo_terminal import Spawn
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from tests.support.one_machine import OneMachine

CLI = Path(__file__).parents[2] / "cli"
HOME_CHAT = "-1001000000001"  # the forum: a private chat is open to its own person only
PROGRAM = [sys.executable, "-m", "handoff_cli"]

Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]


@dataclass(frozen=True)
class User:
    """A new user of the service with a home chat on Telegram. `api` calls the service without the proxy."""

    token: str
    api: Service

    def session(self, title: str | None = None, messages: list[Json] | None = None) -> str:
        """Create a session and return its id."""
        session_id = uuid.uuid4().hex
        self.api.put_session(session_id, {"title": title} if title else {})
        if messages:
            self.api.call("POST", f"/sessions/{session_id}/messages", {"epoch": 0, "after": 0, "messages": messages})
        return session_id

    def request_handoff(self, session_id: str) -> str:
        """Request a handoff to Telegram and return its id."""
        epoch = self.api.session(session_id)["epoch"]
        body = {"session_id": session_id, "platform": "telegram", "epoch": epoch}
        return str(self.api.request_handoff(body, key=uuid.uuid4().hex)["id"])

    def hand_over(self, session_id: str) -> Json:
        """Hand the session over to Telegram and wait for the end."""
        handoff_id = self.request_handoff(session_id)

        def done() -> Json | None:
            handoff = self.api.handoff(handoff_id)
            return handoff if handoff["done"] else None

        return eventually(done)

    @property
    def sessions(self) -> list[Json]:
        return list(self.api.sessions())


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[OneMachine]":
    """The service on one machine, once per worker process."""
    from tests.support.one_machine import one_machine  # noqa: PLC0415  # slow to import; many tests here do without it

    with one_machine(tmp_path_factory.mktemp("service")) as running:
        yield running


@pytest.fixture
def user(service: "OneMachine") -> Iterator[User]:
    from shared.domain.routes import Place  # noqa: PLC0415  # see above
    from shared.domain.tokens import FIRST  # noqa: PLC0415  # see above
    from shared.use_cases.people.authenticate import hash_of, new_token  # noqa: PLC0415  # see above

    user_id = f"u-{uuid.uuid4().hex[:12]}"
    token = new_token(user_id)
    service.store.accounts.add_token(user_id, hash_of(token), scopes=FIRST)
    service.store.accounts.set_home(user_id, Place("telegram", HOME_CHAT))
    with Service(Configuration(service.url, token, "test", "test")) as api:
        yield User(token, api)


@pytest.fixture
def proxy(service: "OneMachine") -> Iterator[FaultProxy]:
    with FaultProxy(service.url) as running:
        yield running


@pytest.fixture
def hold(service: "OneMachine", user: User) -> Iterator[Callable[..., None]]:
    """Delay handoffs: Telegram answers the next call of this kind with a rate limit."""

    def arm(on: str, seconds: float = 3.0) -> None:
        service.simulator.arm("telegram", "rate_limit", 1, on=on, seconds=seconds)

    yield arm
    service.simulator.arm("telegram", "rate_limit", 0)
    for handoff in user.api.handoffs():
        with contextlib.suppress(Exception):  # too late to cancel: it ends without help
            user.api.cancel(handoff["id"])


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment without a way to a real service or to the developer's files."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(CLI),
        "PYTHONSAFEPATH": "1",
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "120",
    }


@pytest.fixture
def connected(environ: dict[str, str], proxy: FaultProxy, user: User) -> dict[str, str]:
    """The same with the service behind the proxy."""
    return {**environ, "HANDOFF_URL": proxy.url, "HANDOFF_TOKEN": user.token}


@pytest.fixture
def run_alone(environ: dict[str, str], tmp_path: Path) -> Run:
    """Run `handoff …` in this process, without a terminal and without a service; keywords are added to the environment."""
    return _runner(environ, tmp_path)


@pytest.fixture
def run(connected: dict[str, str], tmp_path: Path) -> Run:
    """The same with the service behind the proxy."""
    return _runner(connected, tmp_path)


def _runner(environ: dict[str, str], directory: Path) -> Run:
    def call(*argv: str, stdin: str = "", cwd: Path = directory, **extra: str) -> Done:
        stdout, stderr = _Stream(), _Stream()
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            try:
                code = main(
                    argv,
                    environ={**environ, **extra},
                    directory=str(cwd),
                    stdin=_Stream(stdin.encode()),
                    stdout=stdout,
                    stderr=stderr,
                )
            except SystemExit as usage:
                code = int(usage.code or 0)
        return Done(argv, code, stdout.text(), stderr.text())

    return call


@pytest.fixture
def run_program(connected: dict[str, str], tmp_path: Path) -> Run:
    """The same in a new process: for settings that libraries read from the environment."""

    def call(*argv: str, **extra: str) -> Done:
        command, variables = [*PROGRAM, *argv], {**connected, **extra}
        return subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=variables, timeout=60, check=False
        )

    return call


@pytest.fixture
def spawn(connected: dict[str, str]) -> Iterator[Spawn]:
    """Start `handoff …` on a pseudo-terminal; keywords are added to the environment."""
    started: list[Any] = []

    def start(*argv: str, rows: int = 60, program: list[str] = PROGRAM, **extra: str) -> Any:
        child = pexpect.spawn(
            program[0],
            [*program[1:], *argv],
            env={**connected, "TERM": "xterm-256color", **extra},
            encoding="utf-8",
            dimensions=(rows, 100),
            timeout=40,
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.close(force=True)


class _Stream(io.TextIOWrapper):
    """A text stream in memory that also has a binary buffer, as sys.stdin has."""

    def __init__(self, raw: bytes = b"") -> None:
        self._raw = io.BytesIO(raw)
        super().__init__(self._raw, encoding="utf-8")

    def text(self) -> str:
        self.flush()
        return self._raw.getvalue().decode()
