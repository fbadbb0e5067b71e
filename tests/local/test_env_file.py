"""`.local/env` with several runs of one checkout."""

import socket
import stat
from pathlib import Path

import pytest

from local.env_file import env_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".local" / "env"


def test_the_file_is_private_and_deleted_after_the_run(path: Path) -> None:
    with env_file(path, {"HANDOFF_URL": "http://127.0.0.1:1", "HANDOFF_TOKEN": "t"}):
        assert path.read_text() == "HANDOFF_URL=http://127.0.0.1:1\nHANDOFF_TOKEN=t\n"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == []


def test_a_run_that_is_still_up_gets_its_file_back(path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as first:
        url = f"http://127.0.0.1:{first.getsockname()[1]}"
        with env_file(path, {"HANDOFF_URL": url}):
            with env_file(path, {"HANDOFF_URL": "http://127.0.0.1:1"}):
                assert url not in path.read_text()
            assert url in path.read_text()
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


def test_the_file_of_a_killed_run_is_not_restored(path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    path.parent.mkdir()
    path.write_text(f"HANDOFF_URL=http://127.0.0.1:{port}\n")
    with env_file(path, {"HANDOFF_URL": "http://127.0.0.1:1"}):
        pass
    assert not path.exists()


def test_the_file_of_a_newer_run_is_left_alone(path: Path) -> None:
    with env_file(path, {"HANDOFF_URL": "http://127.0.0.1:1"}):
        path.write_text("HANDOFF_URL=http://127.0.0.1:2\n")
    assert path.read_text() == "HANDOFF_URL=http://127.0.0.1:2\n"
