"""Every file, module, make target and link that the docs name exists."""

import argparse
import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

from handoff_cli.arguments import parser
from shared.platforms import PLATFORMS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
TOP = "|".join(path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith("."))
_PATH = re.compile(rf"(?<![\w/.<-])((?:{TOP}|\.ci)/[\w./<>*-]*[\w/>*])")
_COMMAND = re.compile(r"(?:^|[\s(=])(?:\./)?handoff ([a-z]+)((?: (?![|&])[^\s;]+)*)")
ORDERS = ("back", "status", *(spec.name for spec in PLATFORMS))
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def exists(path: str) -> bool:
    """Whether a path, in which `<name>` stands for one of several folders, is in the repository."""
    return any(ROOT.glob(re.sub(r"<\w+>", "*", path).rstrip("/")))


@pages
def test_paths_exist(page: Path) -> None:
    assert [path for path in _PATH.findall(page.read_text()) if not exists(path)] == []


@pages
def test_tests_exist(page: Path) -> None:
    named = re.findall(r"(tests/[\w/]+\.py)::(\w+)", page.read_text())
    assert [test for file, test in named if f"def {test}(" not in (ROOT / file).read_text()] == []


def test_each_guarantee_names_a_test() -> None:
    rows = re.findall(r"^\| .+ \|$", (ROOT / "docs/guarantees.md").read_text(), re.MULTILINE)
    promises = [row for row in rows if not row.startswith(("| promise ", "| --- "))]
    assert promises
    assert [row for row in promises if "`tests/" not in row.rpartition(" | ")[2]] == []


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


@pages
def test_commands_exist(page: Path) -> None:
    code = re.findall(r"`([^`\n]+)`|^ {4,}(.+)$", page.read_text(), re.MULTILINE)
    lines = [span or line for span, line in code if "docker" not in line]  # where it is the name of a container
    called = [call for line in lines for call in _COMMAND.findall(line)]
    typed = ORDERS if page.name == "inside.md" else ()  # in agents without slash commands
    assert [" ".join(call) for call in called if not is_command(*call) and call[0] not in typed] == []


def test_a_command_that_does_not_exist_is_found() -> None:
    assert _COMMAND.findall("A=1 ./handoff up --data DIR; handoff send") == [("up", " --data DIR"), ("send", "")]
    assert is_command("up", " --data DIR")
    assert is_command("data", " export FILE --stack NAME")
    assert [call for call in (("fly", ""), ("up", " --wings"), ("data", " fly")) if is_command(*call)] == []


def is_command(name: str, rest: str) -> bool:
    """Whether the client has this command, with the action and the options that follow its name."""
    command = commands_of(parser("handoff")).get(name)
    if command is None:
        return False
    actions = commands_of(command)
    words = rest.partition("#")[0].split()
    if actions and words and words[0] in actions:
        command = actions[words[0]]
    elif actions and words and words[0].isalpha():
        return False
    known = {option for action in command._actions for option in action.option_strings}
    return {word.partition("=")[0].rstrip("`,.;:)") for word in words if word.startswith("--")} <= known


def commands_of(command: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = [each.choices for each in command._actions if isinstance(each, argparse._SubParsersAction)]
    return dict(found[0]) if found else {}


def test_paths_in_the_makefile_exist() -> None:
    paths = [word for word in shlex.split((ROOT / "Makefile").read_text(), comments=True) if word.startswith("tests/")]
    assert paths
    assert [path for path in paths if not exists(path)] == []
