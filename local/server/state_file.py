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
        self._written = ""

    def write(self, values: Mapping[str, Any]) -> None:
        """Replace what was written before. A full disk is no reason to stop: the file is for people."""
        text = json.dumps({"process": str(os.getpid()), **values}, sort_keys=True)
        if text != self._written:
            with contextlib.suppress(OSError):
                write_private(self._path, text + "\n")
                self._written = text


def read_state(path: Path, process: str) -> dict[str, Any]:
    """What this process has written; empty if it has not, or if the file cannot be read."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.get("process") == process else {}
