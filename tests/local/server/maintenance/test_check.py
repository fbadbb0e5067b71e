"""`handoff doctor` on one machine: each thing that can be wrong is found, with the command that mends it."""

import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from local.server.directory import DataDirectory
from local.server.maintenance.check import findings
from local.server.maintenance.check_files import log, modes
from local.server.maintenance.check_process import relays
from local.server.maintenance.finding import Finding
from local.server.service import Server
from local.server.state_file import StateFile, read_state
from shared.sqlite.secrets import SqliteSecrets
from tests.local.server.conftest import ANYWHERE
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[4]


def found(data: Path) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings(DataDirectory(data), "handoff")}


def failures(data: Path) -> dict[str, str]:
    return {name: finding.fix for name, finding in found(data).items() if finding.ok is False}


@pytest.fixture
def stopped(data: Path) -> Path:
    """The directory of a service that has run."""
    with Server(DataDirectory(data), {}, ANYWHERE):
        pass
    return data


def doctor(data: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(data.parent),
        "PYTHONPATH": str(ROOT / "cli"),
        "XDG_DATA_HOME": str(data.parent),
    }
    command = [sys.executable, "-P", "-m", "handoff_cli", "doctor", "--json", *arguments]
    return subprocess.run(
        command, env=environ, cwd=data.parent, capture_output=True, text=True, check=False, timeout=60
    )


def test_a_service_that_runs_has_nothing_wrong(data: Path) -> None:
    with Server(DataDirectory(data), {}, ANYWHERE):
        eventually(lambda: "chats" in found(data))
        assert failures(data) == {}
        shown = found(data)
        checked = doctor(data, "--data", str(data))
    assert shown["process"].detail == f"running, process {os.getpid()}"
    assert (shown["database"].ok, shown["env"].ok) == (True, True)
    assert shown["agent"].ok is None
    names = [check["name"] for check in json.loads(checked.stdout)["checks"]]
    assert checked.returncode == 0, checked.stdout
    assert {"data", "disk", "process", "database", "env", "log", "service", "token", "clock"} <= set(names)


def test_one_that_does_not_run_is_checked_all_the_same(stopped: Path) -> None:
    assert failures(stopped) == {"process": f"handoff up --data {stopped}"}
    usual = stopped.rename(stopped.with_name("handoff"))
    checked = doctor(usual)
    checks = {check["name"]: check for check in json.loads(checked.stdout)["checks"]}
    assert checked.returncode == 4
    assert checks["process"]["fix"] == "handoff up"
    assert checks["database"]["ok"] is True
    assert sorted(path.name for path in usual.iterdir() if "db" in path.name) == ["handoff.db"]


def test_another_service_in_use_is_not_mixed_with_this_machine(stopped: Path) -> None:
    usual = stopped.rename(stopped.with_name("handoff"))
    checked = doctor(usual, "--url", "http://127.0.0.1:1")
    assert [check["name"] for check in json.loads(checked.stdout)["checks"]] == ["service"]


def test_without_an_env_no_other_service_is_asked(stopped: Path) -> None:
    usual = stopped.rename(stopped.with_name("handoff"))
    other = usual.with_name("other")
    other.mkdir(mode=0o700)
    checked = doctor(usual, "--data", str(other))
    checks = {check["name"]: check for check in json.loads(checked.stdout)["checks"]}
    assert (checked.returncode, checks["service"]["ok"]) == (4, False)
    assert "names no service" in checks["service"]["detail"]


def test_without_a_directory_the_start_is_suggested(data: Path) -> None:
    assert failures(data) == {"data": "handoff up"}


class _Replaced(type(Path())):  # type: ignore[misc]  # the class for paths of this system
    """A directory with a file that is gone as soon as it was listed."""

    def iterdir(self) -> Iterator[Path]:
        yield self / "state.gone"
        yield from super().iterdir()


def test_a_file_that_is_just_replaced_is_not_looked_at(stopped: Path) -> None:
    (checked,) = modes(DataDirectory(_Replaced(stopped)))

    assert checked.ok


def test_modes_that_let_others_read_are_found(stopped: Path) -> None:
    (stopped / "env").chmod(0o644)
    finding = found(stopped)["data"]
    assert (finding.ok, "env" in finding.detail, finding.fix) == (False, True, f"chmod -R go= {stopped}")
    subprocess.run(finding.fix, shell=True, check=True)  # noqa: S602  # the fix is a command
    assert found(stopped)["data"].ok


def test_a_damaged_database_is_found(stopped: Path) -> None:
    content = bytearray((stopped / "handoff.db").read_bytes())
    content[8192:] = bytes(len(content) - 8192)
    (stopped / "handoff.db").write_bytes(content)
    assert failures(stopped)["database"] == f"handoff restore FILE --data {stopped}"


@pytest.mark.parametrize(("pragma", "fix"), [("user_version", "pip install --upgrade"), ("application_id", "mv ")])
def test_a_database_of_another_version_or_program_is_found(stopped: Path, pragma: str, fix: str) -> None:
    with closing(sqlite3.connect(stopped / "handoff.db")) as connection:
        connection.execute(f"PRAGMA {pragma} = 99")
    assert failures(stopped)["database"].startswith(fix)


def test_an_env_that_does_not_fit_is_found(stopped: Path) -> None:
    env = stopped / "env"
    text = env.read_text()
    env.write_text(text.replace("HANDOFF_TOKEN=ho_owner.", "HANDOFF_TOKEN=ho_owner.x"))
    assert "token" in found(stopped)["env"].detail
    env.write_text("HANDOFF_URL=http://127.0.0.1:1\n")
    assert "names no service" in found(stopped)["env"].detail


def test_another_program_at_the_address_is_found(stopped: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        url = f"http://127.0.0.1:{other.getsockname()[1]}"
        (stopped / "env").write_text(f"HANDOFF_URL={url}\nHANDOFF_TOKEN=x\n")
        assert failures(stopped)["address"] == f"rm {stopped}/env"


def test_settings_that_would_not_start_are_found(stopped: Path) -> None:
    (stopped / "settings").write_text("HANDOFF_AGENT=openai\n")
    assert "needs HANDOFF_AGENT_MODEL" in found(stopped)["settings"].detail
    (stopped / "settings").write_text("4:secret\n")
    finding = found(stopped)["settings"]
    assert (finding.ok, "line 1" in finding.detail, "secret" in finding.detail) == (False, True, False)


def test_errors_of_the_last_day_are_counted(data: Path) -> None:
    data.mkdir()
    now = time.mktime((2026, 11, 17, 12, 0, 0, 0, 0, -1))
    (data / "log").write_text(
        "2026-11-15 11:00:00,000 ERROR   local.server: old\n"
        "2026-11-17 11:00:00,000 ERROR   local.server: new\n"
        "Traceback (most recent call last):\n"
        "2026-11-17 11:00:01,000 INFO    local.server: an ERROR in a text\n"
    )
    finding = log(DataDirectory(data), now=now)
    assert (finding.ok, finding.detail.startswith("1 errors"), "new" in finding.detail) == (None, True, True)
    assert log(DataDirectory(data), now=now + 2 * 86_400).ok


def test_a_bot_that_the_running_service_does_not_know_is_found(data: Path) -> None:
    with Server(DataDirectory(data), {}, ANYWHERE) as server:
        eventually(lambda: read_state(data / "state", str(os.getpid())).get("loaded"))
        assert "bot telegram" not in failures(data)
        SqliteSecrets(server.engine.database).set("telegram/bot_token", "1:abc")
        assert failures(data)["bot telegram"] == f"kill -USR1 {os.getpid()}"


def test_relays_tell_what_they_know(tmp_path: Path) -> None:
    state = {"relays": {"telegram": True, "slack": False, "discord": "the token is wrong"}}
    shown = [(finding.name, finding.ok) for finding in relays(state, "handoff up")]
    assert shown == [("relay telegram", True), ("relay slack", None), ("relay discord", False)]

    StateFile(tmp_path / "state").write(state)
    assert read_state(tmp_path / "state", str(os.getpid()))["relays"] == state["relays"]
    assert read_state(tmp_path / "state", "1") == {}
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0
