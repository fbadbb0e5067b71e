"""What importing the SQLite engine loads: it is part of every start."""

import json
import subprocess
import sys

PROGRAM = """
import json, sys
from shared.sqlite import database, queues, secrets, tables
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def test_the_engine_needs_only_the_standard_library() -> None:
    clean = [sys.executable, "-S", "-P", "-c", f"import sys; sys.path.insert(0, '.'){PROGRAM}"]
    loaded = set(json.loads(subprocess.run(clean, check=True, capture_output=True, text=True).stdout))
    assert loaded - sys.stdlib_module_names - {"__main__"} == {"shared"}
