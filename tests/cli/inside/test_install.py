"""`handoff install` and `handoff uninstall`: other people's settings stay as they are."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from handoff_cli.inside import HOOKED
from tests.cli.conftest import Run
from tests.support.pseudo_terminal import Spawn, ends

SETTINGS = """\
{
  // what I like
  "model": "opus",
  "hooks": {
    "UserPromptSubmit": [
      {"hooks": [{"type": "command", "command": "mine"}]} // do not touch
    ]
  }
}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def settings(home: Path) -> Path:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(SETTINGS)
    return path


def _tree(home: Path) -> dict[str, bytes | None]:
    """Every file and folder but the ones in which Handoff remembers things."""
    found = {str(path.relative_to(home)): path for path in home.rglob("*")}
    return {
        name: path.read_bytes() if path.is_file() else None
        for name, path in found.items()
        if not name.startswith(".local")
    }


@pytest.mark.parametrize("agent", HOOKED)
def test_installing_twice_and_removing_leaves_no_trace(agent: str, home: Path, run_alone: Run) -> None:
    before = _tree(home)
    assert run_alone("install", agent, "--yes").returncode == 0
    installed = _tree(home)
    assert installed != before
    again = run_alone("install", agent, "--yes")
    assert (again.returncode, "installed already" in again.stdout) == (0, True)
    assert _tree(home) == installed
    assert run_alone("uninstall", agent, "--yes").returncode == 0
    assert _tree(home) == before


def test_settings_are_restored_to_the_byte(settings: Path, home: Path, run_alone: Run) -> None:
    before = _tree(home)
    run_alone("install", "claude-code", "--yes")
    text = settings.read_text()
    assert "// what I like" in text
    assert '{"hooks": [{"type": "command", "command": "mine"}]}, // do not touch' in text
    assert text.count("hook claude-code") == 3
    run_alone("uninstall", "claude-code", "--yes")
    assert _tree(home) == before


def test_later_changes_of_others_survive_the_removal(settings: Path, run_alone: Run) -> None:
    run_alone("install", "claude-code", "--yes")
    changed = json.loads(
        "\n".join(line.split(" //")[0] for line in settings.read_text().splitlines() if "//" not in line[:6])
    )
    settings.write_text(json.dumps({**changed, "theme": "dark"}))  # as the agent does, when the user changes a setting
    run_alone("uninstall", "claude-code", "--yes")
    left: dict[str, Any] = json.loads(settings.read_text())
    assert (left["model"], left["theme"]) == ("opus", "dark")
    assert left["hooks"] == {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "mine"}]}]}


def test_the_removal_works_without_the_record(settings: Path, home: Path, run_alone: Run) -> None:
    run_alone("install", "claude-code", "--yes")
    (home / ".local/state/handoff/installed/claude-code.json").unlink()
    run_alone("uninstall", "claude-code", "--yes")
    assert settings.read_text() == SETTINGS


def test_an_older_entry_is_replaced(settings: Path, run_alone: Run) -> None:
    run_alone("install", "claude-code", "--yes")
    settings.write_text(settings.read_text().replace(sys.executable, "/old/python"))
    assert "needs `install` again" in run_alone("install", "--list").stdout
    run_alone("install", "claude-code", "--yes")
    text = settings.read_text()
    assert ("/old/python" in text, text.count("hook claude-code")) == (False, 3)
    run_alone("uninstall", "claude-code", "--yes")
    assert settings.read_text() == SETTINGS


def test_nothing_is_written_without_a_yes(settings: Path, run_alone: Run) -> None:
    done = run_alone("install", "claude-code")
    assert done.returncode == 2
    assert "+    " in done.stdout
    assert "Run it again with --yes" in done.stderr
    assert settings.read_text() == SETTINGS


def test_a_terminal_is_asked(settings: Path, spawn: Spawn) -> None:
    child = spawn("install", "claude-code")
    child.expect_exact("[y/N]")
    child.send("n\r")
    assert "Nothing was changed" in ends(child, 130)
    assert settings.read_text() == SETTINGS
    child = spawn("install", "claude-code")
    child.expect_exact("[y/N]")
    child.send("y\r")
    assert "understands /handoff telegram now" in ends(child, 0)
    assert "hook claude-code" in settings.read_text()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "line 1 is not valid JSON"),
        ('{"hooks": []}', "hooks is not an object"),
        ('{"hooks": {"UserPromptSubmit": 1}}', "hooks.UserPromptSubmit is not a list"),
    ],
)
def test_settings_that_are_not_understood_stay(settings: Path, run_alone: Run, content: str, problem: str) -> None:
    settings.write_text(content)
    done = run_alone("install", "claude-code", "--yes")
    assert done.returncode == 2
    assert problem in done.stderr
    assert "Nothing was changed" in done.stderr
    assert settings.read_text() == content
    assert not (settings.parent / "skills").exists()


def test_a_read_only_file_stays(settings: Path, run_alone: Run) -> None:
    settings.chmod(0o444)
    done = run_alone("install", "claude-code", "--yes")
    assert (done.returncode, "is read-only" in done.stderr) == (2, True)
    assert settings.read_text() == SETTINGS
    assert not (settings.parent / "skills").exists()


def test_a_link_stays_a_link_and_modes_stay(settings: Path, home: Path, run_alone: Run) -> None:
    real = home / "dotfiles" / "claude.json"
    real.parent.mkdir()
    settings.rename(real)
    real.chmod(0o600)
    settings.symlink_to(real)
    run_alone("install", "claude-code", "--yes")
    assert settings.is_symlink()
    assert ("hook claude-code" in real.read_text(), real.stat().st_mode & 0o777) == (True, 0o600)
    run_alone("uninstall", "claude-code", "--yes")
    assert (settings.is_symlink(), real.read_text()) == (True, SETTINGS)


def test_a_link_to_a_file_that_does_not_exist_yet(home: Path, run_alone: Run) -> None:
    real, link = home / "dotfiles" / "claude.json", home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    assert run_alone("install", "claude-code", "--yes").returncode == 0
    assert "hook claude-code" in real.read_text()
    assert run_alone("uninstall", "claude-code", "--yes").returncode == 0
    assert (link.is_symlink(), real.exists(), real.parent.exists()) == (True, False, False)


def test_a_linked_folder_stays_one(settings: Path, home: Path, run_alone: Run) -> None:
    settings.parent.rename(home / "dotfiles")
    settings.parent.symlink_to(home / "dotfiles")
    before = _tree(home)
    run_alone("install", "claude-code", "--yes")
    assert (settings.parent.is_symlink(), settings.is_symlink()) == (True, False)
    run_alone("uninstall", "claude-code", "--yes")
    assert _tree(home) == before


@pytest.mark.parametrize("kind", ["folder", "loop", "file in the way", "not UTF-8"])
def test_what_is_not_a_settings_file_is_named(settings: Path, home: Path, run_alone: Run, kind: str) -> None:
    settings.unlink()
    if kind == "folder":
        settings.mkdir()
    elif kind == "loop":
        settings.symlink_to(settings)
    elif kind == "not UTF-8":
        settings.write_bytes(b'{"a": "\xff"}')
    else:
        settings.parent.rmdir()
        settings.parent.write_text("mine")
    done = run_alone("install", "claude-code", "--yes")
    assert (done.returncode, "Nothing was changed" in done.stderr, done.stdout) == (2, True, "")
    assert str(settings.parent) in done.stderr
    assert len(list(home.rglob("*"))) <= 2


def test_a_state_directory_that_cannot_be_written(settings: Path, home: Path, run_alone: Run) -> None:
    (home / ".local").write_text("mine")
    done = run_alone("install", "claude-code", "--yes")
    assert (done.returncode, "Nothing was changed" in done.stderr) == (2, True)
    assert settings.read_text() == SETTINGS


def test_a_skill_of_that_name_that_is_not_ours_stays(settings: Path, run_alone: Run) -> None:
    skill = settings.parent / "skills" / "handoff" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("mine")
    done = run_alone("install", "claude-code", "--yes")
    assert (done.returncode, "is not Handoff's" in done.stderr) == (2, True)
    assert (skill.read_text(), settings.read_text()) == ("mine", SETTINGS)
    run_alone("uninstall", "claude-code", "--yes")
    assert skill.read_text() == "mine"


def test_the_agents_own_folder_is_heeded(tmp_path: Path, run_alone: Run) -> None:
    run_alone("install", "claude-code", "--yes", CLAUDE_CONFIG_DIR=str(tmp_path / "elsewhere"))
    assert (tmp_path / "elsewhere" / "settings.json").is_file()


def test_codex_users_are_told_to_trust_the_hook(run_alone: Run) -> None:
    assert "Trust all and continue" in run_alone("install", "codex", "--yes").stdout


def test_the_installed_command_answers(settings: Path, environ: dict[str, str], run_alone: Run, tmp_path: Path) -> None:
    """Through a shell, as agents call it."""
    run_alone("install", "claude-code", "--yes")
    line = next(line for line in settings.read_text().splitlines() if "hook claude-code" in line)
    command = json.loads("{" + line.strip().rstrip(",") + "}")["command"]
    event = json.dumps({"session_id": "s", "cwd": str(tmp_path), "prompt": "/handoff status"})
    done = subprocess.run(command, shell=True, input=event, env=environ, capture_output=True, text=True, check=True)  # noqa: S602
    assert json.loads(done.stdout)["reason"] == "This session is here."


def test_other_agents_get_a_configuration_to_copy(run_alone: Run) -> None:
    shown = run_alone("install", "mcp").stdout
    servers = json.loads(shown[shown.index("{") : shown.rindex("}") + 1])["mcpServers"]
    assert servers["handoff"]["args"][-1] == "mcp"
    assert os.access(servers["handoff"]["command"], os.X_OK)


def test_a_name_is_needed(run_alone: Run) -> None:
    assert "Name an agent" in run_alone("install").stderr
