"""Errors in the settings and arguments of a local run are reported before the start."""

import subprocess
import sys

import pytest

from local.options import faults
from local.paths import ROOT

HTTP = {"HANDOFF_AGENT": "http", "HANDOFF_AGENT_URL": "http://127.0.0.1:8790/", "HANDOFF_AGENT_KEY": "k"}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"HANDOFF_AGENT": ""},
        HTTP,
        {"HANDOFF_AGENT": "openai", "HANDOFF_AGENT_MODEL": "m", "HANDOFF_AGENT_WINDOW": "8192"},
        {"HANDOFF_REHEARSAL_SECONDS": "3"},
    ],
)
def test_valid_settings_have_no_faults(settings: dict[str, str]) -> None:
    assert list(faults(settings)) == []


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"HANDOFF_AGENT": "bedrock"}, "only in a deployment"),
        ({"HANDOFF_AGENT": "claude"}, "is not a known agent. Choose one of: rehearsal, openai, http."),
        ({"HANDOFF_AGENT": "openai"}, "needs HANDOFF_AGENT_MODEL"),
        ({**HTTP, "HANDOFF_AGENT_KEY": ""}, "needs HANDOFF_AGENT_KEY"),
        ({**HTTP, "HANDOFF_AGENT_URL": "127.0.0.1:8790"}, "must begin with http://"),
        ({"HANDOFF_AGENT_MODELS": "a, b"}, "needs HANDOFF_AGENT_MODEL too"),
        ({"HANDOFF_AGENT_WINDOW": "8k"}, "HANDOFF_AGENT_WINDOW=8k is not a whole number."),
        ({"HANDOFF_DEADLINE_SECONDS": "-1"}, "not a whole number"),
    ],
)
def test_each_fault_is_reported_with_advice(settings: dict[str, str], advice: str) -> None:
    (fault,) = faults(settings)
    assert advice in fault


@pytest.mark.parametrize("program", ["local", "local.demo"])
@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [(["--help"], 0, "It takes no options."), (["--port", "1"], 2, "unrecognized arguments: --port 1")],
)
def test_help_and_unknown_arguments_start_nothing(program: str, arguments: list[str], status: int, words: str) -> None:
    command = [sys.executable, "-m", program, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == status
    assert words in " ".join((done.stdout + done.stderr).split())
    assert "Starting" not in done.stdout
