"""The error answers of the Cloud API, with its codes and texts."""

from typing import Any

from aiohttp import web


class GraphError(Exception):
    """A refused call."""

    def __init__(self, code: int, message: str, details: str = "", *, status: int = 400, subcode: int = 0) -> None:
        super().__init__(message)
        self.code, self.status = code, status
        self.body: dict[str, Any] = {"message": message, "type": "OAuthException", "code": code}
        if details:
            self.body["error_data"] = {"messaging_product": "whatsapp", "details": details}
        if subcode:
            self.body["error_subcode"] = subcode
        self.body["fbtrace_id"] = "A5imulated"

    def answer(self, headers: dict[str, str] | None = None) -> web.Response:
        return web.json_response({"error": self.body}, status=self.status, headers=headers)


def invalid(details: str) -> GraphError:
    return GraphError(131009, "(#131009) Parameter value is not valid", details)


def missing(name: str) -> GraphError:
    return GraphError(100, f"(#100) The parameter {name} is required.")


TOKEN = GraphError(190, "Invalid OAuth access token - Cannot parse access token", status=401)
RIGHTS = GraphError(10, "(#10) Application does not have permission for this action", status=403)
BUSY = GraphError(130429, "(#130429) Rate limit hit", "Cloud API message throughput has been reached.", status=429)
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


def no_number(number: str) -> GraphError:
    text = (
        f"Unsupported request. Object with ID '{number}' does not exist, cannot be loaded due to missing permissions, "
        "or does not support this operation."
    )
    return GraphError(100, text, subcode=33)
