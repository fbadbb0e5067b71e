"""Hand off a session that the client keeps itself: store the conversation, then ask. Each part is idempotent."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.domain.handoffs import Handoff
from shared.domain.messages import Message, digest
from shared.domain.sessions import Session
from shared.errors import HandoffInFlight, SessionBusy, UnknownSession
from shared.services import Services
from shared.use_cases.append_messages import append_messages, refuse_elsewhere
from shared.use_cases.keep_session import keep_session, own_session
from shared.use_cases.request_handoff import HandoffRequest, destination, id_for, request_handoff


@dataclass(frozen=True)
class WholeSession:
    """A conversation from its first message. Without an id of its own it gets one, the same for the same key."""

    messages: Sequence[Message]
    id: str | None = None
    title: str | None = None
    epoch: int | None = None


def request_whole(
    services: Services, user_id: str, whole: WholeSession, asked: HandoffRequest, *, idempotency_key: str | None
) -> Handoff:
    """What can be refused is refused before anything is written. `asked` is completed with the session's id and epoch.

    The same key with another conversation is another request, and refused as one.
    """
    key = idempotency_key
    session_id = whole.id or (id_for(user_id, f"session of {key}") if key else services.new_id())
    asked = replace(asked, session_id=session_id, content=f"{whole.title} {digest(whole.messages)}")
    earlier = services.store.handoffs.get(id_for(user_id, key)) if key else None
    if earlier is not None:
        epoch = earlier.request_epoch if whole.epoch is None else whole.epoch
        return request_handoff(services, user_id, replace(asked, epoch=epoch), idempotency_key=key)
    destination(services, user_id, asked.platform, asked.target)
    epoch = _store(services, user_id, session_id, whole)
    return request_handoff(services, user_id, replace(asked, epoch=epoch), idempotency_key=key)


def _store(services: Services, user_id: str, session_id: str, whole: WholeSession) -> int:
    """Store the conversation where nothing forbids it, and return the session's epoch."""
    details = {"title": whole.title} if whole.title else {}
    if services.store.sessions.get(session_id) is None:
        if whole.epoch:
            raise UnknownSession(session_id)
        keep_session(services, user_id, session_id, details)
    session = own_session(services, user_id, session_id)
    epoch = session.epoch if whole.epoch is None else whole.epoch
    _refuse_busy(services, session, epoch)
    append_messages(services, user_id, session_id, epoch=epoch, after=0, messages=whole.messages)
    keep_session(services, user_id, session_id, details)
    return epoch


def _refuse_busy(services: Services, session: Session, epoch: int) -> None:
    refuse_elsewhere(session, epoch)
    if session.active_handoff:
        raise HandoffInFlight(session.id, session.active_handoff)
    if session.has_live_turn(services.clock.now()):
        raise SessionBusy(session.id)
