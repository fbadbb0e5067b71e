"""The wheel: built offline and installed into an empty venv, without the packages of its extras."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from handoff_cli import __version__
from local.operate.deploy.template import created, load
from tests.support.wheel import ROOT, build_wheel, copy_installed, needed, new_environment


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def test_it_adds_two_packages_to_an_environment(wheel: Path) -> None:
    names = [name.split("/") for name in zipfile.ZipFile(wheel).namelist()]
    assert {name[0] for name in names if not name[0].endswith(".dist-info")} == {"handoff_cli", "handoff_server"}
    assert {name[1] for name in names if name[0] == "handoff_server"} == {"__init__.py", "__main__.py", "code"}
    assert {name[2] for name in names if name[1] == "code"} == {"shared", "functions", "local", "requirements.txt"}


def test_it_has_what_a_deploy_uploads_and_not_what_plays_aws(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    code = "handoff_server/code"
    for folder in ("shared", "functions"):
        sources = {f"{code}/{path.relative_to(ROOT)}" for path in (ROOT / folder).rglob("*.py")}
        assert sources - names == set()
    assert {f"{code}/requirements.txt", f"{code}/local/operate/deploy/template.json"} <= names
    assert not [name for name in names if "local/cloud" in name or "local/operate/translate" in name]


def test_a_deploy_needs_its_extra_and_nothing_of_the_service(wheel: Path, tmp_path: Path) -> None:
    """`--dry-run` and `--policy` from the wheel, without the packages that the functions and the local cloud have."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "packages")
    hidden = [
        "fastapi",
        "pydantic",
        "starlette",
        "mangum",
        "telegram",
        "slack_sdk",
        "discord",
        "nacl",
        "aiohttp",
        "moto",
    ]
    hidden += ["samtranslator", "yaml"]
    (tmp_path / "hide.py").write_text(
        f"import runpy, sys\nfor name in {hidden}: sys.modules[name] = None\n"
        "sys.argv = ['handoff_server', 'deploy', 'apply', '--dry-run']\n"
        "runpy.run_module('handoff_server', run_name='__main__', alter_sys=True)\n"
    )
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(tmp_path / "packages")}
    command = [sys.executable, "hide.py"]
    done = subprocess.run(
        command,
        env={**environ, "AWS_EC2_METADATA_DISABLED": "true"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"{len(created(load(), {}))} added" in done.stdout


def test_it_runs_with_its_declared_dependencies_only(wheel: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    packages = new_environment(venv)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
        metadata = archive.read(next(n for n in archive.namelist() if n.endswith("METADATA"))).decode()
    required = [line.partition(": ")[2] for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
    for name in needed(required):
        copy_installed(name, packages)
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    program = "from handoff_cli.main import entry; entry()"
    assert f"\nVersion: {__version__}\n" in metadata
    for argv, code in (
        (["--help"], 0),
        (["completion", "bash"], 0),
        (["platforms", "--url", "http://127.0.0.1:1"], 4),
        (["up"], 1),
        (["run"], 1),
        (["deploy", "--dry-run"], 1),
    ):
        done = subprocess.run(
            [venv / "bin" / "python", "-c", program, *argv],
            env=environ,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        extra = {"up": "server", "run": "runner", "deploy": "deploy"}.get(argv[0])
        assert extra is None or f"pip install 'handoff-live[{extra}]'" in done.stderr
    everything = (
        "import pkgutil, importlib, handoff_cli\n"
        "for m in pkgutil.walk_packages(handoff_cli.__path__, 'handoff_cli.'):\n"
        "    try: m.name.endswith('__main__') or importlib.import_module(m.name)\n"
        "    except ModuleNotFoundError as error:\n"
        "        if error.name not in ('acp', 'pydantic') or not m.name.startswith('handoff_cli.runner.'): raise\n"
    )
    subprocess.run([venv / "bin" / "python", "-c", everything], env=environ, cwd=tmp_path, check=True)
    assert "handoff = handoff_cli.__main__:start" in next(packages.glob("handoff_live-*/entry_points.txt")).read_text()
