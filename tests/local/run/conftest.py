"""`make run` as a program: one for all tests that only look at it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from local.service import WARM
from tests.support.processes import Port, in_session, listening
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[3]
AGENT_KEY = "sk-a-real-key-of-this-user"


@dataclass(frozen=True)
class LocalRun:
    """A running program. `directory` holds all files that it may write, `output` is what it printed."""

    session: int
    directory: Path
    output: Path
    variables: dict[str, str]

    @property
    def processes(self) -> list[int]:
        return in_session(self.session)

    @property
    def ports(self) -> list[Port]:
        return listening(self.processes)

    @property
    def api(self) -> httpx.URL:
        return httpx.URL(self.variables["HANDOFF_URL"])

    @property
    def simulator(self) -> httpx.URL:
        return httpx.URL(self.variables["HANDOFF_SIM_URL"])


@pytest.fixture(scope="session")
def local_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalRun]:
    """All ports are open. The umask is 0: a file is private only if the program makes it so."""
    if not Path("/proc/net/tcp").exists():
        pytest.skip("needs /proc of Linux")
    directory = tmp_path_factory.mktemp("run")
    (directory / "tmp").mkdir()
    environment = {
        **os.environ,
        "HANDOFF_LOCAL_DIR": str(directory / ".local"),
        "HANDOFF_AGENT_KEY": AGENT_KEY,
        "TMPDIR": str(directory / "tmp"),
    }
    output = directory.parent / f"{directory.name}.output"
    with output.open("wb") as stream:
        program = subprocess.Popen(
            [sys.executable, "-m", "local"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
            umask=0,
        )
    try:
        eventually(lambda: "Events:" in output.read_text(), within=90, show=output.read_text)
        lines = (directory / ".local" / "env").read_text().splitlines()
        run = LocalRun(program.pid, directory, output, dict(line.split("=", 1) for line in lines))
        eventually(lambda: len(run.ports) >= len(("api", "simulator", "aws", *WARM)), within=90)
        yield run
        program.send_signal(signal.SIGINT)
        assert program.wait(30) == 0
    finally:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()
