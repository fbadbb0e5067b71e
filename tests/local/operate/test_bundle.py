"""The artefact: its content and its platform. Building it needs a package index, so only `make bundle` does that."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from local.operate.bundle import IN_RUNTIME, SOURCES, report, runtime, without
from local.paths import ROOT

PINNED = """\
# header
boto3==1.44.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
fastapi==0.162.4 \\
    --hash=sha256:cc
Python_Dateutil==2.9.0 ; python_version >= '3' \\
    --hash=sha256:dd
"""


def test_packages_of_the_runtime_are_left_out() -> None:
    kept = "".join(without(IN_RUNTIME, PINNED))
    assert kept == "# header\nfastapi==0.162.4 \\\n    --hash=sha256:cc\n"


def test_every_package_left_out_is_pinned() -> None:
    pinned = (ROOT / "requirements.txt").read_text()
    assert len(list(without(IN_RUNTIME, pinned))) < len(pinned.splitlines())
    for name in IN_RUNTIME:
        assert f"\n{name}==" in pinned


def test_the_platform_is_that_of_the_template() -> None:
    assert runtime((ROOT / "template.yaml").read_text()) == ("3.13", "aarch64-manylinux2014")


def test_the_report_names_the_largest_packages(tmp_path: Path) -> None:
    for name, size in (("functions", 10), ("shared", 20), ("heavy", 5_000_000)):
        (tmp_path / "artefact" / name).mkdir(parents=True)
        (tmp_path / "artefact" / name / "x.py").write_bytes(bytes(size))
    lines = list(report(tmp_path / "artefact"))
    assert "5.0 MB" in lines[0]
    assert lines[1].split() == ["5.0", "MB", "heavy"]
    assert (tmp_path / "artefact.zip").exists()


# The runtime's versions of these are not pinned; boto3 is, by the tests on the runtime's Python.
UNPINNED = {name.replace("python-dateutil", "dateutil") for name in IN_RUNTIME - {"boto3", "botocore"}}


def imported(source: str) -> Iterator[str]:
    """Top-level names of the modules that a source imports, anywhere in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module).partition(".")[0]


@pytest.mark.parametrize(
    "source",
    [
        "import urllib3",
        "import json, urllib3.util as u",
        "from urllib3.util import Retry",
        "def f():\n  import urllib3",
    ],
)
def test_every_form_of_import_is_found(source: str) -> None:
    assert "urllib3" in set(imported(source))


@pytest.mark.parametrize("folder", SOURCES)
def test_no_function_imports_unpinned_packages(folder: str) -> None:
    sources = {path: set(imported(path.read_text())) for path in (ROOT / folder).rglob("*.py")}
    assert "logging" in set().union(*sources.values())
    assert {str(path): names & UNPINNED for path, names in sources.items() if names & UNPINNED} == {}
