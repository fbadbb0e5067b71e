"""`handoff run --install`: a unit that finds the user's programs and holds no secret."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def ready(environ: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """A machine with Gemini CLI and a config file; what `systemctl` would do is only noted."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {"gemini": "echo 0.61.0", "systemctl": f'echo "$@" >> {tmp_path / "systemctl"}'}.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    config = Path(environ["HOME"]) / ".config" / "handoff" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('url = "https://handoff.example"\ntoken = "very-secret"\n')
    return {"PATH": f"{programs}:/usr/bin:/bin"}


def _unit(environ: dict[str, str]) -> Path:
    return Path(environ["HOME"]) / ".config" / "systemd" / "user" / "handoff-runner.service"


def test_the_unit_starts_the_runner_with_these_options(
    run_alone: Run, environ: dict[str, str], ready: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", ready["PATH"])
    done = run_alone("run", "--install", "--agent", "gemini", "--name", "work station", **ready)
    assert done.returncode == 0, done.stderr
    text = _unit(environ).read_text()
    assert '"handoff_cli" "run" "--agent=gemini" "--name=work station"' in text
    assert f'Environment="PATH={ready["PATH"]}"' in text
    assert "RestartPreventExitStatus=2 5" in text
    assert "very-secret" not in text
    assert "systemctl --user restart handoff-runner" in done.stdout

    again = run_alone("run", "--uninstall", **ready)
    assert "Removed" in again.stdout
    assert not _unit(environ).exists()
    assert "Nothing was changed" in run_alone("run", "--uninstall", **ready).stdout


def test_a_token_that_a_service_would_not_see_is_refused(
    run_alone: Run, environ: dict[str, str], ready: dict[str, str]
) -> None:
    done = run_alone("run", "--install", HANDOFF_TOKEN="from-the-terminal", **ready)
    assert done.returncode == 2
    assert "The token comes from environment, which a service does not see" in done.stderr
    assert not _unit(environ).exists()


def test_without_a_usable_agent_nothing_is_installed(run_alone: Run, environ: dict[str, str], tmp_path: Path) -> None:
    done = run_alone("run", "--install", PATH=str(tmp_path))
    assert done.returncode == 1
    assert "is not installed" in done.stderr
    assert not _unit(environ).exists()
