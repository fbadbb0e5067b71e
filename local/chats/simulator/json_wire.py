"""Protocols of JSON over HTTP: authentication, dispatch, refusals and faults of calls."""

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from aiohttp import web

from local.chats.simulator.faults import Fault, Kind, Operation
from local.chats.simulator.protocol import Wire

JSON = dict[str, Any]
Call = Callable[[web.Request, JSON], Any]
Table = Iterable[tuple[str, str, Operation, Call]]
"""Calls by method and path, and what they do. A call takes the request and its body, and returns JSON or raises Refused."""


class Refused(Exception):
    """The call is answered with this status and body."""

    def __init__(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        super().__init__(str(body))
        self.status, self.body, self.headers = status, body, headers or {}

    def answer(self) -> web.Response:
        return web.json_response(self.body, status=self.status, headers=self.headers)


class JsonWire(Wire):
    """One bot. `faults` are the platform's answers to calls that an armed fault meets."""

    faults: Mapping[Kind, Callable[[Fault], Refused]]
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

    def _handler(self, listed: Operation, call: Call) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.Response:
            try:
                self.authorize(request)
                body = self._body(await request.text())
            except Refused as refused:
                return refused.answer()
            self._backend.record(f"{request.method} {request.path}", body)

            async def act() -> web.Response:
                try:
                    return web.json_response(call(request, body))
                except Refused as refused:
                    return refused.answer()

            def answer(fault: Fault) -> web.Response:
                return self.faults[fault.kind](fault).answer()

            answers = dict.fromkeys(self.faults, answer)
            return await self._backend.perform(request, self.operation(listed, body), act, answers)

        return handle

    def _body(self, text: str) -> JSON:
        try:
            body = json.loads(text or "{}")
        except ValueError:
            raise self.malformed from None
        if not isinstance(body, dict):
            raise self.malformed
        return body
