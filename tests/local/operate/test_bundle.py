"""The artefact: its content and its platform. Building it needs a package index, so only `make bundle` does that."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from local.operate.bundle import (
    AWS_SERVICES,
    SOURCES,
    compile_all,
    interpreter,
    remove_what_lambda_ignores,
    report,
    runtime,
    write_zip,
)
from local.paths import ROOT

THIS_PYTHON = "{}.{}".format(*sys.version_info[:2])


def _artefact(folder: Path, *, names: tuple[str, ...] = ("b.py", "a.py"), mtime: int = 1) -> Path:
    for name in names:
        path = folder / "artefact" / "package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"NAMES = {{'x', 'y', 'z'}}  # {name}\n")
        os.utime(path, (mtime, mtime))
        path.chmod(0o600 if mtime > 1 else 0o755)
    return folder / "artefact"


def test_the_platform_is_that_of_the_template() -> None:
    assert runtime((ROOT / "template.yaml").read_text()) == ("3.13", "aarch64-manylinux2014")


def test_the_report_names_the_largest_packages(tmp_path: Path) -> None:
    for name, size in (("functions", 10), ("shared", 20), ("heavy", 5_000_000)):
        (tmp_path / "artefact" / name).mkdir(parents=True)
        (tmp_path / "artefact" / name / "x.py").write_bytes(bytes(size))
    lines = list(report(tmp_path / "artefact"))
    assert "5.0 MB" in lines[0]
    assert lines[1].split() == ["5.0", "MB", "heavy"]
    assert any("not compiled" in line for line in lines)
    assert (tmp_path / "artefact.zip").exists()


def test_equal_content_gives_equal_bytes(tmp_path: Path) -> None:
    first = write_zip(_artefact(tmp_path / "1"))
    second = write_zip(_artefact(tmp_path / "2", names=("a.py", "b.py"), mtime=1_700_000_000))
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        assert archive.namelist() == ["package/a.py", "package/b.py"]
        assert {entry.external_attr >> 16 & 0o777 for entry in archive.infolist()} == {0o644}


def test_two_builds_compile_to_equal_bytes(tmp_path: Path) -> None:
    zips = []
    for number in ("1", "2"):
        artefact = _artefact(tmp_path / number, mtime=int(number))
        compile_all(artefact, sys.executable)
        zips.append(write_zip(artefact))
    assert zips[0].read_bytes() == zips[1].read_bytes()


def test_compiled_modules_are_used_whatever_their_time(tmp_path: Path) -> None:
    artefact = _artefact(tmp_path)
    (artefact / "package" / "a.py").write_text("raise SystemExit(7)\n")
    compile_all(artefact, sys.executable)
    (artefact / "package" / "a.py").write_text("raise SystemExit(8)\n")  # a stale or re-timed source is not looked at
    ran = subprocess.run([sys.executable, "-c", "import package.a"], cwd=artefact, check=False)
    assert ran.returncode == 7
    (compiled,) = (artefact / "package" / "__pycache__").glob("a.*.pyc")
    assert b"/var/task/package/a.py" in compiled.read_bytes()


def test_only_a_python_of_the_runtimes_version_compiles(tmp_path: Path) -> None:
    assert interpreter(THIS_PYTHON) == sys.executable
    assert interpreter("2.99") is None


def test_unused_services_and_notes_are_removed(tmp_path: Path) -> None:
    data = tmp_path / "botocore" / "data"
    for service in (*AWS_SERVICES, "ec2", "s3"):
        (data / service / "2020-01-01").mkdir(parents=True)
    (data / "endpoints.json").write_text("{}")
    (tmp_path / "x-1.dist-info").mkdir()
    for note in ("RECORD", "METADATA"):
        (tmp_path / "x-1.dist-info" / note).write_text("")
    (tmp_path / "bin").mkdir()

    remove_what_lambda_ignores(tmp_path)

    assert {path.name for path in data.iterdir()} == {*AWS_SERVICES, "endpoints.json"}
    assert [path.name for path in (tmp_path / "x-1.dist-info").iterdir()] == ["METADATA"]
    assert not (tmp_path / "bin").exists()


def test_every_service_that_is_called_is_in_the_artefact() -> None:
    named = re.compile(r'(?:client|LazyClient)\(\s*"([a-z-]+)"|for service in \(((?:"[a-z-]+",? ?)+)\)')
    called: set[str] = set()
    for folder in SOURCES:
        for path in (ROOT / folder).rglob("*.py"):
            for single, several in named.findall(path.read_text()):
                called |= {single} if single else set(re.findall(r'"([a-z-]+)"', several))
    assert called == set(AWS_SERVICES)
