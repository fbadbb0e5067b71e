"""The artefact: its content and its platform. Its real packages need an index; here one made for the test stands for them."""

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from local.operate.deploy.bundle import (
    AWS_SERVICES,
    PLATFORMS,
    SOURCES,
    build,
    compile_all,
    interpreter,
    remove_what_lambda_ignores,
    report,
    write_zip,
)
from local.operate.deploy.template import load, runtime
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
    version, architecture = runtime(load())
    assert (version, PLATFORMS[architecture]) == ("3.13", "aarch64-manylinux2014")


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


def _project(folder: Path, wheels: Path) -> Path:
    """A tree with one function, and one package for the functions' machine."""
    name = "native-1.0-cp313-cp313-manylinux2014_aarch64.whl"
    wheels.mkdir(exist_ok=True)
    with zipfile.ZipFile(wheels / name, "w") as archive:
        info = "native-1.0.dist-info"
        archive.writestr("native/__init__.py", "WORDS = {'a', 'b', 'c'}\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: native\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: cp313-cp313-manylinux2014_aarch64\n")
        archive.writestr(f"{info}/RECORD", "native/__init__.py,,\n")
    digest = hashlib.sha256((wheels / name).read_bytes()).hexdigest()
    folder.mkdir()
    (folder / "requirements.txt").write_text(f"native==1.0 --hash=sha256:{digest}\n")
    for source in SOURCES:
        (folder / source).mkdir()
        (folder / source / "__init__.py").write_text("NAMES = {'x', 'y', 'z'}\n")
    return folder


def test_two_whole_builds_are_identical(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = _project(tmp_path / "project", tmp_path / "wheels")
    for name, value in {"UV_NO_INDEX": "1", "UV_FIND_LINKS": str(tmp_path / "wheels"), "UV_OFFLINE": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("UV_INDEX_URL", raising=False)
    built = []
    for number in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", number)
        built.append(write_zip(build(root, tmp_path / number)))
    assert built[0].read_bytes() == built[1].read_bytes()
    with zipfile.ZipFile(built[0]) as archive:
        names = set(archive.namelist())
    assert {"native/__init__.py", "functions/__init__.py", "shared/__init__.py"} <= names
    assert not [name for name in names if name.endswith(("INSTALLER", "RECORD"))]
    if interpreter(runtime(load())[0]):
        assert "functions/__pycache__/__init__.cpython-313.pyc" in names
