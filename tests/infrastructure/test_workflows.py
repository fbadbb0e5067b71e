"""The workflows of .github, which run nowhere here: they call targets that exist, on what is supported, with few rights."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".github" / "workflows"
NAMES = ("image", "nightly", "release", "site", "tests")
workflows = pytest.mark.parametrize("name", NAMES)
_HOSTS = re.compile(r"\b(?:ghcr\.io|docker\.io|pypi\.org|quay\.io|registry\.npmjs\.org|files\.pythonhosted\.org)\b")


def read(name: str) -> dict[Any, Any]:
    loaded: dict[Any, Any] = yaml.safe_load((FOLDER / f"{name}.yml").read_text())
    return loaded


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in read(name)["jobs"].values() for step in job["steps"]]


def runs(name: str) -> str:
    return "\n".join(step["run"] for step in steps(name) if "run" in step)


def test_all_workflows_are_read_here() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(NAMES)


@workflows
def test_it_calls_targets_that_exist(name: str) -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = re.findall(r"^make ([a-z]+)", runs(name), re.MULTILINE)
    assert set(called) <= targets
    assert [path for path in re.findall(r"(?<!\S)(\.ci/\w+)", runs(name)) if not (ROOT / path).exists()] == []


@workflows
def test_foreign_actions_are_pinned_to_a_commit(name: str) -> None:
    used = re.findall(r"uses: (\S+)", (FOLDER / f"{name}.yml").read_text())
    assert [each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", each)] == []


@workflows
def test_its_rights_are_those_of_a_reader_and_more_only_where_it_publishes(name: str) -> None:
    workflow = read(name)
    more = {key: job.get("permissions", {}) for key, job in workflow["jobs"].items()}
    writes = {f"{key}: {right}" for key, given in more.items() for right, value in given.items() if value == "write"}
    expected = {
        "release": {"publish: id-token"},
        "image": {"push: packages"},
        "site": {"publish: id-token", "publish: pages"},
    }
    assert workflow["permissions"] == {"contents": "read"}
    assert writes == expected.get(name, set())


@workflows
def test_no_value_of_an_event_becomes_text_of_a_shell(name: str) -> None:
    assert "${{" not in runs(name)


@workflows
def test_a_checkout_leaves_no_credentials_and_every_job_ends(name: str) -> None:
    checkouts = [step for step in steps(name) if step.get("uses", "").startswith("actions/checkout")]
    assert [step for step in checkouts if step["with"]["persist-credentials"] is not False] == []
    assert [key for key, job in read(name)["jobs"].items() if "timeout-minutes" not in job] == []


def test_the_tests_run_on_what_the_distribution_names() -> None:
    matrix = read("tests")["jobs"]["test"]["strategy"]["matrix"]
    project = (ROOT / "pyproject.toml").read_text()
    assert matrix["python"] == re.findall(r"Python :: (3\.\d+)\"", project)
    assert {system.partition("-")[0] for system in matrix["os"]} == {"ubuntu", "macos"}
    assert re.findall(r"^make (\w+)", runs("tests"), re.MULTILINE) == ["check", "test", "site"]


def test_a_release_is_what_make_release_has_checked_and_what_the_tag_names() -> None:
    checked, named, published = runs("release").splitlines()
    assert checked == "make release"
    assert named.startswith("test -f")
    assert "GITHUB_REF_NAME" in named
    assert published.endswith("uv publish --trusted-publishing always dist/*")
    assert read("release")[True] == {"push": {"tags": ["v*"]}}


def test_a_published_image_has_been_built_and_started_before() -> None:
    jobs = read("image")["jobs"]
    assert jobs["push"]["needs"] == "build"
    assert "refs/tags/v" in jobs["push"]["if"]
    assert "Health.Status" in runs("image")


def test_dependabot_looks_where_something_is_pinned() -> None:
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]
    looked = {directory for each in updates if each["package-ecosystem"] == "pip" for directory in each["directories"]}
    pinned = {f"/{path.parent.relative_to(ROOT)}".replace("/.", "/") for path in ROOT.glob("*/*/requirements.txt")}
    assert looked == pinned | {"/"}


@pytest.mark.parametrize("name", ["bug", "wish"])
def test_a_form_asks_something(name: str) -> None:
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text())
    assert {"name", "description", "body"} <= form.keys()
    assert all(field["type"] == "markdown" or field["attributes"]["label"] for field in form["body"])


def test_no_registry_is_named_elsewhere() -> None:
    """In code and configuration. Pages may link to the documentation of others."""
    files = [
        ROOT / name for name in ("Makefile", "Dockerfile", "compose.yaml", "action.yml", "pyproject.toml", ".ci/run")
    ]
    files += [*ROOT.glob("**/requirements*.txt"), *ROOT.glob("docs/site/*"), *ROOT.glob("examples/**/*.py")]
    files = [
        path for path in files if path.is_file() and not {".venv", ".venv-site", ".build", ".site"} & set(path.parts)
    ]
    assert [path.name for path in files if _HOSTS.search(path.read_text())] == []
