"""Keep the text of unexpected errors out of the logs: it may quote a user, a token or a transcript."""

import logging


class RedactedError(Exception):
    """An error without its text: the types of the error and its causes, and the traceback."""


def redacted(error: BaseException) -> RedactedError:
    """A copy of an error that names only its type and the types of its causes."""
    types, cause = [type(error).__name__], error.__cause__
    while cause is not None and len(types) < 5:
        types.append(type(cause).__name__)
        cause = cause.__cause__
    return RedactedError(" from ".join(types)).with_traceback(error.__traceback__)


def redact_exception(record: logging.LogRecord) -> bool:
    """A filter for log handlers that redacts the exception of a record; every record passes."""
    if record.exc_info and record.exc_info[1] is not None:
        error = redacted(record.exc_info[1])
        record.exc_info = (RedactedError, error, error.__traceback__)
        record.exc_text = None
    return True
