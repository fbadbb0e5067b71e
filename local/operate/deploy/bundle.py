"""Builds the deployment artefact of all functions without a container: `make bundle`, and for `handoff deploy`.

The same code and lock file give the same bytes: a deploy without a change uploads and replaces nothing. uv installs the
packages, because pip evaluates the markers of packages for the Python that runs it, not for the one on Lambda.
"""

import errno
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from local.interruptible import interruptible
from local.operate.deploy.template import load, runtime
from local.paths import ROOT

SOURCES = ("functions", "shared")
AWS_SERVICES = ("bedrock-runtime", "dynamodb", "sqs", "ssm")
"""The services whose clients the functions create; botocore describes 400 more, in 25 MB."""
PLATFORMS = {"arm64": "aarch64-manylinux2014", "x86_64": "x86_64-manylinux2014"}
LIMIT = 250 * 1024 * 1024  # Lambda's limit, unzipped
ON_LAMBDA = "/var/task"
EARLIEST = (1980, 1, 1, 0, 0, 0)  # a zip knows no earlier time


class BundleTooLargeError(RuntimeError):
    """The artefact exceeds Lambda's limit."""

    def __init__(self, size: int) -> None:
        super().__init__(
            f"The artefact has {size >> 20} MB unzipped; Lambda's limit is {LIMIT >> 20} MB. It was deleted."
        )


def build(root: Path = ROOT, into: Path | None = None) -> Path:
    """Rebuild the artefact, by default as .build/artefact, and return its path.

    Raises if uv is missing or a package has no wheel for the platform. Without a Python of the runtime's version nothing
    is compiled, and Lambda compiles at each cold start.
    """
    target = (into or root / ".build") / "artefact"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    version, architecture = runtime(load())
    platform = PLATFORMS[architecture]
    command = [uv(), "pip", "install", "--quiet", "--system-certs", "--target", str(target)]
    command += ["--no-deps", "--require-hashes"]
    # The wheels are for Lambda's platform, so nothing may be built or compiled on this one.
    command += ["--python-version", version, "--python-platform", platform, "--only-binary", ":all:"]
    subprocess.run([*command, "--requirements", str(root / "requirements.txt")], check=True)
    for source in SOURCES:
        shutil.copytree(root / source, target / source, ignore=shutil.ignore_patterns("__pycache__"))
    remove_what_lambda_ignores(target)
    if python := interpreter(version):
        compile_all(target, python)
    if (size := size_of(target)) > LIMIT:
        shutil.rmtree(target)
        raise BundleTooLargeError(size)
    return target


def uv() -> str:
    """The installer: beside this Python, or where the shell finds it. Raises FileNotFoundError."""
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise FileNotFoundError(errno.ENOENT, "The installer uv is missing. Install it: pip install uv", "uv")
    return found


def remove_what_lambda_ignores(target: Path) -> None:
    """Remove console scripts, notes of the installer (they differ between builds) and services that no function calls."""
    shutil.rmtree(target / "bin", ignore_errors=True)
    for pattern in ("*.dist-info/RECORD", "*.dist-info/INSTALLER", "*.dist-info/uv_cache.json", ".lock"):
        for note in target.glob(pattern):
            note.unlink()
    for service in (target / "botocore" / "data").glob("*/"):
        if service.name not in AWS_SERVICES:
            shutil.rmtree(service)


def interpreter(version: str) -> str | None:
    """Return a Python of this version on this machine, or None. A pyenv shim may exist without one behind it."""
    name = f"python{version}"
    candidates = [sys.executable, name, *sorted(map(str, Path.home().glob(f".pyenv/versions/{version}*/bin/{name}")))]
    for candidate in candidates:
        command = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError:
            continue
        if answer.stdout.strip() == version:
            return candidate
    return None


def compile_all(target: Path, python: str) -> None:
    """Compile all modules. Lambda never compares them with their sources: a zip keeps no exact times."""
    command = [python, "-m", "compileall", "-q", "-j", "1", "--invalidation-mode", "unchecked-hash"]
    # The hash seed orders the constants of a set. A package may hold a file that is no Python of this version: not an error.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    subprocess.run([*command, "-s", str(target), "-p", ON_LAMBDA, str(target)], check=False, env=environment)


def write_zip(folder: Path) -> Path:
    """Write the folder as a zip beside it: sorted, with fixed times and modes, so that equal content is equal bytes."""
    target = folder.with_name(f"{folder.name}.zip")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), EARLIEST)
            entry.create_system = 3  # Unix: the mode below counts
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return target


def size_of(folder: Path) -> int:
    """Return the bytes of all files in the folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def report(artefact: Path) -> Iterator[str]:
    """Yield lines with the total size and the largest packages."""
    sizes = {entry.name: size_of(entry) if entry.is_dir() else entry.stat().st_size for entry in artefact.iterdir()}
    zipped = write_zip(artefact).stat().st_size
    yield f"{artefact}: {sum(sizes.values()) / 1e6:.1f} MB, zipped {zipped / 1e6:.1f} MB"
    for name, size in sorted(sizes.items(), key=lambda entry: -entry[1])[:8]:
        yield f"  {size / 1e6:5.1f} MB  {name}"
    if not any(artefact.rglob("*.pyc")):
        yield "  not compiled: this machine has no Python of the runtime's version, so cold starts take longer"
    for name in SOURCES:
        yield f"  {sizes[name] / 1e6:5.1f} MB  {name} (this project)"


def main() -> int:
    """Build the artefact and print its size; on a failure print no traceback, because the installer has explained it."""
    sys.stdout.write("Building .build/artefact ...\n")
    sys.stdout.flush()
    try:
        sys.stdout.write("\n".join(report(build())) + "\n")
    except subprocess.CalledProcessError:
        sys.stdout.write("Not built: the packages could not be installed. See the error above, then run: make bundle\n")
        return 1
    except BundleTooLargeError as error:
        sys.stdout.write(f"Not built: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(interruptible(main, "Stopped. The artefact is not complete; build it again with: make bundle"))
