"""`/share`: let the other people that this deployment knows speak in a thread, and what guests may not do there."""

from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.access import session_at
from shared.use_cases.chat.executor_commands import NO_SESSION, own_session_at
from shared.use_cases.retry import on_conflict
from shared.use_cases.unattended import NOT_SHARED_HERE, set_shared

GUESTS_MAY = frozenset({"help", "start", "status", "sethome", "link"})
"""Commands that concern the sender only. All others change the session, so only its owner's count."""
NOT_FOR_GUESTS = (
    "Commands that change this session are for the person whose session it is, so nothing was changed. You may talk here: "
    "it is shared with you."
)
SHARED = (
    "This thread is shared now: other people in it that this service knows may talk to the agent, which is told their "
    "names. Only you can approve, stop, move or share. Send `/share off` to end it; it ends too when the session moves."
)
NOT_SHARED = "This thread is not shared any more: the agent hears only you."


def share(services: Services, row: InboxRow, argument: str) -> str:
    """Set whether other people may speak here. Safe to repeat."""
    wanted = {"": True, "on": True, "off": False}.get(argument.strip().lower())
    if wanted is None:
        return "Send `/share` to let other people speak in this thread, or `/share off` to end that."

    def choose() -> str:
        session = own_session_at(services, row)
        if session is None:
            return NO_SESSION
        if session.shared is not wanted and set_shared(services, session, shared=wanted) is None:
            return NOT_SHARED_HERE
        return SHARED if wanted else NOT_SHARED

    return on_conflict(choose)


def is_guests(services: Services, row: InboxRow, command: str) -> bool:
    """Whether a guest of a shared thread typed a command that only the owner may use."""
    if command in GUESTS_MAY:
        return False
    session = session_at(services, row.place)
    return session is not None and session.shared and session.user_id != row.user_id
