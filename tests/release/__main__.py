"""Build into dist/, check, install into a fresh environment, use it, and say what is left to do."""

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from handoff_cli import __version__
from tests.release.contents import STEM, problems_of_sdist, problems_of_wheel
from tests.release.first_use import FirstUse
from tests.support.wheel import ROOT, new_environment

DIST = ROOT / "dist"
_UNRELEASED = "no release yet"
PACKED = ("cli", "shared", "functions", "local", "README.md", "LICENSE", "pyproject.toml", "requirements.txt")


def main() -> int:
    """0 if it may be released."""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as directory:
        try:
            _step("sdist and wheel", lambda: build(Path(directory)))
            _step("what the sdist holds", lambda: _none(list(problems_of_sdist(DIST / f"{STEM}.tar.gz"))))
            _step("what the wheel holds", lambda: _none(list(problems_of_wheel(_wheel()))))
            _step("installed into a fresh environment", lambda: install(_wheel(), Path(directory) / "venv"))
            person = FirstUse(Path(directory) / "venv" / "bin" / "handoff", Path(directory) / "home")
            try:
                _step("its version", lambda: _is(person.type("--version").strip(), f"handoff {__version__}"))
                _step("handoff up, and a handoff", person.hands_over)
                _step("handoff run, and a turn of the own agent", person.lets_the_own_agent_answer)
            finally:
                codes = person.stop()
            _step("stopped", lambda: _is(str(set(codes)), "{0}"))
        except (AssertionError, OSError, subprocess.CalledProcessError) as error:
            _say(f"  failed: {getattr(error, 'stderr', None) or error}")
            return 1
    _say(f"\n{DIST.name}/ has {STEM}. Nothing was uploaded. What is left:")
    for each in left():
        _say(f"  - {each}")
    return 0


def build(directory: Path) -> None:
    """The sdist from this checkout, and the wheel from the sdist, so that both are complete."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(DIST), "-t"]
    subprocess.run([*command, "sdist"], cwd=ROOT, check=True, capture_output=True, text=True)
    with tarfile.open(DIST / f"{STEM}.tar.gz") as archive:
        archive.extractall(directory, filter="data")
    subprocess.run([*command, "wheel"], cwd=directory / STEM, check=True, capture_output=True, text=True)


def install(wheel: Path, venv: Path) -> None:
    """As a user does it, with the newest versions that the index of this machine has."""
    new_environment(venv)
    pip = [_python_with_pip(), "-m", "pip", "--python", str(venv / "bin" / "python"), "install", "--quiet"]
    subprocess.run([*pip, f"{wheel}[server]"], check=True, capture_output=True, text=True)


def left() -> list[str]:
    """What only a maintainer can do."""
    changes = (ROOT / "CHANGELOG.md").read_text()
    changed = _git("status", "--porcelain", "--", *PACKED)
    found = [f"commit what is packed and changed: {', '.join(changed.split())}"] if changed else []
    if not re.search(rf"^## \[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE):
        found.append(f"CHANGELOG.md: name the section [Unreleased] [{__version__}], with the day")
    pages = [path.name for path in (ROOT / "README.md", *ROOT.glob("docs/*.md")) if _UNRELEASED in path.read_text()]
    found += [f"take out the note that there is no release yet: {', '.join(pages)}"] if pages else []
    if f"v{__version__}" not in _git("tag", "--list").split():
        found.append(f"git tag v{__version__}; its push starts .github/workflows/release.yml, which publishes")
    return [*found, "once, before the first one: docs/release.md, “Set up”"]


def _wheel() -> Path:
    (path,) = DIST.glob(f"{STEM}-*.whl")
    return path


def _python_with_pip() -> str:
    """That of the set-up: environments here have no pip of their own."""
    return str(Path(getattr(sys, "_base_executable", sys.executable)))


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def _step(title: str, work: Callable[[], None]) -> None:
    _say(title)
    work()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _none(problems: list[str]) -> None:
    assert not problems, "; ".join(problems)


def _is(found: str, expected: str) -> None:
    assert found == expected, f"{found!r} is not {expected!r}"


if __name__ == "__main__":
    sys.exit(main())
