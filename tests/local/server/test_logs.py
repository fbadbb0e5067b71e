"""The log of the service: rotated, bounded, and closed to other users."""

import subprocess
import sys
from pathlib import Path

from local.paths import ROOT
from local.server.logs import KEPT_FILES, MAX_BYTES

SCRIPT = """
import logging, os, sys
from pathlib import Path
from local.server import logs

os.umask(0)
logs.MAX_BYTES = 2000
logs.log_to(Path(sys.argv[1]), "INFO", to_terminal=False)
logs.hide(["a-secret"])
for number in range(200):
    logging.getLogger("local.test").info("line %d with a-secret", number)
logging.getLogger("httpx").info("a URL with a token")
"""


def test_the_log_is_rotated_bounded_and_private(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "log")]
    subprocess.run(command, cwd=ROOT, check=True)

    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["log", *(f"log.{number}" for number in range(1, KEPT_FILES + 1))]
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert all(file.stat().st_size <= 2000 for file in files)
    text = "".join(file.read_text() for file in files)
    assert "line 199" in text
    assert "a-secret" not in text
    assert "token" not in text, "other packages are heard from warnings on"
    assert MAX_BYTES * (KEPT_FILES + 1) <= 20_000_000, "as docs/one-machine.md says"
