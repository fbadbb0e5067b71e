"""Builds the deployment artefact of all functions without a container: `make bundle`."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from samtranslator.yaml_helper import yaml_parse

from local.interruptible import interruptible
from local.paths import ROOT

UV = Path(sys.executable).with_name("uv")
SOURCES = ("functions", "shared")
# Lambda's Python runtime contains boto3 and its dependencies, 32 MB.
IN_RUNTIME = frozenset({"boto3", "botocore", "jmespath", "python-dateutil", "s3transfer", "six", "urllib3"})
PLATFORMS = {"arm64": "aarch64-manylinux2014", "x86_64": "x86_64-manylinux2014"}
LIMIT = 250 * 1024 * 1024  # Lambda's limit, unzipped


class BundleTooLargeError(RuntimeError):
    """The artefact exceeds Lambda's limit."""

    def __init__(self, size: int) -> None:
        super().__init__(
            f"The artefact has {size >> 20} MB unzipped; Lambda's limit is {LIMIT >> 20} MB. It was deleted."
        )


def build(root: Path = ROOT) -> Path:
    """Rebuild .build/artefact and return its path. Raises if a package has no wheel for the platform."""
    target = root / ".build" / "artefact"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    requirements = root / ".build" / "requirements.txt"
    requirements.write_text("".join(without(IN_RUNTIME, (root / "requirements.txt").read_text())))
    version, platform = runtime((root / "template.yaml").read_text())
    command = [str(UV), "pip", "install", "--quiet", "--system-certs", "--target", str(target)]
    command += ["--no-deps", "--require-hashes"]
    # The wheels are for Lambda's platform, so nothing may be built or compiled on this one.
    command += ["--python-version", version, "--python-platform", platform, "--only-binary", ":all:"]
    subprocess.run([*command, "--requirements", str(requirements)], check=True)
    for source in SOURCES:
        shutil.copytree(root / source, target / source, ignore=shutil.ignore_patterns("__pycache__"))
    if (size := size_of(target)) > LIMIT:
        shutil.rmtree(target)
        raise BundleTooLargeError(size)
    return target


def runtime(template: str) -> tuple[str, str]:
    """Return the Python version and the platform that the template requires."""
    function = yaml_parse(template)["Globals"]["Function"]
    (architecture,) = function["Architectures"]
    return function["Runtime"].removeprefix("python"), PLATFORMS[architecture]


def without(names: frozenset[str], requirements: str) -> Iterator[str]:
    """Yield the lines of a pinned requirements file without some packages and their hashes."""
    keep = True
    for line in requirements.splitlines(keepends=True):
        if found := re.match(r"([A-Za-z0-9][A-Za-z0-9._-]*)", line):
            keep = re.sub(r"[-_.]+", "-", found[1]).lower() not in names
        if keep:
            yield line


def size_of(folder: Path) -> int:
    """Return the bytes of all files in the folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def report(artefact: Path) -> Iterator[str]:
    """Yield lines with the total size and the largest packages."""
    sizes = {entry.name: size_of(entry) if entry.is_dir() else entry.stat().st_size for entry in artefact.iterdir()}
    zipped = Path(shutil.make_archive(str(artefact.parent / "artefact"), "zip", artefact)).stat().st_size
    yield f"{artefact}: {sum(sizes.values()) / 1e6:.1f} MB, zipped {zipped / 1e6:.1f} MB"
    for name, size in sorted(sizes.items(), key=lambda entry: -entry[1])[:8]:
        yield f"  {size / 1e6:5.1f} MB  {name}"
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
