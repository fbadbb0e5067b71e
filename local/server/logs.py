"""The log of the server: readable lines on stderr and in a rotated file, without secrets and without what people write."""

import logging
import os
import sys
from collections.abc import Iterable
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from local.chats.relays.redaction import Redaction
from shared.log_redaction import redact_exception

MAX_BYTES, KEPT_FILES = 5_000_000, 3
_OURS = ("functions", "local", "shared")
"""Other packages log URLs, which may contain a token, or whole events at lower levels than warnings."""


class _PrivateFile(RotatingFileHandler):
    """A log file that only its owner can read."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        os.fchmod(descriptor, 0o600)
        return TextIOWrapper(os.fdopen(descriptor, "ab"), encoding="utf-8", errors="backslashreplace")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # logging calls it so
        """On a full disk: the terminal has the same lines, and needs no traceback for each of them."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


def log_to(path: Path, level: str, *, to_terminal: bool = True) -> None:
    """Log to the file from now on, and to stderr."""
    file = _PrivateFile(path, maxBytes=MAX_BYTES, backupCount=KEPT_FILES, encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    terminal = logging.StreamHandler(sys.stderr)
    terminal.setFormatter(logging.Formatter("%(asctime)s  %(message)s", datefmt="%H:%M:%S"))
    logging.basicConfig(level=logging.WARNING, handlers=[file, terminal] if to_terminal else [file], force=True)
    for name in _OURS:
        logging.getLogger(name).setLevel(level)
    for handler in (file, terminal):
        handler.addFilter(redact_exception)


def hide(secrets: Iterable[str]) -> None:
    """Never log these texts."""
    redaction = Redaction(secrets)
    for handler in logging.getLogger().handlers:
        handler.addFilter(redaction)
