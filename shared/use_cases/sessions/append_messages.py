"""Add messages to a transcript from the terminal that owns it."""

from collections.abc import Sequence

from shared.domain.messages import Message, canonical, is_reserved
from shared.domain.sessions import Session
from shared.errors import Conflict, InvalidRequest, OutOfSequence, SessionBusy
from shared.ports.tables import Check
from shared.services import Services
from shared.use_cases.access import own_session, refuse_elsewhere
from shared.use_cases.retry import on_conflict


def append_messages(
    services: Services,
    user_id: str,
    session_id: str,
    *,
    epoch: int,
    after: int,
    messages: Sequence[Message],
    known: Session | None = None,
    checks: Sequence[Check] = (),
) -> Session:
    """Store `messages` after the first `after`. Idempotent: messages that are stored already are compared, not written.

    `known` is the user's session if it was just read; `checks` must hold when it is written. Raises Moved,
    OutOfSequence, SessionBusy, InvalidRequest or StorageFull.
    """

    def append() -> Session:
        nonlocal known
        session, known = known or own_session(services, user_id, session_id), None
        refuse_elsewhere(session, epoch)
        held = session.message_count - after
        if held < 0 or not _same(services, session, after, messages[:held]):
            raise OutOfSequence(session_id, session.message_count)
        rest = messages[held:]
        if not rest:
            return session
        refuse_reserved(rest, first=session.message_count)
        if session.has_live_turn(services.clock.now()):
            raise SessionBusy(session_id)
        return upload(services, session, rest, checks=checks)

    return on_conflict(append)


def refuse_reserved(messages: Sequence[Message], *, first: int = 0) -> None:
    """Raise InvalidRequest for a new message with a mark of the service's own; counts from `first` for people."""
    for number, message in enumerate(messages, start=first + 1):
        if is_reserved(message):
            raise InvalidRequest(
                f"Message {number} has `internal` or an `id` that begins with `kickoff-`: the service uses these for "
                "its own messages. Nothing was written. Leave them out and send the messages again."
            )


def upload(
    services: Services, session: Session, messages: Sequence[Message], *, checks: Sequence[Check] = ()
) -> Session:
    """Append messages that count towards the user's limit. Raises StorageFull, or Conflict if the session changed."""
    size = sum(len(canonical(message)) for message in messages)
    services.store.usage.take_bytes(session.user_id, size)
    try:
        now = services.clock.now()
        return services.store.transcripts.append(session, messages, now=now, uploaded=size, checks=checks)
    except Conflict:
        services.store.usage.give_back_bytes(session.user_id, size)
        raise


def _same(services: Services, session: Session, after: int, messages: Sequence[Message]) -> bool:
    stored = services.store.transcripts.load(session.id, after=after, limit=len(messages)) if messages else ()
    return [canonical(message) for message in stored] == [canonical(message) for message in messages]
