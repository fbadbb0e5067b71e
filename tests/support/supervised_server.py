"""The program, started again whenever it dies, as a service manager does; its chats are outside and outlive it."""

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from random import Random

import httpx

from local.chats.simulator import Simulator
from shared.sqlite.database import Database
from shared.sqlite.tables import SqliteTables
from shared.store.bundle import Store, store_on
from tests.support.api_user import ApiUser
from tests.support.kill_points import WATCHED, Plan
from tests.support.killable_program import lines_of
from tests.support.platform_cases import THREADED
from tests.support.server_process import ServerProcess
from tests.support.waiting import eventually

RESTART_SECONDS = 60.0
CLIENT_SECONDS = 300.0
UP, DEAD = "up", "dead"


class _Persistent(httpx.HTTPTransport):
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        def ask() -> httpx.Response | None:
            try:
                answer = super(_Persistent, self).handle_request(request)
                answer.read()
            except httpx.TransportError:
                return None
            return answer

        return eventually(ask, within=CLIENT_SECONDS)


class PlannedKills:
    """Where the program is to die; `killed` tells where it has, by subject."""

    alone: Sequence[str] = WATCHED

    def __init__(self, directory: Path) -> None:
        self._planned, self._done = directory / "plans", directory / "killed"

    def plan(self, subject: str, plan: Plan) -> None:
        with self._planned.open("a") as stream:
            stream.write(json.dumps({"subject": subject, "plan": asdict(plan)}) + "\n")

    def forget(self, subject: str) -> None:
        """Each case has a thread, and with it another subject."""

    def is_repeated(self, _subject: str, _function: str) -> bool:
        """What comes late shows in the case's own thread when all cases are checked."""
        return True

    def clear(self) -> None:
        """Remove all plans."""
        self._planned.unlink(missing_ok=True)

    @property
    def killed(self) -> Mapping[str, str]:
        return {line["subject"]: line["name"] for line in lines_of(self._done)}

    @property
    def count(self) -> int:
        return len(lines_of(self._done))


class SupervisedServer(ServerProcess):
    """The program with kill points. Use `running`. `after_death` is called between its end and the next start."""

    def __init__(
        self, directory: Path, platforms: Simulator, *, names: tuple[str, ...] = tuple(THREADED), **more: str
    ) -> None:
        super().__init__(directory / "data", platforms, names=names, **more)
        self._directory = directory
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._supervise, name="supervisor", daemon=True)
        self.kills = PlannedKills(directory)
        self.after_death: Callable[[], object] = lambda: None
        self.starts = 0

    @contextmanager
    def running(self) -> Iterator["SupervisedServer"]:
        self.start()
        self._thread.start()
        try:
            yield self
        finally:
            self._is_over.set()
            self.kill()
            self._thread.join(RESTART_SECONDS)

    def start(self) -> None:
        """A process that dies while it starts is started again, too."""
        self.launch()
        while eventually(self._state, within=RESTART_SECONDS, show=self.output.read_text) == DEAD:
            if self._is_over.is_set():
                return
            self.launch()
        self._port = httpx.URL(self.url).port or 0
        self.starts += 1

    def _state(self) -> str | None:
        assert self.process is not None
        if self.process.poll() is not None:
            return DEAD
        return UP if self.answers() else None

    def user(self) -> ApiUser:
        """A user whose client repeats each request until it is answered, as real clients do.

        Other tests check the answers against docs/openapi.json, which takes longer than most requests.
        """
        user = super().user()
        user.http = httpx.Client(
            base_url=self.url,
            headers=user.http.headers,
            timeout=30,
            transport=_Persistent(),
        )
        return user

    def command(self) -> list[str]:
        _, _, _, *options = super().command()
        return [sys.executable, "-m", "tests.support.killable_program", str(self._directory), *options]

    def kill_and_wait(self) -> None:
        """SIGKILL now; returns when the next process answers."""
        starts = self.starts
        self.kill()
        eventually(lambda: self.starts > starts, within=RESTART_SECONDS)

    @cached_property
    def store(self) -> Store:
        """The store, read by this process beside the program."""
        return store_on(SqliteTables(Database(self.data / "handoff.db")))

    def sweep_now(self) -> None:
        """The program looks at everything when it starts."""

    def _supervise(self) -> None:
        while not self._is_over.is_set():
            assert self.process is not None
            self.process.wait()
            self.after_death()
            if not self._is_over.is_set():
                self.start()


def cut_power(directory: Path, chance: Random) -> int:
    """Take away what a power cut would: the end of the log, from somewhere behind what was flushed. Returns the bytes.

    The process must be dead. Without a flush nothing of the log is left.
    """
    log, note = directory / "data" / "handoff.db-wal", directory / "flushed"
    if not log.exists():
        return 0
    flushed, length = int(note.read_text() or 0) if note.exists() else 0, log.stat().st_size
    assert flushed <= length
    kept = flushed if chance.random() < 0.5 else chance.randint(flushed, length)
    with log.open("r+b") as stream:
        stream.truncate(kept)
    log.with_name("handoff.db-shm").unlink(missing_ok=True)
    return length - kept
