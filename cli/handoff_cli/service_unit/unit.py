"""A service of the user, whatever supervises it, and the result of its installation."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Run = Callable[[Sequence[str]], int]
"""Runs a command of the supervisor and returns its exit code; not 0 if there is no such command."""


@dataclass(frozen=True)
class ServiceUnit:
    """One program. It holds no secrets: others may read where it is written. `directory` is where the program's data is.

    It is started again when it fails, but not after one of the `final` codes, which a new start would not change.
    """

    name: str
    description: str
    command: Sequence[str]
    directory: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    final: Sequence[int] = ()


@dataclass(frozen=True)
class Installed:
    """`to_do` are commands that the user must run, because this program could not. `commands` are those for later."""

    path: Path
    is_changed: bool
    to_do: Sequence[str]
    commands: Mapping[str, str]
    note: str = ""


@dataclass(frozen=True)
class Removed:
    """`path` is None if it was not installed."""

    path: Path | None
    to_do: Sequence[str] = ()


def run_quietly(command: Sequence[str]) -> int:
    """The exit code, 127 if there is no such program."""
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode  # noqa: S603 - ours
    except (OSError, subprocess.TimeoutExpired):
        return 127


def write_unit(path: Path, text: str) -> bool:
    """Replace a file in one step; returns whether that changed anything. Raises OSError."""
    if path.is_file() and path.read_text("utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, fresh = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(fresh).replace(path)
    except BaseException:
        Path(fresh).unlink(missing_ok=True)
        raise
    return True
