"""The client of this checkout as a program, whose commands look after a directory."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
Done = subprocess.CompletedProcess[str]
Handoff = Callable[..., Done]


@pytest.fixture
def handoff(tmp_path: Path) -> Handoff:
    """Run the client of this checkout."""

    def run(*arguments: str | Path) -> Done:
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "cli")}
        command = [sys.executable, "-P", "-m", "handoff_cli", *map(str, arguments)]
        return subprocess.run(
            command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
        )

    return run
