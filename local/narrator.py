"""One readable line per event of a local run."""

import json
import re
import sys
import threading
from datetime import datetime

from local.service import Watcher

WIDTH = 8
QUIET = ("START", "END", "REPORT", "INIT_START")
ALARMING = ("ERROR", "CRITICAL")
PLAIN = re.compile(r"\[(?P<level>[A-Z]+)\]\t\S+\t\S+\t(?P<text>.*)")
"""The runtime's own text format: level, time, request id, words."""


class Narrator:
    """Prints what functions log and what the API answers, each as one line with the time and who says it."""

    def __init__(self, *, color: bool) -> None:
        self._color = color
        self._lock = threading.Lock()
        self._muted = False

    def mute(self) -> None:
        """Say no more: what processes cry when they are ended is no event."""
        self._muted = True

    def watcher(self) -> Watcher:
        return Watcher(on_log=self.function_said, on_answer=self.api_answered, on_error=self.went_wrong)

    def function_said(self, function: str, line: str) -> None:
        who = function.removesuffix("Function").lower()
        if plain := PLAIN.match(line):
            self._print(who, plain["text"], alarming=plain["level"] in ALARMING)
            return
        try:
            record = json.loads(line)
        except ValueError:
            if line.strip() and not line.startswith(QUIET):
                self._print(who, line.rstrip())
            return
        if not isinstance(record, dict) or "message" not in record:
            return
        level, text = record.get("level", "INFO"), str(record["message"]).splitlines()[0]
        error = record.get("errorMessage")
        self._print(who, f"{text}: {error}" if error else text, alarming=level in ALARMING)

    def api_answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """Looking is not an event; a client polls several times a second."""
        if method != "GET" or status >= 500:
            self._print("api", f"{method} {path} → {status} ({seconds * 1000:.0f} ms)", alarming=status >= 500)

    def went_wrong(self, error: Exception) -> None:
        self._print("local", f"{type(error).__name__}: {error}", alarming=True)

    def _print(self, who: str, text: str, *, alarming: bool = False) -> None:
        if self._muted:
            return
        at = datetime.now().astimezone().strftime("%H:%M:%S")
        line = f"{at}  {who:<{WIDTH}} {text}"
        if self._color:
            line = f"\033[31m{line}\033[0m" if alarming else f"\033[2m{at}\033[0m  {who:<{WIDTH}} {text}"
        with self._lock:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
