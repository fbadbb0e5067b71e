"""Events of a local run: the callbacks that receive them, and a printer of one line per event."""

import json
import re
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

_WIDTH = 8
_IGNORED = ("START", "END", "REPORT", "INIT_START")
_SEVERE = ("ERROR", "CRITICAL")
# The text log format of the Lambda runtime: level, time, request id, message.
_TEXT_FORMAT = re.compile(r"\[(?P<level>[A-Z]+)\]\t\S+\t\S+\t(?P<text>.*)")


@dataclass(frozen=True)
class Watcher:
    """Called with log lines of functions, answered requests and errors of the local run; never with chat messages."""

    on_log: Callable[[str, str], None] = field(default=lambda _function, _line: None)
    on_answer: Callable[[str, str, int, float], None] = field(default=lambda _method, _path, _status, _seconds: None)
    on_error: Callable[[Exception], None] = field(default=lambda _error: None)


class EventPrinter:
    """Prints each event as one line with its time and source."""

    def __init__(self, *, color: bool) -> None:
        self._color = color
        self._lock = threading.Lock()
        self._muted = False

    def mute(self) -> None:
        """Print nothing more: processes that are being stopped log errors that mean nothing."""
        self._muted = True

    def watcher(self) -> Watcher:
        return Watcher(on_log=self.log_line, on_answer=self.answered, on_error=self.failed)

    def log_line(self, function: str, line: str) -> None:
        source = function.removesuffix("Function").lower()
        if plain := _TEXT_FORMAT.match(line):
            self._print(source, plain["text"], severe=plain["level"] in _SEVERE)
            return
        try:
            record = json.loads(line)
        except ValueError:
            if line.strip() and not line.startswith(_IGNORED):
                self._print(source, line.rstrip())
            return
        if not isinstance(record, dict) or "message" not in record:
            return
        level, text = record.get("level", "INFO"), str(record["message"]).splitlines()[0]
        error = record.get("errorMessage")
        self._print(source, f"{text}: {error}" if error else text, severe=level in _SEVERE)

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """Successful reads are left out: a client polls several times a second."""
        if method != "GET" or status >= 500:
            self._print("api", f"{method} {path} → {status} ({seconds * 1000:.0f} ms)", severe=status >= 500)

    def failed(self, error: Exception) -> None:
        self._print("local", f"{type(error).__name__}: {error}", severe=True)

    def _print(self, source: str, text: str, *, severe: bool = False) -> None:
        if self._muted:
            return
        at = datetime.now().astimezone().strftime("%H:%M:%S")
        line = f"{at}  {source:<{_WIDTH}} {text}"
        if self._color:
            line = f"\033[31m{line}\033[0m" if severe else f"\033[2m{at}\033[0m  {source:<{_WIDTH}} {text}"
        with self._lock:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
