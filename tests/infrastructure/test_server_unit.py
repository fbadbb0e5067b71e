"""The unit for a server, in examples/: the program knows its options, and systemd accepts it."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from handoff_cli.arguments import parser
from local.server.options import parse

UNIT = Path(__file__).resolve().parents[2] / "examples" / "systemd" / "handoff.service"


def started() -> list[str]:
    (line,) = [each for each in UNIT.read_text().splitlines() if each.startswith("ExecStart=")]
    return shlex.split(line.partition("=")[2])


def test_it_starts_the_service_with_options_that_it_takes() -> None:
    program, *words = started()
    assert program.endswith("/handoff")
    assert parser("handoff").parse_args(words).run == "up:up"
    options = parse(words[1:], {})
    assert f"ReadWritePaths={options.directory.path.parent}" in UNIT.read_text()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_it(tmp_path: Path) -> None:
    program = tmp_path / "handoff"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    copy = tmp_path / "handoff.service"
    copy.write_text(UNIT.read_text().replace("/opt/handoff/bin/handoff", str(program)))
    done = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
