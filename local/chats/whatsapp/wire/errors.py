"""The error answers of the Cloud API, with its codes and texts."""

import math
from typing import Any

from local.chats.simulator.json_wire import Refused


class GraphError(Refused):
    """A refused call."""

    def __init__(self, code: int, message: str, details: str = "", *, status: int = 400, subcode: int = 0) -> None:
        error: dict[str, Any] = {"message": message, "type": "OAuthException", "code": code}
        if details:
            error["error_data"] = {"messaging_product": "whatsapp", "details": details}
        if subcode:
            error["error_subcode"] = subcode
        super().__init__(status, {"error": {**error, "fbtrace_id": "A5imulated"}})
        self.code = code


def invalid(details: str) -> GraphError:
    return GraphError(131009, "(#131009) Parameter value is not valid", details)


def missing(name: str) -> GraphError:
    return GraphError(100, f"(#100) The parameter {name} is required.")


TOKEN = GraphError(190, "Invalid OAuth access token - Cannot parse access token", status=401)
RIGHTS = GraphError(10, "(#10) Application does not have permission for this action", status=403)
BROKEN = GraphError(
    131000, "(#131000) Something went wrong", "Message failed to send due to an unknown error.", status=500
)
UNDELIVERABLE = GraphError(131026, "(#131026) Message undeliverable", "Message Undeliverable.")
PAIR = GraphError(
    131056,
    "(#131056) (Business Account, Consumer Account) pair rate limit hit",
    "Too many messages sent from this phone number to the same WhatsApp user phone number in a short period of time.",
)
SILENT = GraphError(
    131047,
    "(#131047) Re-engagement message",
    "Message failed to send because more than 24 hours have passed since the customer last replied to this number.",
)


def busy(seconds: float) -> Refused:
    error = GraphError(130429, "(#130429) Rate limit hit", "Cloud API message throughput has been reached.")
    return Refused(429, error.body, {"Retry-After": str(math.ceil(seconds))})


def no_number(number: str) -> GraphError:
    text = (
        f"Unsupported request. Object with ID '{number}' does not exist, cannot be loaded due to missing permissions, "
        "or does not support this operation."
    )
    return GraphError(100, text, subcode=33)
