"""`handoff projects`: the directories that chats may reach, decided on this machine."""

import json
from pathlib import Path

from tests.cli.conftest import Run


def test_projects_are_added_listed_opened_and_removed(run_alone: Run, tmp_path: Path) -> None:
    shop = tmp_path / "work" / "shop"
    shop.mkdir(parents=True)
    added = run_alone("projects", "add", str(shop))
    assert added.returncode == 0, added.stderr
    assert f"Added shop: {shop}" in added.stdout
    assert run_alone("projects", "bring", "on").returncode == 0
    assert str(shop) in run_alone("projects").stdout
    assert json.loads(run_alone("projects", "--json").stdout)["bring"] is True

    assert run_alone("projects", "remove", "shop").returncode == 0
    assert str(shop) not in run_alone("projects").stdout


def test_a_directory_that_holds_too_much_is_refused(run_alone: Run) -> None:
    refused = run_alone("projects", "add", "/")
    assert refused.returncode == 2
    assert "holds much more than a project" in refused.stderr
