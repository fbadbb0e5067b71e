"""Discord's errors: status, code, message, and for an invalid form the field."""

from typing import Any

from local.chats.simulator.json_wire import Refused


class DiscordError(Refused):
    """The call is answered with this error."""

    def __init__(self, status: int, code: int, message: str, **more: Any) -> None:
        super().__init__(status, {"message": message, "code": code, **more})


def unknown(what: str) -> DiscordError:
    codes = {"Channel": 10003, "Guild": 10004, "Message": 10008, "User": 10013, "Webhook": 10015}
    return DiscordError(404, codes[what], f"Unknown {what}")


def wrong_channel_type() -> DiscordError:
    return DiscordError(400, 50024, "Cannot execute action on this channel type")


def form(field: str, code: str, message: str) -> DiscordError:
    """`Invalid Form Body` with the field, as Discord reports it."""
    errors: dict[str, Any] = {"_errors": [{"code": code, "message": message}]}
    for part in reversed(field.split(".")):
        errors = {part: errors}
    return DiscordError(400, 50035, "Invalid Form Body", errors=errors)


def check_length(field: str, value: str, *, shortest: int, longest: int) -> None:
    if not shortest <= len(value) <= longest:
        text = f"Must be between {shortest} and {longest} in length."
        raise form(field, "BASE_TYPE_BAD_LENGTH", text)


def check_longest(field: str, value: str, longest: int) -> None:
    if len(value) > longest:
        raise form(field, "BASE_TYPE_MAX_LENGTH", f"Must be {longest} or fewer in length.")
