"""`handoff up`: the service from the wheel, in an environment that has nothing of this checkout."""

import json
import os
import re
import signal
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.server_program import remedy
from local.server.options import parse
from tests.cli.conftest import Done, Run
from tests.support.wheel import ROOT, build_wheel, install_wheel

MESSAGES = '[{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]'
IMPORT_ALL = """
import importlib.util, pathlib, sys
code = pathlib.Path(importlib.util.find_spec("handoff_server").origin).parent / "code"
assert not [name for name in ("shared", "functions", "local") if importlib.util.find_spec(name)]
sys.path.insert(0, str(code))
sys.modules.update(dict.fromkeys(("boto3", "botocore", "moto", "mangum", "samtranslator", "awslambdaric")))
for_aws = ("shared/aws", "shared/bootstrap", "shared/agents/bedrock/a", "functions/http/lambda_edge", "local/operate")
paths = [path.relative_to(code).with_suffix("") for path in code.rglob("*.py") if path.stem not in ("__main__", "handler")]
paths = [path for path in paths if not str(path).startswith(for_aws)]
print(len([importlib.import_module(".".join(path.parts)) for path in paths]))
"""


class Machine:
    """A home directory, and the installed program with nothing else set."""

    def __init__(self, programs: Path, home: Path) -> None:
        self.handoff, self.home, self.data = programs / "handoff", home, home / "xdg" / "handoff"
        self.environ = {"PATH": "/usr/bin:/bin", "HOME": str(home), "XDG_DATA_HOME": str(home / "xdg")}
        self.started: list[subprocess.Popen[str]] = []

    def up(self) -> "subprocess.Popen[str]":
        """Returns when it is ready."""
        command = [str(self.handoff), "up", "--data", str(self.data), "--listen", "127.0.0.1:0"]
        process = subprocess.Popen(command, cwd=self.home, env=self.environ, stdout=subprocess.PIPE, text=True)
        self.started.append(process)
        assert process.stdout
        assert any("Ctrl-C stops it" in line for line in process.stdout)
        return process

    def run(self, *argv: str, stdin: str = "") -> Done:
        command = [str(self.handoff), *argv]
        return subprocess.run(
            command, cwd=self.home, env=self.environ, input=stdin, capture_output=True, text=True, check=False
        )

    def json(self, *argv: str, stdin: str = "") -> Any:
        done = self.run(*argv, "--json", stdin=stdin)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("installed")
    return install_wheel(build_wheel(directory), directory / "venv")


@pytest.fixture
def machine(programs: Path, tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(programs, tmp_path)
    yield machine
    for process in machine.started:
        process.kill()
        process.communicate()


def test_install_up_send_restart_and_everything_is_there(machine: Machine) -> None:
    for name in ("shared.py", "local.py", "aiohttp.py"):
        (machine.home / name).write_text("raise SystemExit('imported from the current directory')\n")

    process = machine.up()
    sent = machine.json("send", "telegram", "--transcript", "-", "--title", "Parser", "--yes", stdin=MESSAGES)
    found = machine.json("config", "show")

    assert sent["state"] == "completed"
    assert found["url_from"] == found["token_from"] == str(machine.data / "env")
    assert (
        int((machine.data / "lock").read_text()) == process.pid
    )  # the client is gone: no process waits for the service
    assert {
        path.name: path.stat().st_mode & 0o077 for path in machine.data.iterdir() if path.stat().st_mode & 0o077
    } == {}

    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    assert machine.run("sessions").returncode == 4
    machine.up()
    assert [session["title"] for session in machine.json("sessions")] == ["Parser"]
    assert machine.json("status", sent["id"])["thread"]["id"] == sent["thread"]["id"]


def test_the_installed_program_looks_after_its_data(machine: Machine) -> None:
    process = machine.up()
    machine.json("send", "telegram", "--transcript", "-", "--title", "Parser", "--yes", stdin=MESSAGES)
    saved = machine.json("backup", "saved.db")
    exported = machine.json("data", "export", "export.gz")
    checks = {check["name"]: check["ok"] for check in machine.json("doctor")["checks"]}
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0

    assert saved["bytes"] == (machine.home / "saved.db").stat().st_size
    assert exported["counts"]["sessions"] == 1
    assert (checks["database"], checks["process"], checks["service"]) == (True, True, True)
    assert machine.run("data", "export", "other.gz", "--stack", "handoff").returncode == 1
    machine.json("data", "import", "export.gz", "--yes", "--data", str(machine.home / "imported"))
    restored = machine.json("restore", "saved.db")
    assert Path(restored["kept"]).parent == machine.data
    machine.up()
    assert [session["title"] for session in machine.json("sessions")] == ["Parser"]


def test_all_its_modules_are_importable_without_aws(programs: Path, tmp_path: Path) -> None:
    command = [str(programs / "python"), "-P", "-c", IMPORT_ALL]
    done = subprocess.run(command, env={}, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 200


def test_from_a_checkout_it_runs_the_code_of_the_checkout(tmp_path: Path) -> None:
    command = [str(ROOT / "handoff"), "up", "--data", str(tmp_path), "--listen", "192.0.2.1:80"]
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    done = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--listen 192.0.2.1:80 is open to the network" in done.stderr


def test_its_options_are_those_of_the_server(run_alone: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"], {})
    assert _options(run_alone("up", "--help").stdout) == _options(capsys.readouterr().out) != []


def _options(text: str) -> list[str]:
    """Those in the usage, at the beginning of a help text."""
    return re.findall(r"--[a-z-]+ [A-Z:]+", text.partition("\n\n")[0])


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("pyvenv.cfg", "pip install 'handoff-live[server]'"),
        ("uv-receipt.toml", "uv tool install 'handoff-live[server]'"),
        ("pipx_metadata.json", "pipx install --force 'handoff-live[server]'"),
    ],
)
def test_the_remedy_fits_the_installer(tmp_path: Path, file: str, command: str) -> None:
    (tmp_path / file).touch()
    assert remedy(tmp_path) == command


def test_the_extra_asks_for_the_versions_that_are_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    extra = set(project["project"]["optional-dependencies"]["server"])
    assert (
        extra - {*groups["functions"], *groups["local"], *(one for one in groups["dev"] if isinstance(one, str))}
        == set()
    )
    assert not [name for name in extra if re.match("boto|moto|mangum|aws", name)]
