"""Every file, module, make target and link that the docs name exists."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
TOP = "|".join(path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("."))
_PATH = re.compile(rf"(?<![\w/.<-])((?:{TOP}|\.ci)/[\w./<>*-]*[\w/>*])")
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def exists(path: str) -> bool:
    """Whether a path, in which `<name>` stands for one of several folders, is in the repository."""
    return any(ROOT.glob(re.sub(r"<\w+>", "*", path).rstrip("/")))


@pages
def test_paths_exist(page: Path) -> None:
    assert [path for path in _PATH.findall(page.read_text()) if not exists(path)] == []


@pages
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pages
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    # In code only: prose may use the verb.
    code = "\n".join(re.findall(r"`[^`\n]+`|^ {4,}.+$", page.read_text(), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z]+)", code)) <= targets


@pages
def test_modules_exist(page: Path) -> None:
    modules = re.findall(r"python3? -m ([\w.]+)", page.read_text())
    assert [module for module in modules if find_spec(module) is None] == []


def test_paths_in_the_makefile_exist() -> None:
    paths = [word for word in shlex.split((ROOT / "Makefile").read_text(), comments=True) if word.startswith("tests/")]
    assert paths
    assert [path for path in paths if not exists(path)] == []
