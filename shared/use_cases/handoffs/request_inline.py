"""Request a handoff with its transcript inline: store the session, then request. Each part is idempotent."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.domain.messages import Message, digest
from shared.domain.sessions import RunsOn, Session, new_session
from shared.errors import HandoffInFlight, RequestRefused, SessionBusy, UnknownSession
from shared.services import Services
from shared.use_cases.access import id_for, own_session, refuse_elsewhere
from shared.use_cases.handoffs.request_handoff import (
    Accepted,
    HandoffRequest,
    accepted_before,
    destination,
    write_request,
)
from shared.use_cases.sessions.append_messages import append_messages, refuse_reserved
from shared.use_cases.sessions.save_session import Details, change_session, refuse_unknown_runner


@dataclass(frozen=True)
class InlineTranscript:
    """A whole transcript. Without an `id` the session gets one, derived from the idempotency key."""

    messages: Sequence[Message]
    id: str | None = None
    title: str | None = None
    epoch: int | None = None
    runs_on: RunsOn | None = None


def request_inline(
    services: Services, user_id: str, whole: InlineTranscript, asked: HandoffRequest, *, idempotency_key: str | None
) -> Accepted:
    """Store the transcript and request the handoff. `asked` is completed with the session's id and epoch.

    The same key with another transcript raises IdempotencyKeyReused. Of two concurrent equal requests both get the
    handoff of the first, even if that makes the session look busy or moved to the second. Raises a RequestRefused.
    """
    key = idempotency_key
    session_id = whole.id or (id_for(user_id, f"session of {key}") if key else services.new_id())
    asked = replace(asked, session_id=session_id, content=f"{whole.title} {digest(whole.messages)}")
    handoff_id = id_for(user_id, key) if key else services.new_id()
    earlier = services.store.handoffs.get(handoff_id) if key else None
    if earlier is None:
        try:
            return _request(services, user_id, handoff_id, whole, asked)
        except RequestRefused:
            earlier = services.store.handoffs.get(handoff_id) if key else None
            if earlier is None:
                raise
    epoch = earlier.request_epoch if whole.epoch is None else whole.epoch
    return accepted_before(services, earlier, replace(asked, epoch=epoch))


def _request(
    services: Services, user_id: str, handoff_id: str, whole: InlineTranscript, asked: HandoffRequest
) -> Accepted:
    target = destination(services, user_id, asked.platform, asked.target)
    refuse_unknown_runner(services, user_id, whole.runs_on)
    session = _store(services, user_id, asked.session_id, whole)
    return write_request(services, handoff_id, session, replace(asked, epoch=session.epoch), target)


def _store(services: Services, user_id: str, session_id: str, whole: InlineTranscript) -> Session:
    """Store the transcript and return the session, at the epoch that the checks were made for."""
    session = services.store.sessions.get(session_id) if whole.id else None  # a derived or random id is new
    if session is None:
        if whole.epoch:
            raise UnknownSession(session_id)
        refuse_reserved(whole.messages)
        fresh = new_session(session_id, user_id, now=services.clock.now())
        fresh = replace(fresh, title=whole.title, runs_on=whole.runs_on)
        session = fresh if services.store.sessions.create(fresh) else own_session(services, user_id, session_id)
    if session.user_id != user_id:
        raise UnknownSession(session_id)
    epoch = session.epoch if whole.epoch is None else whole.epoch
    _refuse_busy(services, session, epoch)
    session = append_messages(
        services, user_id, session_id, epoch=epoch, after=0, messages=whole.messages, known=session
    )
    details: Details = {
        name: value for name, value in (("title", whole.title), ("runs_on", whole.runs_on)) if value is not None
    }
    if any(getattr(session, name) != value for name, value in details.items()):
        session = change_session(services, user_id, session_id, details)
        refuse_elsewhere(session, epoch)  # change_session has read it again
    return session


def _refuse_busy(services: Services, session: Session, epoch: int) -> None:
    refuse_elsewhere(session, epoch)
    if session.active_handoff:
        raise HandoffInFlight(session.id, session.active_handoff)
    if session.has_live_turn(services.clock.now()):
        raise SessionBusy(session.id)
