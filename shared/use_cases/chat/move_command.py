"""`/handoff PLATFORM`: move the session of a chat to a new thread, and tell the chat how that ended."""

from shared.domain.handoffs import Handoff, State
from shared.domain.sessions import Session
from shared.errors import Busy, HandoffInFlight, RequestRefused, SessionBusy, TooLate
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.access import id_for
from shared.use_cases.chat.close_earlier import close_earlier
from shared.use_cases.chat.locate_session import Broken, Elsewhere, Found, locate_session
from shared.use_cases.handoffs.cancel_handoff import cancel_handoff
from shared.use_cases.handoffs.request_handoff import HandoffRequest, request_handoff
from shared.use_cases.handoffs.tell_origin import moved_text
from shared.use_cases.orders import order_of

MAX_FIRST_WORDS = 4000
LONGEST_WAIT = 30.0
"""Seconds between two looks at a handoff that is under way; its end sends a message at once, so these find one that was lost."""
NO_SESSION = "No session of yours lives here. Send `/resume` to list yours and bring one here."


def hand_off(services: Services, row: InboxRow, argument: str) -> str:
    """Request the handoff and return what to say at once. Safe to repeat: one row leads to one handoff.

    Raises Busy where a session is about to arrive, and Conflict if `/stop` has closed the row.
    """
    try:
        located = locate_session(services, row)
    except Busy:
        if asked_handoff(services, row) is None:
            raise
        located = None
    # After the session: if that was read after the move, this handoff is found.
    if (known := asked_handoff(services, row)) is not None:
        return _on_its_way(known, close_earlier(services, row))
    match located:
        case Found(session) if session.user_id == row.user_id:
            return _request(services, row, session, argument)
        case Broken(session):
            return f"This session was interrupted and does not go on. Send `/resume {session.id}` here first."
        case Elsewhere(notice):
            return notice
    return NO_SESSION


def outcome(services: Services, row: InboxRow) -> str | None:
    """The notice for the chat once the handoff of this row has ended; None if it asked for none. Raises Busy before."""
    handoff = asked_handoff(services, row)
    if handoff is None:
        return None
    if handoff.is_open:
        raise Busy(LONGEST_WAIT)
    if handoff.asked_at is not None:
        return _arrival(services, handoff)
    if handoff.state is State.COMPLETED:
        return moved_text(handoff)
    session = services.store.sessions.get(handoff.session_id)
    if session is not None and session.owner == row.place:
        now = "This session is still here: go on, or try again."
    else:
        now = f"Send `/resume {handoff.session_id}` to bring this session here."
    why = handoff.error.message if handoff.error else ""
    if handoff.state is State.CANCELLED:
        return f"The move to {handoff.platform} was cancelled. {now}"
    return f"The move to {handoff.platform} failed: {why.rstrip('.')}. {now}"


def _arrival(services: Services, handoff: Handoff) -> str:
    """How a handoff ended that brought a session from elsewhere."""
    session = services.store.sessions.get(handoff.session_id)
    title = f"**{session.shown_title}**" if session else "The session"
    if handoff.state is State.COMPLETED:
        return f"{title} is there: {handoff.thread.url if handoff.thread and handoff.thread.url else 'in its thread'}"
    why = handoff.error.message.rstrip(".") if handoff.error else handoff.state.value
    kept = "" if session is None else f" It is saved: send `/resume {handoff.session_id}` to bring it here."
    return f"{title} did not arrive: {why}.{kept}"


def stop_move(services: Services, row: InboxRow) -> str | None:
    """Cancel a move that was asked for before this row; returns what to say, None if there is none. Safe to repeat."""
    handoff = _move_before(services, row)
    if handoff is None:
        return None
    try:
        cancel_handoff(services, row.user_id, handoff.id)
    except TooLate:
        return (
            f"It is too late to stop the move to {handoff.platform}: the session is there already. "
            f"Send `/resume {handoff.session_id}` to bring it back here."
        )
    return f"The move to {handoff.platform} is stopped."


def _request(services: Services, row: InboxRow, session: Session, argument: str) -> str:
    platform, *rest = argument.split(maxsplit=1)[:2] or [""]
    name, first_words = platform.lower()[:50], "".join(rest)
    if not name:
        return _where_to(services, row)
    if len(first_words) > MAX_FIRST_WORDS:
        return (
            f"First words have at most {MAX_FIRST_WORDS} characters. Send `/handoff {name}` alone, and the words there."
        )
    try:
        has_threads = services.platforms.has_threads(name)
        if not has_threads and services.store.accounts.home(row.user_id, name) == row.place:
            return (
                f"**{session.shown_title}** already lives here, and {name} has no threads. {_where_to(services, row)}"
            )
        asked = HandoffRequest(
            session.id,
            name,
            session.epoch,
            message=first_words or None,
            replace=not has_threads,  # there the chat holds one session; as `/resume` in it does
            command=row.event_id,
        )
        accepted = request_handoff(services, row.user_id, asked, idempotency_key=key_of_row(row))
    except SessionBusy:
        return f"The agent is still working here, so nothing was moved. Send `/stop`, then `/handoff {name}` again."
    except HandoffInFlight:
        return (
            "This session is on its way to another place already. Send `/stop` to cancel that, if it is not there yet."
        )
    except RequestRefused as refused:
        return f"{refused.message} Nothing was moved."
    return _on_its_way(accepted.handoff, close_earlier(services, row))


def _on_its_way(handoff: Handoff, left: str) -> str:
    return (
        f"Moving this session to {handoff.platform}. I say here when it is there; "
        f"send `/stop` to cancel before that. Messages here wait.{left}"
    )


def _where_to(services: Services, row: InboxRow) -> str:
    """The platforms on which the user has a home, as commands to type."""
    homes = services.store.accounts.homes(row.user_id)
    usable = [
        f"`/handoff {name}`"
        for name, is_supported in services.platforms.known().items()
        if is_supported and name in homes and services.platforms.is_configured(name)
    ]
    if not usable:
        return "You have no home on any platform yet. Send `/sethome` in the chat where handoffs shall arrive."
    return (
        f"Say where this session shall go: {', '.join(usable)}. First words for the agent may follow. "
        "Your home there gets a new thread; send `/sethome` in another chat to add it."
    )


def _move_before(services: Services, row: InboxRow) -> Handoff | None:
    """The open handoff of the session that lives or lived here, if a command before this row asked for it."""
    session_id = services.store.sessions.at(row.place)
    session = services.store.sessions.get(session_id) if session_id else None
    if session is None or session.user_id != row.user_id or session.active_handoff is None:
        return None
    handoff = services.store.handoffs.get(session.active_handoff)
    if handoff is None or not handoff.is_open or handoff.origin != row.place:
        return None
    return handoff if handoff.command is not None and handoff.command < row.event_id else None


def asked_handoff(services: Services, row: InboxRow) -> Handoff | None:
    """The handoff that a command has asked for, itself or by an order."""
    if handoff := services.store.handoffs.get(id_for(row.user_id, key_of_row(row))):
        return handoff
    order = order_of(services, row)
    return services.store.handoffs.get(order.handoff_id) if order is not None and order.handoff_id else None


def key_of_row(row: InboxRow) -> str:
    """Derived from the row, so that a repeat finds the same handoff. No header of a request can hold a line break."""
    return f"chat\n{row.place.route}\n{row.event_id}"
