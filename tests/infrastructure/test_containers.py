"""The files for containers: what can be checked without an engine, because none is at hand."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from samtranslator.yaml_helper import yaml_parse

from handoff_cli.arguments import parser
from local.server.options import parse
from local.server.settings_file import known_names

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = [ROOT / "compose.yaml", ROOT / "compose.public.yaml"]
compose_files = pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def last_stage() -> dict[str, str]:
    """The last value of each instruction in the image that runs."""
    names = [name for name, _ in instructions()]
    start = len(names) - names[::-1].index("FROM") - 1
    return dict(instructions()[start:])


def services(path: Path) -> dict[str, Any]:
    text = re.sub(r"\$\{HANDOFF_HOST:\?[^}]*\}", "handoff.example.org", path.read_text())
    found: dict[str, Any] = yaml_parse(text)["services"]
    return found


def check_command(command: list[str]) -> None:
    """The client knows the command, and the service accepts its options."""
    assert parser("handoff").parse_args(command).run == "up:up"
    parse(command[1:], {})


def test_the_image_runs_as_a_user_without_rights() -> None:
    assert last_stage()["USER"] == "10001"
    (made,) = (text for name, text in instructions() if name == "RUN" and "useradd" in text)
    assert "--uid 10001" in made
    assert "-m 700 /data" in made
    assert last_stage()["VOLUME"] == "/data"


def test_the_image_is_checked_and_started_as_the_program_expects() -> None:
    assert yaml_parse(last_stage()["ENTRYPOINT"]) == ["handoff"]
    command = yaml_parse(last_stage()["CMD"])
    check_command(command)
    assert f"http://{command[-1]}/health" in last_stage()["HEALTHCHECK"]


def test_no_secret_has_a_place_in_image_or_compose_file() -> None:
    names = [name for name in known_names() if not name.startswith("HANDOFF_")]
    texts = [path.read_text() for path in (ROOT / "Dockerfile", *COMPOSE)]
    assert [name for name in names for text in texts if name in text] == []
    assert not [name for name, _ in instructions() if name == "ARG"]


def test_what_is_copied_exists_and_nothing_else_is_sent_to_the_engine() -> None:
    copied = [shlex.split(text)[:-1] for name, text in instructions() if name == "COPY" and "--from" not in text]
    sources = {source for words in copied for source in words}
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert ignored[1] == "*"
    assert sources == allowed
    assert [source for source in sources if not (ROOT / source).exists()] == []


def test_the_wheel_is_built_from_what_is_copied(tmp_path: Path) -> None:
    """The build stage, without an engine: its files, and the builder that it pins."""
    names = [shlex.split(text) for name, text in instructions() if name == "COPY" and "--from" not in text]
    for source in {source for words in names for source in words[:-1]}:
        path = ROOT / source
        copy = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, tmp_path / source)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert len(list((tmp_path / "dist").glob("handoff_live-*.whl"))) == 1


def test_all_packages_are_pinned_with_hashes_as_they_are_tested() -> None:
    pins = re.compile(r"^([\w.-]+==[^ ]+)", re.MULTILINE)
    text = (ROOT / "requirements-server.txt").read_text()
    assert set(pins.findall(text)) - set(pins.findall((ROOT / "requirements-dev.txt").read_text())) == set()
    assert len(pins.findall(text)) > 30
    for name in ("boto3", "moto", "pytest"):
        assert f"\n{name}==" not in text
    installs = [text for name, text in instructions() if name == "RUN" and "-r /tmp/requirements.txt" in text]
    assert all("--require-hashes" in text for text in installs)
    assert len(installs) == 1


def test_the_builder_is_pinned() -> None:
    (pattern,) = re.findall(r"grep -oE '([^']+)'", (ROOT / "Dockerfile").read_text())
    found = re.findall(pattern, (ROOT / "requirements-dev.txt").read_text(), re.MULTILINE)
    assert sorted(found) == ["hatchling", "packaging", "pathspec", "pluggy", "trove-classifiers"]


@compose_files
def test_the_service_keeps_its_data_and_has_no_rights(path: Path) -> None:
    service = services(path)["handoff"]
    check_command(service["command"])
    assert service["volumes"] == ["data:/data"]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert "no-new-privileges:true" in service["security_opt"]
    assert (path.parent / service["build"]["context"]).resolve() == ROOT
    assert (ROOT / service["build"]["dockerfile"]).is_file()
    assert "data" in yaml_parse(path.read_text())["volumes"]


def test_only_the_proxy_is_open_to_the_network() -> None:
    alone, public = services(COMPOSE[0])["handoff"], services(COMPOSE[1])
    assert "ports" not in alone
    assert alone["command"][-1].startswith("127.0.0.1:")
    assert "ports" not in public["handoff"]
    assert public["proxy"]["depends_on"] == {"handoff": {"condition": "service_healthy"}}
    assert public["proxy"]["command"][-1] == "handoff:8787"


@pytest.mark.skipif(shutil.which("hadolint") is None, reason="needs hadolint")
def test_hadolint_finds_nothing() -> None:
    checked = subprocess.run(["hadolint", str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)
    assert checked.stdout == ""


def _has_compose() -> bool:
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not _has_compose(), reason="needs docker compose")
@compose_files
def test_compose_accepts_the_file(path: Path) -> None:
    command = ["docker", "compose", "-f", str(path), "config", "--quiet"]
    environ = {"PATH": str(Path(shutil.which("docker") or "").parent), "HANDOFF_HOST": "handoff.example.org"}
    checked = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
