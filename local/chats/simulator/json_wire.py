"""Protocols that answer JSON over HTTP: authentication, dispatch, refusals and faults of calls."""

import inspect
import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from aiohttp import web

from local.chats.simulator.faults import Fault, Kind, Operation
from local.chats.simulator.files import SentFile, form_of
from local.chats.simulator.protocol import Wire

JSON = dict[str, Any]
Call = Callable[[web.Request, JSON], Any]
Table = Iterable[tuple[str, str, Operation, Call]]
"""Calls by method and path, and what they do. A call takes the request and its body, and returns JSON or raises Refused."""


def answered(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """JSON, or no content for None. The content type has no charset: discord.py compares it with `application/json`."""
    if body is None:
        return web.Response(status=204)
    raw = json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return web.Response(body=raw, status=status, headers={"Content-Type": "application/json", **(headers or {})})


class Refused(Exception):
    """The call is answered with this status and body."""

    def __init__(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        super().__init__(str(body))
        self.status, self.body, self.headers = status, body, headers

    def answer(self) -> web.Response:
        return answered(self.body, self.status, self.headers)


class HttpWire(Wire):
    """One bot. `faults` are the platform's answers to calls that an armed fault meets."""

    faults: Mapping[Kind, Callable[[Fault], Refused]]

    async def respond(
        self, request: web.Request, name: str, operation: Operation, arguments: JSON, act: Callable[[], Any]
    ) -> web.Response:
        """Record a call and answer what `act` returns, or the fault that is armed for it."""
        self._backend.record(name, arguments)

        async def run() -> web.Response:
            try:
                result = act()
                return answered(await result if inspect.isawaitable(result) else result)
            except Refused as refused:
                return refused.answer()

        def fail(fault: Fault) -> web.Response:
            return self.faults[fault.kind](fault).answer()

        return await self._backend.perform(request, operation, run, dict.fromkeys(self.faults, fail))


class JsonWire(HttpWire):
    """A bot whose calls are listed by method and path, and have JSON as their body."""

    malformed: Refused
    """The answer to a body that is not a JSON object."""

    @abstractmethod
    def authorize(self, request: web.Request) -> None:
        """Raises Refused unless the bot's token is right."""

    def operation(self, listed: Operation, body: JSON) -> Operation:  # noqa: ARG002  # most calls do one thing
        """Of a call, for faults: that of the table, unless the body makes it another."""
        return listed

    def served(self, base: str, table: Table) -> list[web.RouteDef]:
        """The routes of the calls, below a path."""
        return [web.route(method, base + path, self._handler(does, call)) for method, path, does, call in table]

    def body_of(self, text: str) -> JSON:
        """Raises Refused."""
        try:
            body = json.loads(text or "{}")
        except ValueError:
            raise self.malformed from None
        if not isinstance(body, dict):
            raise self.malformed
        return body

    def form_of(self, fields: JSON) -> JSON:
        """The body in a form, with its files. Raises Refused."""
        return fields

    def _handler(self, listed: Operation, call: Call) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.Response:
            try:
                self.authorize(request)
                is_form = request.content_type == "multipart/form-data"
                body = self.form_of(await form_of(request)) if is_form else self.body_of(await request.text())
            except Refused as refused:
                return refused.answer()
            name, operation = f"{request.method} {request.path}", self.operation(listed, body)
            shown = {
                field: value for field, value in body.items() if field != "files" and not isinstance(value, SentFile)
            }
            return await self.respond(request, name, operation, shown, lambda: call(request, body))

        return handle
