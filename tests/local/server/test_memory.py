"""When a process looks for garbage."""

import subprocess
import sys
from pathlib import Path

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
