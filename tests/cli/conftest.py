"""Fixtures of the CLI's tests: a stub service, and a way to run the program as a person would."""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

from handoff_cli.main import main
from tests.cli.stub_service import StubService
from tests.support.pseudo_terminal import Spawn

CLI = Path(__file__).parents[2] / "cli"

Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]


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
    """Runs `handoff …` against the stub inside this process, without a terminal; keywords go to the environment."""

    def call(*argv: str, stdin: str = "", cwd: Path = tmp_path, **extra: str) -> Done:
        said, complained = _stream(), _stream()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
            try:
                code = main(
                    argv,
                    environ={**environ, **stub.environ, **extra},
                    directory=str(cwd),
                    stdin=_stream(stdin.encode()),
                    stdout=said,
                    stderr=complained,
                )
            except SystemExit as usage:
                code = int(usage.code or 0)
        return Done(argv, code, _text(said), _text(complained))

    return call


@pytest.fixture
def run_program(environ: dict[str, str], tmp_path: Path, stub: StubService) -> Run:
    """The same as a program of its own: for what the environment does to the libraries."""

    def call(*argv: str, **extra: str) -> Done:
        command = [sys.executable, "-m", "handoff_cli", *argv]
        variables = {**environ, **stub.environ, **extra}
        return subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=variables, timeout=60, check=False
        )

    return call


@pytest.fixture
def spawn(environ: dict[str, str], stub: StubService) -> Iterator[Spawn]:
    started: list[Any] = []

    def start(*argv: str, rows: int = 60, **extra: str) -> Any:
        child = pexpect.spawn(
            sys.executable,
            ["-m", "handoff_cli", *argv],
            env={**environ, **stub.environ, "TERM": "xterm-256color", **extra},
            encoding="utf-8",
            dimensions=(rows, 100),
            timeout=40,
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.close(force=True)


def _stream(raw: bytes = b"") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.detach().getvalue().decode()  # type: ignore[attr-defined]  # it is the BytesIO from above
