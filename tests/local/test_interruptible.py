"""Programs end with one exit status, wherever the interrupt arrives."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
from local.interruptible import interruptible

def program():
    {where}

sys.exit(interruptible(program, "Stopped."))
"""


@pytest.mark.parametrize("where", ["raise KeyboardInterrupt", 'exec("raise KeyboardInterrupt")'])
def test_an_interrupt_ends_with_a_message_and_130(where: str, tmp_path: Path) -> None:
    """Run with -m, as `make run` is: only there does CPython look at interrupts that were handled."""
    (tmp_path / "program.py").write_text(PROGRAM.format(where=where))
    done = subprocess.run(
        [sys.executable, "-m", "program"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "\nStopped.\n", "")
