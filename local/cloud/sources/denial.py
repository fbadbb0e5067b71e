"""Errors of event sources; explains the one when a function's role lacks a grant that its mapping needs."""

import logging
import re

from botocore.exceptions import ClientError

LOG = logging.getLogger(__name__)
_CODES = {"AccessDenied", "AccessDeniedException"}
_MESSAGE = re.compile(r"to perform: (?P<action>\S+) on resource: (?P<resource>\S+)")


class MappingDeniedError(Exception):
    """The role of a function lacks a grant that its event source mapping needs."""

    def __init__(self, function: str, action: str, resource: str) -> None:
        self.function, self.action, self.resource = function, action, resource
        super().__init__(
            f"{function} lacks {action} on {resource}, which its event source mapping needs. Waiting events are kept and "
            "the mapping retries. Allow the action in the role of the function, in the template."
        )


def explained(error: Exception, function: str) -> Exception:
    """Return a MappingDeniedError for a denial; return any other error unchanged."""
    if not is_denial(error):
        return error
    found = _MESSAGE.search(str(error))  # the wording of AWS, which the local cloud uses too
    return MappingDeniedError(function, found["action"], found["resource"]) if found else error


def is_denial(error: Exception) -> bool:
    return isinstance(error, ClientError) and error.response["Error"]["Code"] in _CODES


def log_error(error: Exception) -> None:
    LOG.error("An event source continues after an error", exc_info=error)
