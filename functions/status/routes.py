"""HTTP calls that only read; the function's role may write nothing but the day of a token's last use."""

from dataclasses import asdict
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from functions.http.dependencies import AppServices, BaseUrl, PathId, Reader, ReadingCaller, Seen, Wait
from functions.http.held import hold
from functions.http.problems import Json, refusals
from functions.status.pages import first_page
from functions.status.views import (
    CheckView,
    DoctorReport,
    HandoffsList,
    Health,
    HomeChat,
    MessagesPage,
    PlatformsList,
    PlatformView,
    RunnersList,
    SessionsPage,
)
from functions.views import HandoffView, RunnerView, SessionView, iso
from shared.domain.handoffs import State
from shared.errors import InvalidRequest
from shared.ports.changes import of_handoff, of_session
from shared.use_cases.access import own_handoff, own_session
from shared.use_cases.files.read_file import bytes_of, find_file
from shared.use_cases.run_doctor import run_doctor

router = APIRouter(default_response_class=Json)
Limit = Annotated[int, Query(ge=1, le=200)]
BYTES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}},
    302: {"description": "The bytes are at `Location`, for a minute. Send no token there."},
}
READ = ("unauthenticated", "missing_scope", "internal")


class News:
    """The version that a client has seen: the one that it names, or the first one that is read."""

    def __init__(self, seen: str | None) -> None:
        self._seen = seen

    def has(self, version: str) -> bool:
        """Whether this version is news to the client."""
        self._seen = self._seen or version
        return version != self._seen


@router.get("/health")
async def get_health() -> Health:
    """Whether the service answers."""
    return Health(status="ok")


@router.get("/platforms", responses=refusals(*READ))
def get_platforms(services: AppServices, user_id: Reader) -> PlatformsList:
    """All platforms, and your home and accounts on each."""
    homes = services.store.accounts.homes(user_id)
    accounts = services.store.accounts.all_identities(user_id)
    platforms = [
        PlatformView(
            name=name,
            supported=supported,
            configured=supported and services.platforms.is_configured(name),
            home=HomeChat(chat=homes[name].chat) if name in homes else None,
            accounts=list(accounts.get(name, ())),
            threads=services.platforms.has_threads(name),
        )
        for name, supported in services.platforms.known().items()
    ]
    return PlatformsList(platforms=platforms)


@router.get("/doctor", responses=refusals(*READ))
def get_doctor(services: AppServices, user_id: Reader, base_url: BaseUrl) -> DoctorReport:
    """Problems that would keep your handoffs from working, each with a fix. Changes nothing."""
    findings = run_doctor(services, user_id, base_url=base_url)
    return DoctorReport(checks=[CheckView(**asdict(finding)) for finding in findings], now=iso(services.clock.now()))


@router.get("/runners", responses=refusals(*READ))
def get_runners(services: AppServices, user_id: Reader) -> RunnersList:
    """Your machines that run turns with your own agents."""
    now = services.clock.now()
    return RunnersList(runners=[RunnerView.of(runner, now=now) for runner in services.store.runners.list(user_id)])


@router.get("/sessions", responses=refusals(*READ, "invalid_request"))
def get_sessions(services: AppServices, user_id: Reader, limit: Limit = 50, cursor: str | None = None) -> SessionsPage:
    """Your sessions, newest first."""
    try:
        page = services.store.sessions.list(user_id, limit=limit, cursor=cursor)
    except ValueError:
        raise InvalidRequest("This cursor is not valid. Start again without it.") from None
    now = services.clock.now()
    return SessionsPage(sessions=[SessionView.of(session, now=now) for session in page.sessions], next=page.cursor)


@router.get("/sessions/{session_id}", responses=refusals(*READ, "invalid_request", "unknown_session"))
async def get_session(
    session_id: PathId, services: AppServices, caller: ReadingCaller, wait: Wait = 0, seen: Seen = None
) -> SessionView:
    """One of your sessions. It changes when it moves and when a turn begins or ends, but also without a visible change."""
    news = News(seen)
    found = await hold(
        services,
        caller,
        [of_session(session_id)],
        wait,
        read=lambda: own_session(services, caller.user_id, session_id),
        is_news=lambda session: news.has(str(session.version)),
    )
    return SessionView.of(found.value, now=services.clock.now())


@router.get(
    "/sessions/{session_id}/messages",
    response_model=MessagesPage,
    responses=refusals(*READ, "invalid_request", "unknown_session"),
)
def get_messages(
    session_id: PathId,
    services: AppServices,
    user_id: Reader,
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 500,
) -> Response:
    """The transcript, in pages of at most `limit` messages and 3 MiB."""
    session = own_session(services, user_id, session_id)
    messages = first_page(services.store.transcripts.load(session_id, after=after, limit=limit))
    reached = after + len(messages)
    more = reached if messages and reached < session.message_count else None
    # Not built as a model: that would copy megabytes of messages to check nothing.
    return Json({"messages": messages, "after": after, "next": more, "message_count": session.message_count})


@router.get(
    "/sessions/{session_id}/files/{file_id}",
    response_class=Response,
    responses=BYTES | refusals(*READ, "invalid_request", "unknown_session", "unknown_file"),
)
def get_file(session_id: PathId, file_id: PathId, services: AppServices, user_id: Reader) -> Response:
    """The bytes of a file of a session: here (a service on one machine), or at the address of a redirect (AWS)."""
    item = find_file(services, user_id, session_id, file_id)
    file, now = item.file, services.clock.now()
    url = services.files.download_url(item.key, name=file.name, media_type=file.media_type, now=now)
    if url is not None:
        return Response(status_code=302, headers={"Location": url, "Cache-Control": "no-store"})
    headers = {
        "Content-Length": str(file.size),
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.name, safe='')}",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox",
    }
    return StreamingResponse(bytes_of(services, item), media_type=file.media_type, headers=headers)


@router.get("/handoffs", responses=refusals(*READ, "invalid_request"))
def get_handoffs(
    *,
    services: AppServices,
    user_id: Reader,
    base_url: BaseUrl,
    session_id: str | None = None,
    state: State | None = None,
    limit: Limit = 50,
) -> HandoffsList:
    """Your handoffs, newest first."""
    found = services.store.handoffs.list(
        user_id, session_id=session_id, state=state.value if state else None, limit=limit
    )
    now = services.clock.now()
    return HandoffsList(handoffs=[HandoffView.of(handoff, None, base_url=base_url, now=now) for handoff in found])


@router.get("/handoffs/{handoff_id}", responses=refusals(*READ, "invalid_request", "unknown_handoff"))
async def get_handoff(
    *,
    handoff_id: PathId,
    response: Response,
    services: AppServices,
    caller: ReadingCaller,
    base_url: BaseUrl,
    wait: Wait = 0,
    seen: Seen = None,
) -> HandoffView:
    """One of your handoffs. `Retry-After` is set while it is not done."""
    news = News(seen)
    found = await hold(
        services,
        caller,
        [of_handoff(handoff_id)],
        wait,
        read=lambda: own_handoff(services, caller.user_id, handoff_id),
        is_news=lambda handoff: not handoff.is_open or news.has(handoff.version),
    )
    handoff, now = found.value, services.clock.now()
    session = services.store.sessions.get(handoff.session_id)
    view = HandoffView.of(handoff, session, base_url=base_url, now=now, was_held=found.was_held)
    if not view.done:
        response.headers["Retry-After"] = view.retry_after
    return view
