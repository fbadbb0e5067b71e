"""`.local/env` while several runs of one checkout come and go."""

import socket
import stat
from pathlib import Path

import pytest

from local.env_file import env_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".local" / "env"


def test_it_is_its_owners_alone_and_goes_with_its_run(path: Path) -> None:
    with env_file(path, {"HANDOFF_URL": "http://127.0.0.1:1", "HANDOFF_TOKEN": "t"}):
        assert path.read_text() == "HANDOFF_URL=http://127.0.0.1:1\nHANDOFF_TOKEN=t\n"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == []


def test_the_run_that_had_it_before_gets_it_back_while_it_runs(path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as first:
        url = f"http://127.0.0.1:{first.getsockname()[1]}"
        with env_file(path, {"HANDOFF_URL": url}):
            with env_file(path, {"HANDOFF_URL": "http://127.0.0.1:1"}):
                assert url not in path.read_text()
            assert url in path.read_text()
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


def test_what_a_killed_run_left_behind_does_not_come_back(path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    path.parent.mkdir()
    path.write_text(f"HANDOFF_URL=http://127.0.0.1:{port}\n")
    with env_file(path, {"HANDOFF_URL": "http://127.0.0.1:1"}):
        pass
    assert not path.exists()


def test_a_run_that_ends_leaves_the_file_of_a_newer_one(path: Path) -> None:
    with env_file(path, {"HANDOFF_URL": "http://127.0.0.1:1"}):
        path.write_text("HANDOFF_URL=http://127.0.0.1:2\n")
    assert path.read_text() == "HANDOFF_URL=http://127.0.0.1:2\n"
