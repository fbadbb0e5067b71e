"""Keeps secrets and messages out of the log."""

import logging
from collections.abc import Iterable

HIDDEN = "[hidden]"


class Redaction(logging.Filter):
    """Hides secrets in messages, arguments and tracebacks. Add it to handlers: they also receive the logs of libraries."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = sorted({secret for secret in secrets if secret}, key=len, reverse=True)

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self.redact(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = self.redact(record.exc_text)
        if record.stack_info:
            record.stack_info = self.redact(record.stack_info)
        return True

    def redact(self, text: str) -> str:
        """The text without any of the secrets."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text


class _WithoutTraceback(logging.Filter):
    """Reduces a lost connection to one line."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = record.exc_text = None
        return True


_WITHOUT_TRACEBACK = _WithoutTraceback()


def quiet(*loggers: str, without_traceback: str | None = None) -> None:
    """Stop libraries from logging at DEBUG: at that level they log whole events, and so what people write."""
    for name in loggers:
        logger = logging.getLogger(name)
        if logger.getEffectiveLevel() < logging.INFO:  # a level of its own would let more through than the root's
            logger.setLevel(logging.INFO)
    if without_traceback:
        logging.getLogger(without_traceback).addFilter(_WITHOUT_TRACEBACK)  # a logger takes a filter only once
