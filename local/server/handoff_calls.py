"""The calls of a handoff, answered without FastAPI, which takes half of the time of each and must be loaded first."""

import json
import re
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from functions.http.context import base_url_of, caller_of
from functions.http.fields import ID, MAX_KEY
from functions.http.guard import replay
from functions.http.problems import Json, conflict, problem_of
from functions.request.accept_handoff import accept_handoff, where_to_ask
from functions.request.handoff_body import HandoffBody
from functions.status.show_handoff import show_handoff
from shared.domain.tokens import Scope
from shared.errors import Conflict, RequestRefused
from shared.ports.changes import LONGEST_HOLD
from shared.services import Services

_HANDOFFS = "/handoffs"
_HANDOFF = re.compile(f"{_HANDOFFS}/{ID.strip('^$')}")
_QUERY = re.compile(rb"(?:wait=([0-9]{1,2}))?(?:(?:^|&)seen=([\w.-]{1,64}))?", re.ASCII)
_JSON = "application/json"


class HandoffCalls:
    """Requests as the CLI makes them for a handoff. All else goes to `others`, which also say what is wrong with one."""

    def __init__(self, services: Services, others: ASGIApp) -> None:
        self._services, self._others = services, others

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        respond = call_of(scope)
        if respond is None:
            await self._others(scope, receive, send)
            return
        try:
            response = await respond(self._services, Request(scope, receive))
        except _Unusual as unusual:
            await self._others(scope, replay(unusual.body), send)
            return
        except RequestRefused as error:
            response = problem_of(error)
        except Conflict:
            response = conflict()
        await response(scope, receive, send)


Call = Callable[[Services, Request], Awaitable[Response]]


def call_of(scope: AsgiScope) -> Call | None:
    """What answers a request here, if it is one of these calls."""
    method, path, query = scope["method"], scope["path"], scope["query_string"]
    if method == "GET" and path.startswith(_HANDOFFS):
        asked = _QUERY.fullmatch(query)
        is_usual = asked is not None and int(asked[1] or 0) <= LONGEST_HOLD and _HANDOFF.fullmatch(path)
        return _show if is_usual else None
    return _accept if (method, path, query) == ("POST", _HANDOFFS, b"") else None


class _Unusual(Exception):
    """A request that is not as these calls expect it."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.body = body


async def _accept(services: Services, request: Request) -> Response:
    key, body = request.headers.get("idempotency-key"), await request.body()
    is_usual = request.headers.get("content-type") == _JSON and (key is None or 1 <= len(key) <= MAX_KEY)
    try:
        asked = HandoffBody.model_validate(json.loads(body)) if is_usual else None
    except (ValueError, RecursionError):  # no JSON, or other fields
        asked = None
    if asked is None:
        raise _Unusual(body)
    user_id = caller_of(request, Scope.HANDOFF).user_id
    base_url = base_url_of(services, request)
    view = accept_handoff(services, user_id, asked, idempotency_key=key, base_url=base_url)
    return Json(view.model_dump(mode="json"), status_code=202, headers=where_to_ask(view))


async def _show(services: Services, request: Request) -> Response:
    view = await show_handoff(
        services,
        caller_of(request, Scope.READ).user_id,
        request.scope["path"].rpartition("/")[2],
        base_url=base_url_of(services, request),
        wait=float(request.query_params.get("wait", 0)),
        seen=request.query_params.get("seen"),
    )
    return Json(view.model_dump(mode="json"), headers=None if view.done else {"Retry-After": view.retry_after})
