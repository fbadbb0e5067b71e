"""What a process does about its memory: nothing is collected while it loads, and what is loaded is left alone then."""

import subprocess
import sys
from pathlib import Path

from local.server.memory import Rest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
import gc
from local.server.memory import prepare, settle

prepare()
print(gc.isenabled())
settle()
print(gc.isenabled(), gc.get_freeze_count() > 1000)
"""


def test_the_collector_rests_until_everything_is_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "True", "True"]


def test_memory_is_given_back_once_after_work() -> None:
    rest = Rest(10.0)

    assert not rest.look(0, 0.0), "nothing was done"
    assert not rest.look(5, 1.0)
    assert not rest.look(6, 10.5), "work goes on"
    assert not rest.look(6, 20.0)
    assert rest.look(6, 20.5)
    assert not rest.look(6, 40.0)
    assert not rest.look(7, 41.0)
    assert rest.look(7, 51.0)
