"""The artefact: what goes in, and for which machine. Building it needs a package index, so that is left to `make bundle`."""

from pathlib import Path

import pytest

from local.operate.bundle import IN_RUNTIME, ROOT, report, runtime, without

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


def test_what_the_runtime_has_is_left_out_with_its_hashes() -> None:
    kept = "".join(without(IN_RUNTIME, PINNED))
    assert kept == "# header\nfastapi==0.162.4 \\\n    --hash=sha256:cc\n"


def test_all_that_is_left_out_is_really_pinned() -> None:
    pinned = (ROOT / "requirements.txt").read_text()
    assert len(list(without(IN_RUNTIME, pinned))) < len(pinned.splitlines())
    for name in IN_RUNTIME:
        assert f"\n{name}==" in pinned


def test_the_bundle_is_built_for_the_machine_that_the_template_names() -> None:
    assert runtime((ROOT / "template.yaml").read_text()) == ("3.13", "aarch64-manylinux2014")


def test_the_report_names_what_weighs_most(tmp_path: Path) -> None:
    for name, size in (("functions", 10), ("shared", 20), ("heavy", 5_000_000)):
        (tmp_path / "artefact" / name).mkdir(parents=True)
        (tmp_path / "artefact" / name / "x.py").write_bytes(bytes(size))
    lines = list(report(tmp_path / "artefact"))
    assert "5.0 MB" in lines[0]
    assert lines[1].split() == ["5.0", "MB", "heavy"]
    assert (tmp_path / "artefact.zip").exists()


@pytest.mark.parametrize("name", sorted(IN_RUNTIME - {"boto3", "botocore"}))
def test_nothing_of_ours_needs_what_boto3_brings(name: str) -> None:
    module = {"python-dateutil": "dateutil"}.get(name, name)
    for folder in ("functions", "shared"):
        for path in (ROOT / folder).rglob("*.py"):
            assert f"import {module}" not in path.read_text()
