"""What is said when a function's role does not allow what Lambda does in the function's name."""

import re

from botocore.exceptions import ClientError

_CODES = {"AccessDenied", "AccessDeniedException"}
_WORDS = re.compile(r"to perform: (?P<action>\S+) on resource: (?P<resource>\S+)")


class MappingDeniedError(Exception):
    """An event source mapping calls with the role of its function, and the role lacks a grant for that."""

    def __init__(self, function: str, action: str, resource: str) -> None:
        self.function, self.action, self.resource = function, action, resource
        super().__init__(
            f"{function} lacks {action} on {resource}, which its event source mapping needs. What waits there is kept, "
            "and the mapping goes on trying. Allow it in the role of the function, in the template."
        )


def explained(error: Exception, function: str) -> Exception:
    """A denial says which function lacks what; any other error speaks for itself."""
    if not is_denial(error):
        return error
    said = _WORDS.search(str(error))  # AWS's own words, and so the local cloud's
    return MappingDeniedError(function, said["action"], said["resource"]) if said else error


def is_denial(error: Exception) -> bool:
    return isinstance(error, ClientError) and error.response["Error"]["Code"] in _CODES
