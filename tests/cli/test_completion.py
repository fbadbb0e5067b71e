"""`handoff completion`."""

import os
import subprocess
from pathlib import Path

import pytest

from handoff_cli.arguments import GROUPS, SHELLS
from tests.cli.conftest import CLI, Run, User


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_name_every_command(run_alone: Run, shell: str) -> None:
    script = run_alone("completion", shell).stdout
    assert [name for names in GROUPS.values() for name in names if name not in script] == []


@pytest.fixture
def complete(run_alone: Run, connected: dict[str, str], tmp_path: Path) -> "Complete":
    script = tmp_path / "handoff.bash"
    script.write_text(run_alone("completion", "bash").stdout)
    launcher = tmp_path / "handoff"
    launcher.symlink_to(CLI.parent / "handoff")
    return Complete(script, {**connected, "PATH": f"{tmp_path}:{os.environ['PATH']}"})


class Complete:
    """Completes command lines in a real bash."""

    def __init__(self, script: Path, environ: dict[str, str]) -> None:
        self._script, self._environ = script, environ

    def __call__(self, *words: str) -> list[str]:
        line = f"""
            . '{self._script}'
            COMP_WORDS=({" ".join(f"'{word}'" for word in words)}); COMP_CWORD={len(words) - 1}
            _shtab_handoff; printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        command = ["bash", "--norc", "-c", line]
        done = subprocess.run(command, env=self._environ, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout.split()


def test_bash_completes_commands_options_and_choices(complete: Complete) -> None:
    assert complete("handoff", "se") == ["send", "send-file", "sessions", "setup"]
    assert complete("handoff", "config", "h") == ["home"]
    assert complete("handoff", "send", "--re") == ["--redact", "--require-thread", "--replace"]
    assert complete("handoff", "send", "--from", "c") == ["claude-code", "codex"]


def test_bash_completes_files(complete: Complete, tmp_path: Path) -> None:
    (tmp_path / "only.jsonl").touch()
    assert complete("handoff", "send", "telegram", "--transcript", f"{tmp_path}/on") == [f"{tmp_path}/only.jsonl"]


def test_bash_completes_platforms_and_sessions(complete: Complete, user: User) -> None:
    session_id = user.session("Trip")
    assert complete("handoff", "send", "tel") == ["telegram"]
    assert complete("handoff", "resume", session_id[:6]) == [session_id]


def test_names_are_empty_without_a_service(run_alone: Run) -> None:
    done = run_alone("completion", "sessions", HANDOFF_URL="http://127.0.0.1:1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
