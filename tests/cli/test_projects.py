"""`handoff projects`: consent to sessions from a chat is given on the machine, and kept there."""

import json
from pathlib import Path

import pytest

from handoff_cli.runner.machine.projects import projects_path, read_projects
from tests.cli.conftest import Run


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "My shop"
    path.mkdir()
    return path


def known(run: Run) -> dict[str, object]:
    found: dict[str, object] = json.loads(run("projects", "--json").stdout)
    return found


def test_a_directory_is_added_listed_and_removed(run: Run, shop: Path, environ: dict[str, str]) -> None:
    assert known(run) == {"projects": [], "bring": False}
    assert run("projects", "add", str(shop)).returncode == 0
    assert known(run) == {"projects": [{"label": "My-shop", "directory": str(shop)}], "bring": False}
    assert projects_path(environ).stat().st_mode & 0o77 == 0
    assert run("projects", "remove", "My-shop").returncode == 0
    assert known(run)["projects"] == []
    assert run("projects", "remove", "My-shop").returncode == 2


def test_bring_is_off_until_it_is_switched_on(run: Run, shop: Path, environ: dict[str, str]) -> None:
    run("projects", "add", str(shop), "--name", "shop")
    assert not read_projects(environ).bring
    said = run("projects", "bring", "on")
    assert "sends their titles" in " ".join((said.stdout + said.stderr).split())
    assert read_projects(environ).bring
    run("projects", "bring", "off")
    assert not read_projects(environ).bring
    assert list(read_projects(environ).directories) == ["shop"]


@pytest.mark.parametrize("name", ["model", "here", "a/b", "a b", "-x", "..", "x" * 41])
def test_a_label_that_would_mean_something_else_is_refused(run: Run, shop: Path, name: str) -> None:
    assert run("projects", "add", str(shop), f"--name={name}").returncode == 2
    assert known(run)["projects"] == []


def test_a_label_is_not_used_twice(run: Run, shop: Path, tmp_path: Path) -> None:
    run("projects", "add", str(shop), "--name", "shop")
    (tmp_path / "other").mkdir()
    assert run("projects", "add", str(tmp_path / "other"), "--name", "Shop").returncode == 2
    assert run("projects", "add", str(shop), "--name", "shop").returncode == 0


@pytest.mark.parametrize("directory", ["/", "missing"])
def test_no_project_holds_everything_or_nothing(run: Run, directory: str) -> None:
    assert run("projects", "add", directory).returncode == 2


def test_a_damaged_file_is_named_and_allows_nothing(run: Run, environ: dict[str, str]) -> None:
    projects_path(environ).parent.mkdir(parents=True, exist_ok=True)
    projects_path(environ).write_text('bring = "yes"\n')
    done = run("projects")
    assert done.returncode == 2
    assert str(projects_path(environ)) in done.stderr
