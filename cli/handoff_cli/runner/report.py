"""Reports of the runner: lines for the user's terminal, and a log without content of conversations."""

import logging
import time
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path

from handoff_cli.ui.terminal import Terminal

_LOG_BYTES = 1024 * 1024
_LOG_FILES = 3


class Report:
    """`say` is for people and may have titles; `log` takes codes, ids and counts only."""

    def __init__(self, terminal: Terminal, log: logging.Logger, local_time: Callable[[], str] | None = None) -> None:
        self._terminal = terminal
        self._log = log
        self._time = local_time or (lambda: time.strftime("%H:%M:%S"))
        self._said: set[str] = set()

    def say(self, text: str) -> None:
        """A line with the time of day."""
        self._terminal.say(f"{self._terminal.style(self._time(), 'dim')}  {text}")

    def name_of(self, session_id: str, title: str) -> str:
        """The name of a session: a title is what people wrote, and belongs on a screen, not into a log of a supervisor."""
        return title if title and self._terminal.stdout.isatty() else f"session {session_id[:8]}"

    def once(self, key: str, text: str) -> None:
        """The same, if nothing was said under this key yet."""
        if self.is_first(key):
            self.say(text)

    def is_first(self, key: str) -> bool:
        """Whether nothing was said under this key yet; from now on something was."""
        is_first = key not in self._said
        self._said.add(key)
        return is_first

    def again(self, key: str) -> bool:
        """Allow a line to be shown again; True if it was shown."""
        was_said = key in self._said
        self._said.discard(key)
        return was_said

    def odd(self, what: str) -> None:
        """Tell once what came in place of an answer of the service; nothing if it is empty."""
        if what:
            self.once(what, f"The service did not send an answer of its own: {what}. Trying again.")

    def warn(self, text: str) -> None:
        """A problem that the user should solve."""
        self._terminal.warn(text)

    def log(self, event: str, **about: object) -> None:
        """A line in the log file."""
        self._log.info("%s %s", event, " ".join(f"{name}={value}" for name, value in about.items()))


def open_log(path: Path) -> logging.Logger:
    """The runner's log file, closed to other users. Also silences the log lines of libraries: they quote messages."""
    path.touch(mode=0o600)
    handler = RotatingFileHandler(path, maxBytes=_LOG_BYTES, backupCount=_LOG_FILES, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log = logging.getLogger("handoff.runner")
    log.propagate = False
    log.setLevel(logging.INFO)
    log.handlers = [handler]
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.NullHandler())
    return log
