"""The baseline: a gateway that looks into its table every two seconds, with the same agent, SDK and simulated chat."""

import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.clients import PLATFORM
from bench.figures import Figures, p50, p95
from local.chats import CHATS
from local.chats.simulator import Simulator
from local.server.composition import settings_from
from shared.agents.registry import build_agent
from shared.clock import SystemClock
from shared.domain.routes import Place
from shared.platforms.registry import PlatformRegistry
from shared.ports.agents import Cancellation, TurnInput

INTERVAL = 2.0
REQUESTS = 25
GAP = 0.618
"""Seconds between requests: no simple part of the interval, so that they fall evenly on its phases."""
_SCHEMA = "CREATE TABLE handoffs (id TEXT PRIMARY KEY, state TEXT NOT NULL)"


class PollingGateway:
    """Works on all pending rows that it finds, at the same time. `completed` is set at once: its clients do not poll."""

    def __init__(self, path: Path, simulator: Simulator) -> None:
        settings = settings_from(
            {}, public_url="", platform_urls={PLATFORM: {"api": simulator.api_url(PLATFORM), "link": simulator.url}}
        )
        self._path = path
        self._clock = SystemClock()
        self._agent = build_agent(settings, simulator.secrets, self._clock)
        self._platform = PlatformRegistry(settings, simulator.secrets).get(PLATFORM)
        self._home = Place(PLATFORM, next(chat.homes["owner"] for chat in CHATS if chat.name == PLATFORM))
        self._pool = ThreadPoolExecutor(8)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="gateway", daemon=True)
        self.completed: dict[str, threading.Event] = {}
        self._execute(_SCHEMA)

    def start(self) -> None:
        self._work("warm-up")  # loads the SDK, as the service does after its start
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._pool.shutdown()

    def request(self) -> float:
        """Ask for a handoff; the seconds until it is completed."""
        began, handoff_id = time.perf_counter(), uuid.uuid4().hex
        done = self.completed[handoff_id] = threading.Event()
        self._execute("INSERT INTO handoffs VALUES (?, 'pending')", handoff_id)
        done.wait()
        return time.perf_counter() - began

    def _poll(self) -> None:
        while not self._stopping.wait(INTERVAL):
            for (handoff_id,) in self._execute("SELECT id FROM handoffs WHERE state = 'pending'"):
                self._execute("UPDATE handoffs SET state = 'running' WHERE id = ?", handoff_id)
                self._pool.submit(self._work, handoff_id)

    def _work(self, handoff_id: str) -> None:
        thread = self._platform.open_thread(self._home, "Bench", key=handoff_id, people=())
        turn = TurnInput([{"role": "user", "content": "hi"}], self._clock.now() + 60_000, Cancellation())
        reply = self._agent.reply(turn)
        for number, part in enumerate(self._platform.render(reply)):
            self._platform.send(thread, part, key=f"{handoff_id}-{number}")
        self._execute("UPDATE handoffs SET state = 'completed' WHERE id = ?", handoff_id)
        if handoff_id in self.completed:
            self.completed[handoff_id].set()

    def _execute(self, statement: str, *values: str) -> list[tuple[str, ...]]:
        with closing(sqlite3.connect(self._path, timeout=10)) as connection, connection:
            return connection.execute(statement, values).fetchall()


def run(figures: Figures) -> Iterator[str]:
    with TemporaryDirectory() as directory, Simulator() as simulator:
        gateway = PollingGateway(Path(directory) / "gateway.db", simulator)
        gateway.start()
        with ThreadPoolExecutor(REQUESTS) as clients:
            asked = []
            for _ in range(REQUESTS):
                asked.append(clients.submit(gateway.request))
                time.sleep(GAP)
            seconds = [one.result() for one in asked]
        gateway.stop()
    figures.note("polling p50", p50(seconds))
    figures.note("polling p95", p95(seconds))
    yield f"a gateway that polls every {INTERVAL:.0f} s: p50 {p50(seconds):.2f} s, p95 {p95(seconds):.2f} s"
