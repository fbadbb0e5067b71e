"""Output of a command for the operator: lines, progress, or one JSON value."""

import json
import sys
import time
from collections.abc import Mapping
from typing import Any

FAILED = 1
QUIET_SECONDS = 1.0
"""Progress is shown only for what takes longer."""


class Console:
    """Text to stdout, or with `is_json` exactly one JSON value; problems and progress to stderr."""

    def __init__(self, *, is_json: bool) -> None:
        self._is_json = is_json
        self._began = time.monotonic()
        self._has_line = False

    def done(self, result: Mapping[str, Any], text: str) -> int:
        """The end of a command that did what it was asked to."""
        self._clear()
        sys.stdout.write(f"{json.dumps(result, indent=2)}\n" if self._is_json else f"{text}\n")
        return 0

    def refuse(self, problem: str, *, code: str = "refused") -> int:
        """The end of a command that did not."""
        self._clear()
        sys.stderr.write(f"handoff: {problem}\n")
        if self._is_json:
            sys.stdout.write(json.dumps({"error": {"code": code, "message": problem}}, indent=2) + "\n")
        return FAILED

    def note(self, text: str) -> None:
        """A line to read before the end of a command."""
        self._clear()
        (sys.stderr if self._is_json else sys.stdout).write(f"{text}\n")

    def ask(self, question: str) -> bool | None:
        """Whether the operator agrees; None if there is no terminal to ask in."""
        if not sys.stdin.isatty():
            return None
        stream = sys.stderr if self._is_json else sys.stdout
        stream.write(question)
        stream.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def progress(self, text: str) -> None:
        """A line that the next one replaces; only on a terminal, and not for what is quick."""
        if sys.stderr.isatty() and time.monotonic() - self._began > QUIET_SECONDS:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
            self._has_line = True

    def _clear(self) -> None:
        if self._has_line:
            sys.stderr.write("\r\x1b[K")
            self._has_line = False
