"""The errors of a homeserver, in the words of Synapse."""

from typing import Any

from aiohttp import web

from local.chats.simulator.backend import FaultResponses
from local.chats.simulator.faults import Fault

UNKNOWN_TOKEN = ("M_UNKNOWN_TOKEN", "Invalid access token passed.")
MISSING_TOKEN = ("M_MISSING_TOKEN", "Missing access token")


class MatrixError(Exception):
    """The call is answered with this status, code and text."""

    def __init__(self, status: int, code: str, text: str) -> None:
        super().__init__(text)
        self.status, self.code, self.text = status, code, text


def not_found(what: str = "Event not found.") -> MatrixError:
    return MatrixError(404, "M_NOT_FOUND", what)


def not_in_room(user: str, room: str, more: str = "") -> MatrixError:
    return MatrixError(403, "M_FORBIDDEN", f"User {user} not in room {room}{more}")


def invalid(text: str, code: str = "M_UNKNOWN") -> MatrixError:
    return MatrixError(400, code, text)


def refused(status: int, code: str, text: str, **more: Any) -> web.Response:
    return web.json_response({"errcode": code, "error": text, **more}, status=status)


def _rate_limited(fault: Fault) -> web.Response:
    return refused(429, "M_LIMIT_EXCEEDED", "Too Many Requests", retry_after_ms=int(fault.seconds * 1000))


FAULT_RESPONSES: FaultResponses = {
    "rate_limit": _rate_limited,
    "forbidden": lambda _: refused(
        403, "M_FORBIDDEN", "You don't have permission to post that to the room. user_level (0) < send_level (50)"
    ),
    "server_error": lambda _: refused(500, "M_UNKNOWN", "Internal server error"),
}
