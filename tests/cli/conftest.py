"""Fixtures of the CLI's tests: a stub service, and a way to run the program as a person would."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.stub_service import StubService

CLI = Path(__file__).parents[2] / "cli"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def stub() -> Iterator[StubService]:
    with StubService() as service:
        yield service


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An environment with nothing in it that could lead to a real service or a person's files."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(CLI),
        "PYTHONSAFEPATH": "1",
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "120",
    }


@pytest.fixture
def run(environ: dict[str, str], tmp_path: Path, stub: StubService) -> Run:
    """Runs `handoff …` against the stub, without a terminal; keyword arguments go to the environment."""

    def call(
        *argv: str, stdin: str | bytes = "", cwd: Path = tmp_path, **extra: str
    ) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [sys.executable, "-m", "handoff_cli", *argv],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            cwd=cwd,
            env={**environ, **stub.environ, **extra},
            timeout=60,
            check=False,
        )
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    return call
