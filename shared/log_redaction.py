"""What a log may hold of an error that nobody foresaw: its kind and where it arose, never its text."""

import logging


class RedactedError(Exception):
    """Stands for an error whose own text may quote a person, a token or a transcript."""


def redacted(error: BaseException) -> RedactedError:
    """The kinds of an error and of what caused it, with the way that it took."""
    kinds, cause = [type(error).__name__], error.__cause__
    while cause is not None and len(kinds) < 5:
        kinds.append(type(cause).__name__)
        cause = cause.__cause__
    return RedactedError(" from ".join(kinds)).with_traceback(error.__traceback__)


def redact_exception(record: logging.LogRecord) -> bool:
    """A filter for log handlers: lets every record pass, and takes the text out of its exception."""
    if record.exc_info and record.exc_info[1] is not None:
        told = redacted(record.exc_info[1])
        record.exc_info = (RedactedError, told, told.__traceback__)
        record.exc_text = None
    return True
