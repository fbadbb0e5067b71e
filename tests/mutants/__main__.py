"""`make mutants`: apply each fault to a copy of the tree, and run the tests until the first one fails."""

import argparse
import functools
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.mutants.faults import FAULTS, Fault, NotApplicable

ROOT = Path(__file__).resolve().parents[2]
TIERS = ("fast", "test", "deep")
"""Of `make test` the fast tests run first, which notice most faults in seconds."""
NEAR = {
    "cli/handoff_cli/runner": "tests/cli/runner",
    "cli": "tests/cli",
    "functions": "tests/functions",
    "local/server": "tests/local/server",
    "local": "tests/local",
    "shared/agents": "tests/shared/agents tests/contracts/agent",
    "shared/platforms": "tests/shared/platforms tests/contracts/platform",
    "shared/ports": "tests/contracts/files",
    "shared/sqlite": "tests/shared/sqlite tests/contracts/tables",
    "shared/store": "tests/contracts/store tests/shared/use_cases",
    "shared/use_cases": "tests/shared/use_cases tests/functions",
}
"""Where the tests of a folder are, the longest path first: those of `make test` there run before all others."""
_NO_TEST = "exit"
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)


def main() -> int:
    """0 if every fault applies and is caught."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="only faults whose name contains one of these")
    parser.add_argument("--tier", choices=TIERS, action="append", help="run only this tier (default: all three)")
    parser.add_argument("--list", action="store_true", help="print the names")
    options = parser.parse_args()
    wanted = [fault for fault in FAULTS if not options.names or any(name in fault.name for name in options.names)]
    if options.list:
        _say("\n".join(fault.name for fault in wanted))
        return 0
    tiers = options.tier or TIERS
    results = {fault.name: _try(fault, tiers) for fault in wanted}
    _say("")
    for tier in TIERS:
        _say(f"{sum(caught == tier for caught in results.values())} caught by make {tier}")
    survivors = [name for name, caught in results.items() if caught not in TIERS]
    _say(f"{len(survivors)} of {len(results)} not caught" + "".join(f"\n  {name}" for name in survivors))
    return 1 if survivors else 0


def _try(fault: Fault, tiers: tuple[str, ...] | list[str]) -> str:
    """The tier that caught it; `-` if none did, or if it does not apply."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutant-") as directory:
        tree = Path(directory) / "tree"
        try:
            _copy(tree)
            fault.apply(tree)
        except NotApplicable as error:
            _say(f"-      {error}. Mend tests/mutants/faults.py")
            return "-"
        for tier, paths in _runs(fault, tiers):
            if failed := _failure_without_fault(tier, paths):
                _say(f"-      make {tier} {paths} fails without any fault: {failed}")
                return "-"
            if by := _first_failure(tree, tier, paths):
                _say(f"{tier:6} {fault.name} ({time.monotonic() - began:.0f} s): {by}")
                return "-" if by.startswith(_NO_TEST) else tier
    _say(f"-      {fault.name} ({time.monotonic() - began:.0f} s): NOT CAUGHT")
    return "-"


def _runs(fault: Fault, tiers: tuple[str, ...] | list[str]) -> Iterator[tuple[str, str]]:
    """The tests near the fault, then those of each tier."""
    near = next((NEAR[str(parent)] for parent in Path(fault.path).parents if str(parent) in NEAR), "")
    if near and "test" in tiers:
        yield "test", near
    for tier in tiers:
        yield tier, ""


@functools.cache
def _failure_without_fault(tier: str, paths: str) -> str:
    with tempfile.TemporaryDirectory(prefix="mutant-") as directory:
        _copy(tree := Path(directory) / "tree")
        return _first_failure(tree, tier, paths)


def _first_failure(tree: Path, tier: str, paths: str) -> str:
    """The first test of a tier that fails, of those in `paths` or of all; empty if all pass."""
    flags = f"PYTESTFLAGS=-x -p no:cacheprovider --ignore=tests/mutants {paths}"
    command = ["make", "--no-print-directory", "--old-file=.venv/.ready", tier, flags]
    done = subprocess.run(command, cwd=tree, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if not done.returncode:
        return ""
    first = _FAILED.search(done.stdout)
    return first[1] if first else f"{_NO_TEST} {done.returncode}: {(done.stdout + done.stderr).strip()[-300:]}"


def _copy(tree: Path) -> None:
    """The files that git knows, as they are now, beside the environment and the programs of this checkout."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    for made in (".venv", ".build"):
        if (ROOT / made).exists():
            (tree / made).symlink_to((ROOT / made).resolve())


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
