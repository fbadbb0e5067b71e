"""The launcher of a checkout: from any directory, through links, and before the set-up."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import User
from tests.support.fault_proxy import FaultProxy

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the launcher needs, with the interpreter of this checkout."""
    root = tmp_path / "some checkout"
    root.mkdir()
    shutil.copy(ROOT / "handoff", root / "handoff")
    (root / "cli").symlink_to(ROOT / "cli")
    (root / ".venv").symlink_to(ROOT / ".venv")
    return root


def _call(program: Path, *argv: str, cwd: Path, home: Path) -> "subprocess.CompletedProcess[str]":
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
    return subprocess.run(
        [str(program), *argv], capture_output=True, text=True, cwd=cwd, env=environ, timeout=60, check=False
    )


def test_it_finds_its_checkout_through_links(checkout: Path, tmp_path: Path, proxy: FaultProxy, user: User) -> None:
    (checkout / ".local").mkdir()
    (checkout / ".local" / "env").write_text(f"HANDOFF_URL={proxy.url}\nHANDOFF_TOKEN={user.token}\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "httpx.py").write_text("raise SystemExit('imported from the current directory')\n")
    (tmp_path / "one").symlink_to(checkout / "handoff")
    (elsewhere / "two").symlink_to("../one")
    done = _call(elsewhere / "two", "config", "home", "telegram", "-1002", cwd=elsewhere, home=tmp_path)
    assert (done.returncode, done.stdout) == (0, "Handoffs to telegram now arrive in -1002.\n"), done.stderr


def test_before_the_set_up_it_says_what_to_do(checkout: Path, tmp_path: Path) -> None:
    (checkout / ".venv").unlink()
    done = _call(checkout / "handoff", "--help", cwd=tmp_path, home=tmp_path)
    assert done.returncode == 2
    assert "make run" in done.stderr
