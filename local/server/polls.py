"""The read that clients repeat, without what FastAPI does for each request, which takes half of its time."""

import re

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope as AsgiScope

from functions.http.dependencies import base_url_of, caller_of, services_of
from functions.http.fields import ID
from functions.http.problems import Json
from functions.status.routes import show_handoff
from shared.domain.tokens import Scope
from shared.ports.changes import LONGEST_HOLD

_ID = re.compile(ID)
_QUERY = re.compile(rb"(?:wait=([0-9]{1,2}))?(?:(?:^|&)seen=([\w.-]{1,64}))?", re.ASCII)


class HandoffPolls(Route):
    """`GET /handoffs/{id}` as the CLI asks for it; all else is left to the route of FastAPI, which says what is wrong."""

    def __init__(self) -> None:
        super().__init__("/handoffs/{handoff_id}", _answer)

    def matches(self, scope: AsgiScope) -> tuple[Match, AsgiScope]:
        match, child = super().matches(scope)
        if match is not Match.FULL or scope["method"] != "GET" or not _ID.fullmatch(child["path_params"]["handoff_id"]):
            return Match.NONE, {}
        query = _QUERY.fullmatch(scope["query_string"])
        if query is None or int(query[1] or 0) > LONGEST_HOLD:
            return Match.NONE, {}
        return match, child


async def _answer(request: Request) -> Response:
    view = await show_handoff(
        services_of(request),
        caller_of(request, Scope.READ).user_id,
        request.path_params["handoff_id"],
        base_url=base_url_of(request),
        wait=float(request.query_params.get("wait", 0)),
        seen=request.query_params.get("seen"),
    )
    return Json(view.model_dump(mode="json"), headers=None if view.done else {"Retry-After": view.retry_after})
