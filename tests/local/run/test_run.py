"""`make run` as a program."""

import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import in_session

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "HANDOFF_LOCAL_DIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    program = subprocess.Popen(
        [sys.executable, "-m", "local"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    yield program
    if program.poll() is None:
        os.killpg(program.pid, signal.SIGKILL)
    program.communicate()


def read_until(program: subprocess.Popen[str], words: str) -> str:
    assert program.stdout is not None
    seen = ""
    for line in program.stdout:
        seen += line
        if words in line:
            return seen
    raise AssertionError(f"it ended before saying {words!r}:\n{seen}")


def test_a_run_prints_events_and_stops_on_ctrl_c(running: subprocess.Popen[str], tmp_path: Path) -> None:
    greeting = read_until(running, "Events:")

    assert "State is in memory" in greeting
    assert "./handoff send telegram --transcript examples/session.jsonl" in greeting
    file = tmp_path / "env"
    values = dict(line.split("=", 1) for line in file.read_text().splitlines())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {"HANDOFF_URL", "HANDOFF_TOKEN", "HANDOFF_SIM_URL"} <= set(values)
    assert values["HANDOFF_URL"] in greeting
    assert values["HANDOFF_SIM_URL"] in greeting

    sent = subprocess.run(
        [ROOT / "handoff", "send", "telegram", "--transcript", "examples/session.jsonl"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **values},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert sent.returncode == 0, sent.stdout + sent.stderr
    assert re.search(rf"{re.escape(values['HANDOFF_SIM_URL'])}/#/telegram/7001/\d+", sent.stdout)
    events = read_until(running, "completed")
    assert re.search(r"\d\d:\d\d:\d\d  api +POST /handoffs → 202", events)
    assert re.search(r"agent +handoff \w+: agent confirmed \(40 messages\)", events)

    os.kill(running.pid, signal.SIGINT)
    rest, _ = running.communicate(timeout=30)
    assert running.returncode == 0
    assert "Traceback" not in rest
    assert rest.rstrip().endswith("Its sessions, threads and tokens are deleted.")
    assert not file.exists()
    assert in_session(running.pid) == []


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_run_can_be_stopped_while_it_starts(running: subprocess.Popen[str], tmp_path: Path, signum: int) -> None:
    read_until(running, "Starting")
    os.kill(running.pid, signum)
    rest, _ = running.communicate(timeout=30)
    assert (running.returncode, rest.strip()) == (130, "Stopped before it was ready. Nothing is left running.")
    assert not (tmp_path / "env").exists()
    assert in_session(running.pid) == []
