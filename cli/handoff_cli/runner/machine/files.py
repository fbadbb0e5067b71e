"""Files that only the user can read, written whole or not at all."""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from handoff_cli.directories import state_home
from handoff_cli.errors import UsageProblem


def state_directory(environ: Mapping[str, str]) -> Path:
    """Where the runner keeps its data; made by `private_directory`."""
    return Path(state_home(environ)) / "handoff" / "runner"


def private_directory(path: Path) -> Path:
    """The directory, made if needed, closed to other users. Raises UsageProblem."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
    except OSError as error:
        raise UsageProblem(f"{path} cannot be used: {error.strerror}.") from error
    return path


def write_json(path: Path, value: Any) -> None:
    """Replace the file; when this returns, the disk has it. Raises OSError."""
    # mkstemp creates the file with mode 0600, and the rename keeps the mode.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(value, file)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync(path.parent)


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in the file; None if there is none, or it is damaged."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def remove(path: Path) -> None:
    """Remove the file. Idempotent."""
    path.unlink(missing_ok=True)
    _sync(path.parent)


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
