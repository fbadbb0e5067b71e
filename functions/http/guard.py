"""Checks before routing and parsing: authenticate the caller, then read a body within the limit."""

import asyncio
import logging
from http import HTTPStatus

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from functions.http.problems import Json, Problem, internal_error, problem_of
from shared.errors import Unauthenticated
from shared.ports.metrics import Metric
from shared.services import Services
from shared.use_cases.people.authenticate import Caller, LastUse, authenticate

log = logging.getLogger(__name__)

MAX_BODY = 1024 * 1024
OPEN_PATHS = ("/health", "/webhooks/", "/logins")
"""Paths without a bearer token, beside those that platforms fix. A webhook is verified by its raw body and headers, and a
first login has the code that gives the token."""


class Guard:
    """ASGI middleware. FastAPI parses a body before it runs dependencies, so these checks cannot be dependencies."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._services = services
        self._last_use = LastUse(services.store.accounts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_started = False

        async def track(message: Message) -> None:
            nonlocal has_started
            has_started = True
            self._measure(message)
            await send(message)

        try:
            await self._admit(scope, receive, track)
        except Exception as error:  # noqa: BLE001  # the outermost handler: every error becomes a problem
            if not has_started:
                await internal_error(error)(scope, receive, track)

    def _measure(self, message: Message) -> None:
        """Count answers that are errors. The path is not noted: it may hold ids."""
        status = message.get("status", 0)
        if status >= HTTPStatus.BAD_REQUEST:
            is_ours = status >= HTTPStatus.INTERNAL_SERVER_ERROR
            metric = Metric.REQUESTS_FAILED if is_ours else Metric.REQUESTS_REFUSED
            self._services.metrics.put((metric, 1), status=status)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        platform = self._services.platforms.webhook_of(scope["path"])
        caller: Caller | None = None
        if platform is None and not scope["path"].startswith(OPEN_PATHS):
            try:
                caller = authenticate(
                    self._services.store.accounts, headers.get("authorization"), now=self._services.clock.now()
                )
            except Unauthenticated as error:
                await problem_of(error)(scope, receive, send)
                return
            scope.setdefault("state", {})["caller"] = caller
        if headers.get("content-encoding", "identity").lower() != "identity":  # inflating costs more than sending
            detail = "The body has a Content-Encoding, such as gzip. Send it as it is. Nothing was written."
            await Problem("encoded_body", detail)(scope, receive, send)
            return
        limit = MAX_BODY if platform is None else self._services.platforms.body_limit(platform)
        try:
            body = await _read(receive, headers.get("content-length"), limit)
        except ClientDisconnect:
            await Problem("malformed_json", "The body was not sent to its end.")(scope, receive, send)
            return
        if body is None and platform is not None and self._services.platforms.drops_oversized(platform):
            log.warning("%s: a webhook over %s KiB is dropped", platform, limit // 1024)
            await Json({})(scope, receive, send)
            return
        if body is None:
            detail = f"The body is larger than {limit // 1024} KiB. Send a transcript in several parts."
            await Problem("body_too_large", detail)(scope, receive, send)
            return
        is_read = scope["method"] == "GET"
        if not is_read:
            await self._note_use(caller)  # before it may remove its own token, with the day of its use
        await self._app(scope, replay(body, receive), send)
        if is_read:
            await self._note_use(caller)  # after the answer: a read does not wait for writers

    async def _note_use(self, caller: Caller | None) -> None:
        now = self._services.clock.now()
        if caller is not None and self._last_use.is_due(caller, now=now):
            await asyncio.to_thread(self._last_use.note, caller, now=now)  # the loop waits for this thread when it ends


async def _read(receive: Receive, declared: str | None, limit: int) -> bytes | None:
    """The whole body, or None if it is over the limit. Raises ClientDisconnect: a part of a body must not be used."""
    if declared is not None and declared.isdigit() and int(declared) > limit:
        return None
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > limit:
            return None
    return body


def replay(body: bytes, then: Receive) -> Receive:
    """Receive a body that was read already, and then what follows it: that the client is gone."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else await then()

    return receive
