"""What a client asks to see. Nothing here can write: the function's role has no right to."""

import json
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from functions.http import Json, base_url, services_of, user_of
from functions.views import handoff_view, iso, session_view
from shared.domain.handoffs import State
from shared.errors import InvalidRequest
from shared.use_cases.access import own_handoff, own_session
from shared.use_cases.run_doctor import run_doctor

router = APIRouter()
PathId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Limit = Annotated[int, Query(ge=1, le=200)]
PAGE_BYTES = 3 * 1024 * 1024
"""A page of messages stays well below the 6 MB that a function may answer."""


@router.get("/health")
async def get_health() -> Response:
    return Json({"status": "ok"})


@router.get("/platforms")
async def get_platforms(request: Request) -> Response:
    services = services_of(request)
    homes = services.store.accounts.homes(user_of(request))
    platforms = [
        {
            "name": name,
            "supported": supported,
            "configured": supported and services.platforms.is_configured(name),
            "home": {"chat": homes[name].chat} if name in homes else None,
            "threads": services.platforms.has_threads(name),
        }
        for name, supported in services.platforms.known().items()
    ]
    return Json({"platforms": platforms})


@router.get("/doctor")
async def get_doctor(request: Request) -> Response:
    services = services_of(request)
    findings = run_doctor(services, user_of(request), base_url=base_url(request))
    return Json({"checks": [asdict(finding) for finding in findings], "now": iso(services.clock.now())})


@router.get("/sessions")
async def get_sessions(request: Request, limit: Limit = 50, cursor: str | None = None) -> Response:
    services = services_of(request)
    try:
        page = services.store.sessions.list(user_of(request), limit=limit, cursor=cursor)
    except ValueError:
        raise InvalidRequest("This cursor is not one that we gave. Start again without it.") from None
    now = services.clock.now()
    return Json({"sessions": [session_view(session, now=now) for session in page.sessions], "next": page.cursor})


@router.get("/sessions/{session_id}")
async def get_session(request: Request, session_id: PathId) -> Response:
    services = services_of(request)
    return Json(session_view(own_session(services, user_of(request), session_id), now=services.clock.now()))


@router.get("/sessions/{session_id}/messages")
async def get_messages(
    request: Request,
    session_id: PathId,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 500,
) -> Response:
    services = services_of(request)
    session = own_session(services, user_of(request), session_id)
    messages: list[Any] = []
    size = 0
    for message in services.store.transcripts.load(session_id, after=after, limit=limit):
        size += len(json.dumps(message))
        if messages and size > PAGE_BYTES:
            break
        messages.append(message)
    reached = after + len(messages)
    more = reached if messages and reached < session.message_count else None
    return Json({"messages": messages, "after": after, "next": more, "message_count": session.message_count})


@router.get("/handoffs")
async def get_handoffs(
    request: Request, session_id: str | None = None, state: State | None = None, limit: Limit = 50
) -> Response:
    services = services_of(request)
    handoffs = services.store.handoffs.list(
        user_of(request), session_id=session_id, state=state.value if state else None, limit=limit
    )
    now, base = services.clock.now(), base_url(request)
    return Json({"handoffs": [handoff_view(handoff, None, base_url=base, now=now) for handoff in handoffs]})


@router.get("/handoffs/{handoff_id}")
async def get_handoff(request: Request, handoff_id: PathId) -> Response:
    services = services_of(request)
    handoff = own_handoff(services, user_of(request), handoff_id)
    session = services.store.sessions.get(handoff.session_id)
    view = handoff_view(handoff, session, base_url=base_url(request), now=services.clock.now())
    headers = {} if view["done"] else {"Retry-After": str(-(-view["poll_after_ms"] // 1000))}
    return Json(view, headers=headers)
