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


AGAIN = """
import os
import signal
import sys
from local.interruptible import SIGNALS, interruptible, start_again

def program():
    if "AGAIN" not in os.environ:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        os.kill(os.getpid(), signal.SIGTERM)
        start_again({**os.environ, "AGAIN": "yes"})
    print("It goes on.")

sys.exit(interruptible(program, "Stopped."))
"""


EARLY = """
import os
import signal
import sys
from local.interruptible import heed_stops, interruptible, wait_for_signal

def program():
    heed_stops()
    os.kill(os.getpid(), signal.SIGTERM)
    return 0 if wait_for_signal() == signal.SIGTERM else 1

sys.exit(interruptible(program, "Stopped."))
"""


@pytest.mark.parametrize("where", ["raise KeyboardInterrupt", 'exec("raise KeyboardInterrupt")'])
def test_an_interrupt_ends_with_a_message_and_130(where: str, tmp_path: Path) -> None:
    """Run with -m, as `make run` is: only there does CPython look at interrupts that were handled."""
    assert run(tmp_path, PROGRAM.format(where=where)) == (130, "\nStopped.\n", "")


def test_a_stop_that_comes_as_a_program_starts_again_ends_it(tmp_path: Path) -> None:
    assert run(tmp_path, AGAIN) == (130, "\nStopped.\n", "")


def test_a_stop_that_comes_before_it_is_waited_for_is_kept(tmp_path: Path) -> None:
    assert run(tmp_path, EARLY) == (0, "", "")


def run(directory: Path, program: str) -> tuple[int, str, str]:
    (directory / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "-m", "program"],
        cwd=directory,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr
