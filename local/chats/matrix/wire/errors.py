"""The errors of a homeserver, in the words of Synapse."""

from typing import Any

from local.chats.simulator.json_wire import Refused

FORBIDDEN = "You don't have permission to post that to the room. user_level (0) < send_level (50)"


def refused(status: int, code: str, text: str, **more: Any) -> Refused:
    return Refused(status, {"errcode": code, "error": text, **more})


def not_found(what: str = "Event not found.") -> Refused:
    return refused(404, "M_NOT_FOUND", what)


def not_in_room(user: str, room: str, more: str = "") -> Refused:
    return refused(403, "M_FORBIDDEN", f"User {user} not in room {room}{more}")


def invalid(text: str, code: str = "M_UNKNOWN") -> Refused:
    return refused(400, code, text)
