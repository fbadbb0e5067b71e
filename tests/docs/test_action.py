"""The step of action.yml on a service of this machine: a failed job's context arrives in a thread, without its secrets."""

import json
import os
import subprocess
from pathlib import Path

import httpx
import pytest
import yaml

from tests.release.first_use import FirstUse
from tests.support.wheel import ROOT, build_wheel, install_wheel

ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
SCRIPT = ROOT / "examples" / "github-action" / "hand_over.py"
KEY = "sk-" + "proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
JOB = {
    "GITHUB_REPOSITORY": "ada/parser",
    "GITHUB_WORKFLOW": "tests",
    "GITHUB_JOB": "unit",
    "GITHUB_SHA": "0f1e2d3c",
    "GITHUB_REF_NAME": "fix; $(reboot)",
    "GITHUB_RUN_ID": "77",
    "GITHUB_SERVER_URL": "https://git.example",
}


def test_the_step_gives_the_script_what_it_reads() -> None:
    step = ACTION["runs"]["steps"][-1]
    assert SCRIPT.relative_to(ROOT).as_posix() in step["run"]
    read = {name for name in step["env"] if f'"{name}"' in SCRIPT.read_text()}
    assert read == {name for name in step["env"] if name.startswith("INPUT_")}
    named = {value.removeprefix("${{ inputs.").removesuffix(" }}") for value in step["env"].values()}
    assert named == ACTION["inputs"].keys()
    assert not [step for step in ACTION["runs"]["steps"] if "${{" in step.get("run", "")]


@pytest.mark.timeout(300)
def test_a_failed_job_arrives_in_a_thread(tmp_path: Path) -> None:
    programs = install_wheel(build_wheel(tmp_path), tmp_path / "venv")
    person = FirstUse(programs / "handoff", tmp_path / "home")
    log, output, summary = (tmp_path / name for name in ("log", "output", "summary"))
    log.write_text("".join(f"line {number}\n" for number in range(300)) + f"E  KeyError: 'day' key={KEY}\n")
    try:
        person.start("up", "--listen", "127.0.0.1:0", "--no-runner", until="Ctrl-C stops it")
        (file,) = person.home.rglob("handoff/env")
        service = dict(line.split("=", 1) for line in file.read_text().splitlines())
        given = {"INPUT_PLATFORM": "telegram", "INPUT_LOG": str(log), "INPUT_LINES": "50", "INPUT_QUESTION": "Why?"}
        places = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary), "HOME": str(tmp_path / "runner")}
        done = subprocess.run(
            [programs / "python", SCRIPT],
            env={"PATH": os.environ["PATH"], **service, **JOB, **given, **places},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        link = output.read_text().strip().partition("=")[2]
        assert link in done.stdout
        assert link in summary.read_text()
        headers = {"Authorization": f"Bearer {service['HANDOFF_TOKEN']}"}
        with httpx.Client(base_url=service["HANDOFF_URL"], headers=headers) as http:
            (session,) = http.get("/sessions").json()["sessions"]
            told = http.get(f"/sessions/{session['id']}/messages").json()["messages"][0]["content"]
        assert session["title"] == "tests: unit"
        for text in (
            "ada/parser",
            "fix; $(reboot)",
            "https://git.example/ada/parser/actions/runs/77",
            "line 299",
            "Why?",
        ):
            assert text in told
        assert "line 200\n" not in told
        assert KEY not in json.dumps(told) + done.stdout + done.stderr
    finally:
        person.stop()


def test_a_service_that_cannot_be_reached_is_said(tmp_path: Path) -> None:
    programs = install_wheel(build_wheel(tmp_path), tmp_path / "venv")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "INPUT_PLATFORM": "telegram"}
    environ |= {"HANDOFF_URL": "http://127.0.0.1:9", "HANDOFF_TOKEN": "ho_x.y"}
    command = [programs / "python", SCRIPT]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "The handoff failed (exit code 4)." in done.stdout
