"""HTTP calls that change something: sessions, transcripts, handoffs, homes, turns."""

from typing import Any

from fastapi import APIRouter, Response

from functions.http.dependencies import AppServices, BaseUrl, FileWriter, IdempotencyKey, PathId, Writer, WritingCaller
from functions.http.problems import Json, refusals
from functions.request.bodies import (
    FileBody,
    HomeBody,
    MessagesBody,
    NoticeBody,
    ResumeBody,
    SessionBody,
    TurnBody,
)
from functions.request.handoff_body import HandoffBody, checked
from functions.request.views import AcceptedTurn, AppendedView, FileView, HomeView, NoticeView, TurnView
from functions.views import HandoffView, SessionView, poll_after_ms
from shared.domain.routes import Place
from shared.use_cases.files.keep_file import announce_file
from shared.use_cases.handoffs.cancel_handoff import cancel_handoff
from shared.use_cases.handoffs.request_handoff import request_handoff
from shared.use_cases.handoffs.request_inline import request_inline
from shared.use_cases.people.post_notice import post_notice
from shared.use_cases.people.set_home import set_home
from shared.use_cases.sessions.append_messages import append_messages
from shared.use_cases.sessions.resume_session import fork_session, resume_session
from shared.use_cases.sessions.save_session import delete_session, save_session
from shared.use_cases.turns.accept_turn import accept_turn

router = APIRouter(default_response_class=Json)
WRITE = ("unauthenticated", "missing_scope", "invalid_request", "conflict", "internal")
CREATED: dict[int | str, dict[str, Any]] = {201: {"model": SessionView}}
BODY = (*WRITE, "malformed_json", "body_too_large", "encoded_body")
PLATFORM = ("unknown_platform", "platform_not_supported", "platform_not_configured", "place_busy")
MOVE = (
    *PLATFORM,
    "write_first",
    "unknown_session",
    "moved",
    "session_busy",
    "handoff_in_flight",
    "too_many_open_handoffs",
    "too_many_turns",
)


@router.put("/sessions/{session_id}", responses=CREATED | refusals(*BODY, "unknown_session", "unknown_runner"))
def put_session(
    session_id: PathId, body: SessionBody, response: Response, services: AppServices, user_id: Writer
) -> SessionView:
    """Create a session (201), or change its details (200). You choose the id."""
    session, created = save_session(services, user_id, session_id, body.details())
    response.status_code = 201 if created else 200
    return SessionView.of(session, now=services.clock.now())


@router.delete(
    "/sessions/{session_id}",
    status_code=204,
    responses=refusals(*WRITE, "unknown_session", "handoff_in_flight", "session_busy"),
)
def remove_session(session_id: PathId, services: AppServices, user_id: Writer) -> None:
    """Delete a session with its transcript."""
    delete_session(services, user_id, session_id)


@router.post(
    "/sessions/{session_id}/messages",
    responses=refusals(*BODY, "unknown_session", "moved", "out_of_sequence", "session_busy", "storage_full"),
)
def post_messages(session_id: PathId, body: MessagesBody, services: AppServices, user_id: Writer) -> AppendedView:
    """Append to the transcript. Idempotent: messages that are stored already are compared, not written again."""
    messages = checked(body.messages, first=body.after)
    session = append_messages(services, user_id, session_id, epoch=body.epoch, after=body.after, messages=messages)
    return AppendedView(message_count=session.message_count, epoch=session.epoch)


@router.post(
    "/sessions/{session_id}/files",
    responses=refusals(*BODY, "unknown_session", "file_too_large", "files_full", "file_mismatch"),
)
def post_file(
    session_id: PathId, body: FileBody, services: AppServices, user_id: FileWriter, base_url: BaseUrl
) -> FileView:
    """Announce a file of a session. Send its bytes with `upload`, which is null if the session has them. Idempotent."""
    file = body.file()
    upload = announce_file(services, user_id, session_id, file)
    return FileView.of(file, upload, base_url=base_url)


@router.post(
    "/sessions/{session_id}/turns",
    status_code=202,
    responses=refusals(
        *BODY,
        "unknown_session",
        "moved",
        "session_busy",
        "session_suspended",
        "handoff_in_flight",
        "too_many_turns",
    ),
)
def post_turn(session_id: PathId, body: TurnBody, services: AppServices, user_id: Writer) -> AcceptedTurn:
    """Say something to the agent from the terminal. Idempotent by the body's `id`; the reply joins the transcript."""
    session = accept_turn(services, user_id, session_id, epoch=body.epoch, turn_id=body.id, text=body.text)
    view = SessionView.of(session, now=services.clock.now())
    return AcceptedTurn(turn=TurnView(id=body.id), session=view, poll_after_ms=poll_after_ms(0))


@router.post(
    "/sessions/{session_id}/resume",
    responses=CREATED | refusals(*BODY, "unknown_session", "moved", "storage_full", "files_full", "copy_unfinished"),
)
def post_resume(
    *,
    session_id: PathId,
    body: ResumeBody,
    response: Response,
    services: AppServices,
    user_id: Writer,
    idempotency_key: IdempotencyKey = None,
) -> SessionView:
    """Bring a session back to the terminal (200), which ends a handoff in flight; or copy it with `fork` (201)."""
    if body.fork:
        session = fork_session(services, user_id, session_id, idempotency_key=idempotency_key)
        response.status_code = 201
    else:
        session = resume_session(services, user_id, session_id, epoch=body.epoch)
    return SessionView.of(session, now=services.clock.now())


@router.put("/platforms/{platform}/home", responses=refusals(*BODY, *PLATFORM, "chat_refused", "platform_unavailable"))
def put_home(platform: str, body: HomeBody, services: AppServices, caller: WritingCaller) -> HomeView:
    """Set the chat where your handoffs to this platform arrive. The chat where they arrived before is told."""
    home = set_home(services, caller, Place(platform, body.chat))
    return HomeView(platform=platform, chat=home.chat)


@router.post("/notices", status_code=202, responses=refusals(*BODY, *PLATFORM[:3], "no_home", "too_many_notices"))
def post_notices(
    *, body: NoticeBody, services: AppServices, user_id: Writer, idempotency_key: IdempotencyKey = None
) -> NoticeView:
    """Post a short text in your home chat, at most one a minute; others are dropped."""
    posted = post_notice(services, user_id, body.text, platform=body.platform, idempotency_key=idempotency_key)
    return NoticeView(id=posted.id, platform=posted.home.platform, chat=posted.home.chat, link=posted.link)


@router.post(
    "/handoffs",
    status_code=202,
    responses=refusals(
        *BODY,
        *MOVE,
        "no_home",
        "not_shareable",
        "idempotency_key_reused",
        "out_of_sequence",
        "storage_full",
        "unknown_runner",
    ),
)
def post_handoff(
    *,
    body: HandoffBody,
    response: Response,
    services: AppServices,
    user_id: Writer,
    base_url: BaseUrl,
    idempotency_key: IdempotencyKey = None,
) -> HandoffView:
    """Ask for a handoff. Poll `status_url` (also in `Location`) until `done`."""
    inline, asked = body.inline(), body.asked()
    if inline is not None:
        accepted = request_inline(services, user_id, inline, asked, idempotency_key=idempotency_key)
    else:
        accepted = request_handoff(services, user_id, asked, idempotency_key=idempotency_key)
    view = HandoffView.of(accepted.handoff, accepted.session, base_url=base_url, now=services.clock.now())
    response.headers.update({"Location": view.status_url, "Retry-After": view.retry_after})
    return view


@router.delete("/handoffs/{handoff_id}", responses=refusals(*WRITE, "unknown_handoff", "too_late"))
def delete_handoff(handoff_id: PathId, services: AppServices, user_id: Writer, base_url: BaseUrl) -> HandoffView:
    """Cancel a handoff whose session has not moved yet. Idempotent."""
    handoff = cancel_handoff(services, user_id, handoff_id)
    session = services.store.sessions.get(handoff.session_id)
    return HandoffView.of(handoff, session, base_url=base_url, now=services.clock.now())
