"""The wheel of this checkout, and an environment with it. Nothing is downloaded."""

import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
CODE = ("cli", "shared", "functions", "local")


def build_wheel(directory: Path) -> Path:
    """From a copy of the code, without what else lies in the checkout."""
    source, built = directory / "source", directory / "built"
    source.mkdir()
    for name in ("pyproject.toml", "LICENSE", "requirements.txt"):
        shutil.copy(ROOT / name, source / name)
    (source / "README.md").write_text("# Handoff\n")
    for name in CODE:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (path,) = built.glob("handoff_live-*.whl")
    return path


def install_wheel(wheel: Path, venv: Path) -> Path:
    """A new environment with the wheel and, through a .pth file, the packages that this one has. Returns its `bin`."""
    packages = new_environment(venv)
    install = ["-m", "uv", "pip", "install", "--quiet", "--offline", "--no-index", "--no-deps", "--no-config"]
    subprocess.run([sys.executable, *install, "--python", str(venv / "bin" / "python"), str(wheel)], check=True)
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return venv / "bin"


def python_as_installed(venv: Path, *, extra: str) -> Path:
    """The interpreter of a new environment with the packages that the wheel with this extra needs, and no others."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    packages = new_environment(venv)
    for name in needed([*project["dependencies"], *project["optional-dependencies"][extra]]):
        copy_installed(name, packages)
    python = venv / "bin" / "python"
    subprocess.run([python, "-m", "compileall", "-q", packages], check=True, stdout=subprocess.DEVNULL)  # as pip does
    return python


def new_environment(venv: Path) -> Path:
    """An environment without packages. Returns the directory for them."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (packages,) = venv.glob("lib/python*/site-packages")
    return packages


def needed(requirements: Iterable[str]) -> set[str]:
    """The distributions that these requirements need, transitively."""
    names, found = list(requirements), set[str]()
    while names:
        requirement = Requirement(names.pop())
        if requirement.name.lower() in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found.add(requirement.name.lower())
        names += distribution(requirement.name).requires or []
    return found


def copy_installed(name: str, packages: Path) -> None:
    """Copy an installed distribution instead of installing it: there is no network."""
    for file in distribution(name).files or []:
        if ".." in file.parts or "__pycache__" in file.parts:
            continue
        target = packages / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file.locate(), target)
