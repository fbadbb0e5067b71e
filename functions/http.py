"""The FastAPI app of a function: who asks, how large a body may be, and which error is which status. One place."""

import json
import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from mangum import Mangum
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shared.bootstrap import Handler
from shared.errors import Conflict, RequestRefused, Unauthenticated
from shared.services import Services
from shared.use_cases.people.authenticate import authenticate

log = logging.getLogger(__name__)
MAX_BODY = 1024 * 1024
OPEN_PATHS = ("/health", "/webhooks/")

STATUS_OF: Mapping[str, int] = {
    "invalid_request": 422,
    "unauthenticated": 401,
    "unknown_session": 404,
    "unknown_handoff": 404,
    "unknown_platform": 422,
    "platform_not_supported": 422,
    "platform_not_configured": 422,
    "no_home": 422,
    "idempotency_key_reused": 422,
    "moved": 409,
    "out_of_sequence": 409,
    "session_busy": 409,
    "session_suspended": 409,
    "handoff_in_flight": 409,
    "place_busy": 409,
    "too_late": 409,
}
"""Every refusal that can reach a client; a new one without a status is a KeyError in its first test."""


class Json(Response):
    """JSON that survives whatever a transcript holds, half an emoji included."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        try:
            return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:
            return json.dumps(content, separators=(",", ":")).encode()


class Problem(Json):
    """An error as `application/problem+json`: a stable code for programs, a sentence for people."""

    media_type = "application/problem+json"

    def __init__(self, status: int, code: str, detail: str, extra: Mapping[str, Any] | None = None) -> None:
        title = HTTPStatus(status).phrase
        body = {"type": "about:blank", "title": title, "status": status, "code": code, "detail": detail}
        super().__init__({**(extra or {}), **body}, status_code=status)


def http_handler(services: Services, router: APIRouter) -> Handler:
    """The handler of HTTP API events for one function's routes."""
    adapter = Mangum(http_app(services, router), lifespan="off")

    def handle(event: Any, context: Any) -> Any:
        return adapter(event, context)

    return handle


def http_app(services: Services, router: APIRouter) -> "Guard":
    """The ASGI app of one function: its routes behind the guard."""
    app = FastAPI(openapi_url=None, redirect_slashes=False)
    app.state.services = services
    app.router.routes.extend(router.routes)  # `include_router` would analyse each route once more, on the first request
    app.add_exception_handler(RequestRefused, _refused)
    app.add_exception_handler(Conflict, _conflict)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _internal)
    return Guard(app, services)


class Guard:
    """Before any parsing: a body within the limit, and a known user behind the token."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_answered = False

        async def answer(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        try:
            await self._let_in(scope, receive, answer)
        except Exception as error:  # noqa: BLE001  # here it ends, as a problem like any other
            if not is_answered:
                await _unforeseen(error)(scope, receive, send)

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if not scope["path"].startswith(OPEN_PATHS):
            try:
                user_id = authenticate(self._services.store.accounts, headers.get("authorization"))
            except Unauthenticated as refused:
                await _refusal(refused)(scope, receive, send)
                return
            scope.setdefault("state", {})["user_id"] = user_id
        body = await _read(receive, headers.get("content-length"))
        if body is None:
            detail = f"A body is at most {MAX_BODY // 1024} KiB. Send a transcript in several pieces."
            await Problem(413, "body_too_large", detail)(scope, receive, send)
            return
        await self._app(scope, _replay(body), send)


async def _read(receive: Receive, declared: str | None) -> bytes | None:
    """The whole body, or None if it is over the limit."""
    if declared is not None and declared.isdigit() and int(declared) > MAX_BODY:
        return None
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MAX_BODY:
            return None
    return body


def _replay(body: bytes) -> Callable[[], Any]:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else {"type": "http.disconnect"}

    return receive


def services_of(request: Request) -> Services:
    """The services behind a request."""
    services: Services = request.app.state.services
    return services


def user_of(request: Request) -> str:
    """The user whom the guard has let in."""
    user_id: str = request.state.user_id
    return user_id


def base_url(request: Request) -> str:
    """Where clients reach this service: as configured, else as this request came in."""
    configured = services_of(request).settings.public_url
    return (configured or str(request.base_url)).rstrip("/")


def _refusal(error: RequestRefused) -> Problem:
    return Problem(STATUS_OF[error.code], error.code, error.message, error.extra)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestRefused)  # noqa: S101  # registered for this type
    return _refusal(error)


async def _conflict(_: Request, __: Exception) -> Response:
    return Problem(409, "conflict", "Several changes came at once and this one lost. Nothing was written; try again.")


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101  # registered for this type
    problems = error.errors()
    if any(problem["type"] == "json_invalid" for problem in problems):
        return Problem(400, "malformed_json", "The body is not valid JSON. Nothing was written.")
    fields = [
        {"field": ".".join(str(piece) for piece in problem["loc"][1:]), "problem": problem["msg"]}
        for problem in problems
    ]
    named = "; ".join(f"{entry['field']}: {entry['problem']}" for entry in fields[:5])
    return Problem(422, "invalid_request", f"The request is not what the contract says: {named}.", {"errors": fields})


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  # registered for this type
    if error.status_code == HTTPStatus.BAD_REQUEST:  # not UTF-8, nested too deep, a number too long to read
        return Problem(400, "malformed_json", "The body is not JSON that can be read. Nothing was written.")
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "error")
    return Problem(error.status_code, code, "There is nothing here under this method and path.")


async def _internal(_: Request, error: Exception) -> Response:
    return _unforeseen(error)


def _unforeseen(error: Exception) -> Problem:
    log.error("unforeseen: %s", type(error).__name__, exc_info=error)
    return Problem(500, "internal", "Something unforeseen went wrong on our side. It is safe to try again.")
