"""Arguments of a Bot API call, parsed as Telegram parses them."""

import json
import re
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from local.chats.simulator.files import SentFile, form_of
from local.chats.simulator.json_wire import Refused


class TelegramError(Refused):
    """The call is answered with this error; `text` is Telegram's description."""

    def __init__(self, text: str, *, code: int = 400) -> None:
        super().__init__(code, {"ok": False, "error_code": code, "description": text})


def to_integer(text: str) -> int:
    """A number as Telegram's server reads it: the digits at the start, modulo 2^64. `07001` and `7001x` are 7001."""
    digits = re.match(r"(-?)([0-9]*)", text, re.ASCII)
    value = int((digits and digits[2]) or 0) % 2**64
    value -= 2**64 if value >= 2**63 else 0
    return -value if digits and digits[1] else value


class Arguments:
    """Typed access; a missing or malformed argument raises Telegram's error."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def all(self) -> dict[str, Any]:
        """All arguments; JSON that a form carries as text is parsed. Of a file only its name."""
        texts = {name: value.name if isinstance(value, SentFile) else value for name, value in self._values.items()}
        return {name: _parsed(value) for name, value in texts.items()}

    def given(self, name: str) -> bool:
        return self._values.get(name) is not None

    def text(self, name: str) -> str:
        value = self._values.get(name)
        return "" if value is None else str(value)

    def file(self, name: str) -> SentFile:
        value = self._values.get(name)
        if not isinstance(value, SentFile):
            raise TelegramError(f"Bad Request: there is no {name} in the request")
        return value

    def integer(self, name: str, default: int = 0) -> int:
        try:
            return int(self.text(name) or default)
        except ValueError:
            return default

    def flag(self, name: str) -> bool:
        return self.text(name).lower() in {"true", "1", "yes"}

    def object(self, name: str) -> dict[str, Any]:
        """A JSON object, which forms carry as text."""
        value = _parsed(self._values.get(name) or {})
        if not isinstance(value, dict):
            raise TelegramError(f"Bad Request: can't parse {name} JSON object")
        return value

    def items(self, name: str) -> list[Any]:
        """A JSON list, which forms carry as text."""
        value = _parsed(self._values.get(name) or [])
        if not isinstance(value, list):
            raise TelegramError(f"Bad Request: can't parse {name} JSON object")
        return value


async def arguments_of(request: web.Request) -> Arguments:
    """From the query string, a form, a multipart form or a JSON body: Telegram accepts all four."""
    values: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        try:
            body = json.loads(await request.text() or "{}")
        except ValueError:
            raise TelegramError("Bad Request: can't parse JSON object") from None
        values |= body if isinstance(body, dict) else {}
    elif request.can_read_body:
        values |= await form_of(request)
    return Arguments(values)


def _parsed(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in {"[", "{"}:
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
