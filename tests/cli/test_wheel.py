"""The wheel: built offline and installed into an empty venv without the service."""

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from handoff_cli import __version__

ROOT = Path(__file__).parents[2]


def _needed(names: list[str]) -> set[str]:
    """The distributions that these requirements need, transitively."""
    found: set[str] = set()
    while names:
        requirement = Requirement(names.pop())
        if requirement.name.lower() in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found.add(requirement.name.lower())
        names += distribution(requirement.name).requires or []
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    (source / "README.md").write_text("# Handoff\n")
    shutil.copytree(ROOT / "cli", source / "cli", ignore=shutil.ignore_patterns("__pycache__"))
    built = tmp_path_factory.mktemp("built")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)],
        cwd=source,
        check=True,
        capture_output=True,
    )
    (path,) = built.glob("handoff_live-*.whl")
    return path


def test_it_contains_only_the_cli(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"handoff_cli"}


def test_it_runs_with_its_declared_dependencies_only(wheel: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (packages,) = venv.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
        metadata = archive.read(next(n for n in archive.namelist() if n.endswith("METADATA"))).decode()
    required = [line.partition(": ")[2] for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
    for name in _needed(required):
        _copy_installed(name, packages)
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    program = "from handoff_cli.main import entry; entry()"
    assert f"\nVersion: {__version__}\n" in metadata
    for argv, code in ((["--help"], 0), (["completion", "bash"], 0), (["platforms", "--url", "http://127.0.0.1:1"], 4)):
        done = subprocess.run(
            [venv / "bin" / "python", "-c", program, *argv],
            env=environ,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
    everything = (
        "import pkgutil, importlib, handoff_cli\n"
        "for m in pkgutil.walk_packages(handoff_cli.__path__, 'handoff_cli.'):\n"
        "    m.name.endswith('__main__') or importlib.import_module(m.name)\n"
    )
    subprocess.run([venv / "bin" / "python", "-c", everything], env=environ, cwd=tmp_path, check=True)
    assert "handoff = handoff_cli.__main__:start" in next(packages.glob("handoff_live-*/entry_points.txt")).read_text()


def _copy_installed(name: str, packages: Path) -> None:
    """Copy an installed distribution instead of installing it: there is no network."""
    for file in distribution(name).files or []:
        if ".." in file.parts or "__pycache__" in file.parts:
            continue
        target = packages / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file.locate(), target)
