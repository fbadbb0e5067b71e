"""What a client asks to change: sessions, transcripts, handoffs, homes, turns."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.responses import Response

from functions.http import Json, base_url, services_of, user_of
from functions.views import handoff_view, poll_after_ms, session_view
from shared.domain.messages import Message, problem_with
from shared.domain.routes import Place
from shared.domain.sessions import MAX_TITLE
from shared.errors import InvalidRequest
from shared.use_cases.handoffs.cancel_handoff import cancel_handoff
from shared.use_cases.handoffs.request_handoff import HandoffRequest, request_handoff
from shared.use_cases.handoffs.request_inline import InlineTranscript, request_inline
from shared.use_cases.people.set_home import set_home
from shared.use_cases.sessions.append_messages import append_messages
from shared.use_cases.sessions.resume_session import fork_session, resume_session
from shared.use_cases.sessions.save_session import delete_session, save_session
from shared.use_cases.turns.accept_turn import accept_turn

router = APIRouter()
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
PathId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TITLE)]
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=255)]
Count = Annotated[int, Field(ge=0, le=2**53)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=60_000)]


class Body(BaseModel):
    """A request body: unknown fields are refused, so that a misspelt option is not silently ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SessionBody(Body):
    title: Title | None = None
    source: Annotated[str, StringConstraints(max_length=200)] | None = None
    cwd: Annotated[str, StringConstraints(max_length=4096)] | None = None
    model: Annotated[str, StringConstraints(max_length=200)] | None = None


class MessagesBody(Body):
    epoch: Count
    after: Count
    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]


class TurnBody(Body):
    epoch: Count
    id: Id
    text: Words


class ResumeBody(Body):
    epoch: Count = 0
    fork: bool = False


class InlineSession(Body):
    id: Id | None = None
    title: Title | None = None
    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]


class HandoffBody(Body):
    platform: Annotated[str, StringConstraints(max_length=50)]
    session_id: Id | None = None
    session: InlineSession | None = None
    epoch: Count | None = None
    target: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    require_thread: bool = False
    replace: bool = False
    message: Annotated[str, StringConstraints(max_length=4000)] | None = None


class HomeBody(Body):
    chat: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


@router.put("/sessions/{session_id}")
async def put_session(request: Request, session_id: PathId, body: SessionBody) -> Response:
    services = services_of(request)
    details = body.model_dump(exclude_unset=True)
    session, created = save_session(services, user_of(request), session_id, details)
    return Json(session_view(session, now=services.clock.now()), status_code=201 if created else 200)


@router.delete("/sessions/{session_id}")
async def remove_session(request: Request, session_id: PathId) -> Response:
    delete_session(services_of(request), user_of(request), session_id)
    return Response(status_code=204)


@router.post("/sessions/{session_id}/messages")
async def post_messages(request: Request, session_id: PathId, body: MessagesBody) -> Response:
    session = append_messages(
        services_of(request),
        user_of(request),
        session_id,
        epoch=body.epoch,
        after=body.after,
        messages=_checked(body.messages, first=body.after),
    )
    return Json({"message_count": session.message_count, "epoch": session.epoch})


@router.post("/sessions/{session_id}/turns")
async def post_turn(request: Request, session_id: PathId, body: TurnBody) -> Response:
    services = services_of(request)
    session = accept_turn(services, user_of(request), session_id, epoch=body.epoch, turn_id=body.id, text=body.text)
    now = services.clock.now()
    answer = {"turn": {"id": body.id}, "session": session_view(session, now=now), "poll_after_ms": poll_after_ms(0)}
    return Json(answer, status_code=202)


@router.post("/sessions/{session_id}/resume")
async def post_resume(request: Request, session_id: PathId, body: ResumeBody, idempotency_key: Key = None) -> Response:
    services, user_id = services_of(request), user_of(request)
    if body.fork:
        session = fork_session(services, user_id, session_id, idempotency_key=idempotency_key)
    else:
        session = resume_session(services, user_id, session_id, epoch=body.epoch)
    return Json(session_view(session, now=services.clock.now()), status_code=201 if body.fork else 200)


@router.put("/platforms/{platform}/home")
async def put_home(request: Request, platform: str, body: HomeBody) -> Response:
    services = services_of(request)
    set_home(services, user_of(request), Place(platform, body.chat))
    return Json({"platform": platform, "chat": body.chat})


@router.post("/handoffs")
async def post_handoff(request: Request, body: HandoffBody, idempotency_key: Key = None) -> Response:
    services, user_id = services_of(request), user_of(request)
    if (body.session_id is None) == (body.session is None):
        raise InvalidRequest("Name a session by `session_id`, or give a whole one in `session`: one of the two.")
    if body.session is not None:
        inline = body.session
        messages = _checked(inline.messages, first=0)
        whole = InlineTranscript(messages, id=inline.id, title=inline.title, epoch=body.epoch)
        asked = _asked(body, session_id="", epoch=0)
        accepted = request_inline(services, user_id, whole, asked, idempotency_key=idempotency_key)
    else:
        asked = _asked(body, session_id=body.session_id or "", epoch=body.epoch)
        accepted = request_handoff(services, user_id, asked, idempotency_key=idempotency_key)
    view = handoff_view(accepted.handoff, accepted.session, base_url=base_url(request), now=services.clock.now())
    headers = {"Location": view["status_url"], "Retry-After": str(-(-view["poll_after_ms"] // 1000))}
    return Json(view, status_code=202, headers=headers)


@router.delete("/handoffs/{handoff_id}")
async def delete_handoff(request: Request, handoff_id: PathId) -> Response:
    services = services_of(request)
    handoff = cancel_handoff(services, user_of(request), handoff_id)
    session = services.store.sessions.get(handoff.session_id)
    return Json(handoff_view(handoff, session, base_url=base_url(request), now=services.clock.now()))


def _asked(body: HandoffBody, *, session_id: str, epoch: int | None) -> HandoffRequest:
    if epoch is None:
        raise InvalidRequest(
            "Give the session's `epoch` as you last saw it, so that a moved session is not moved again."
        )
    return HandoffRequest(
        session_id=session_id,
        platform=body.platform,
        epoch=epoch,
        target=body.target,
        message=body.message,
        require_thread=body.require_thread,
        replace=body.replace,
    )


def _checked(messages: list[dict[str, Any]], *, first: int) -> list[Message]:
    for number, message in enumerate(messages):
        if problem := problem_with(message):
            where = f"messages.{number}"
            raise InvalidRequest(
                f"Message {first + number + 1} cannot be stored: {problem}. Nothing was written.",
                errors=[{"field": where, "problem": problem}],
            )
    return list(messages)
