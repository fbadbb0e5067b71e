"""`state` in the data directory: what a running service knows of itself, for `handoff doctor`. It holds no secrets."""

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local.env_file import write_private

EVERY_SECONDS = 1.0


class StateFile:
    """Written when something has changed. It stays after a stop, so a reader compares the id of the process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._written: dict[str, Any] | None = None

    def write(self, values: Mapping[str, Any]) -> None:
        """Replace what was written before. A full disk is no reason to stop: the file is for people."""
        if values != self._written:
            with contextlib.suppress(OSError):
                write_state(self._path, str(os.getpid()), values)
                self._written = dict(values)


def write_state(path: Path, process: str, values: Mapping[str, Any]) -> None:
    """Say what a process knows of itself."""
    write_private(path, json.dumps({"process": process, **values}, sort_keys=True) + "\n")


def read_state(path: Path, process: str) -> dict[str, Any]:
    """The state that this process has written; empty if it has not, or if the file cannot be read."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.get("process") == process else {}
