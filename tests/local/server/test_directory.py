"""The lock of a data directory: one process has it, however its files went away."""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from local.console import Console
from local.server.directory import DataDirectory, InUse
from local.server.maintenance.backup import back_up_to
from shared.sqlite.database import Database

HOLDS = """
import sys
from pathlib import Path
from local.server.directory import DataDirectory
with DataDirectory(Path(sys.argv[1])).locked():
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def directory(tmp_path: Path) -> DataDirectory:
    directory = DataDirectory(tmp_path / "data")
    directory.create()
    return directory


@contextmanager
def held(directory: DataDirectory) -> Iterator[subprocess.Popen[bytes]]:
    """Another process has the directory."""
    command = [sys.executable, "-c", HOLDS, str(directory.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("how", ["there", "removed", "made again", "moved"])
def test_a_second_process_is_refused_however_the_lock_file_went_away(directory: DataDirectory, how: str) -> None:
    lock = directory.path / "lock"
    with held(directory) as process:
        match how:
            case "removed":
                lock.unlink()
            case "made again":
                lock.unlink()
                lock.touch()
            case "moved":
                lock.rename(directory.path / "elsewhere")
        named = str(process.pid) if how == "there" else "unknown"
        assert directory.running() == named
        for _ in range(2):
            with pytest.raises(InUse, match=rf"runs on .* already \(process {named}\)"), directory.locked():
                pass


def test_another_name_of_the_directory_is_the_same_directory(directory: DataDirectory, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(directory.path)
    with held(directory):
        (directory.path / "lock").unlink()
        with pytest.raises(InUse), DataDirectory(tmp_path / "link").locked():
            pass


def test_a_killed_process_holds_nothing(directory: DataDirectory) -> None:
    with held(directory) as process:
        (directory.path / "lock").unlink()
        process.kill()
        process.wait()
        assert directory.running() is None
        with directory.locked():
            assert directory.running() is not None
    assert directory.running() is None


def test_a_backup_is_made_while_another_process_has_the_directory(directory: DataDirectory, tmp_path: Path) -> None:
    with closing(Database(directory.database)), held(directory):
        asked = argparse.Namespace(data=directory.path, file=tmp_path / "backup", force=False)
        assert back_up_to(asked, Console(is_json=True)) == 0
    assert (tmp_path / "backup").stat().st_size > 0
