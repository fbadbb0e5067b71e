"""What `make release` checks: the distribution of this checkout passes, and a spoiled one is named."""

import tarfile
import zipfile
from pathlib import Path

import pytest

from handoff_cli import __version__
from tests.release.contents import STEM, problems_of_metadata, problems_of_sdist, problems_of_wheel
from tests.release.first_use import FirstUse
from tests.support.wheel import build_wheel, install_wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_of_this_checkout_has_no_problem(wheel: Path) -> None:
    assert list(problems_of_wheel(wheel)) == []


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("tests/test_x.py", "tests/test_x.py does not belong into it"),
        ("handoff_server/code/.env", "handoff_server/code/.env does not belong into it"),
        ("handoff_server/code/handoff.db", "handoff_server/code/handoff.db does not belong into it"),
        ("shared/x.py", "it adds handoff_cli, handoff_server, shared to an environment"),
    ],
)
def test_what_does_not_belong_into_it_is_named(wheel: Path, tmp_path: Path, name: str, problem: str) -> None:
    spoiled = tmp_path / wheel.name
    spoiled.write_bytes(wheel.read_bytes())
    with zipfile.ZipFile(spoiled, "a") as archive:
        archive.writestr(name, "")
    assert problem in list(problems_of_wheel(spoiled))


def test_what_is_missing_is_named(wheel: Path, tmp_path: Path) -> None:
    spoiled = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(spoiled, "w") as archive:
        for name in whole.namelist():
            if not name.endswith(("requirements.txt", "template.json")):
                archive.writestr(name, whole.read(name))
    assert [problem.rpartition("/")[2] for problem in problems_of_wheel(spoiled)] == [
        "requirements.txt is missing",
        "template.json is missing",
    ]


def test_a_secret_in_the_sdist_is_named(tmp_path: Path) -> None:
    sdist, secret = tmp_path / "x.tar.gz", tmp_path / ".env"
    secret.touch()
    with tarfile.open(sdist, "w:gz") as archive:
        archive.add(secret, f"{STEM}/local/.env")
    assert list(problems_of_sdist(sdist)) == [f"{STEM}/local/.env does not belong into it"]


def test_metadata_of_another_version_are_named() -> None:
    found = list(problems_of_metadata("Name: handoff-live\nVersion: 0.0.1\nRequires-Dist: x @ file:///x\n"))
    assert f"Version is '0.0.1', not {__version__!r}" in found
    assert "it needs x @ file:///x, which no index takes" in found


@pytest.mark.timeout(300)
def test_the_installed_program_can_be_used_from_an_empty_home(wheel: Path, tmp_path: Path) -> None:
    person = FirstUse(install_wheel(wheel, tmp_path / "venv") / "handoff", tmp_path / "home")
    try:
        assert person.type("--version") == f"handoff {__version__}\n"
        person.hands_over()
        person.lets_the_own_agent_answer()
    finally:
        codes = person.stop()
    assert set(codes) == {0}
