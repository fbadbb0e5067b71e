"""Arguments of a Web API call: JSON body, form or query string, parsed as Slack parses them."""

import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from local.chats.simulator.json_wire import Refused


class SlackError(Refused):
    """The call is answered `ok: false` with this error."""

    def __init__(self, error: str, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, {"ok": False, "error": error}, headers)


class Arguments:
    """Typed access; forms carry everything as text, JSON bodies do not."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def all(self) -> dict[str, Any]:
        return {name: value for name, value in self._values.items() if name != "token"}

    def text(self, name: str) -> str:
        value = self._values.get(name)
        return "" if value is None else str(value)

    def given(self, name: str) -> bool:
        return self._values.get(name) not in (None, "", [], {})

    def integer(self, name: str, default: int) -> int:
        try:
            return int(self.text(name) or default)
        except ValueError:
            raise SlackError("invalid_arguments") from None

    def flag(self, name: str) -> bool:
        return self.text(name).lower() in {"true", "1"}

    def parsed(self, name: str, error: str) -> Any:
        """A JSON value, which forms carry as text."""
        value = self._values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            raise SlackError(error) from None


async def arguments_of(request: web.Request) -> Arguments:
    values: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        try:
            body = json.loads(await request.text() or "{}")
        except ValueError:
            raise SlackError("invalid_json") from None
        if not isinstance(body, dict):
            raise SlackError("json_not_object")
        values |= body
    elif request.can_read_body:
        values |= dict(await request.post())
    return Arguments(values)
