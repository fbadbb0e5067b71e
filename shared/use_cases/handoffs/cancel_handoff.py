"""Call a handoff off, while its session has not moved."""

from shared.domain.handoffs import Handoff, Reason, State
from shared.errors import TooLate, UnknownHandoff
from shared.services import Services
from shared.use_cases.retry import on_conflict


def own_handoff(services: Services, user_id: str, handoff_id: str) -> Handoff:
    """The handoff, if it is this user's. Somebody else's answers as one that does not exist."""
    handoff = services.store.handoffs.get(handoff_id)
    if handoff is None or handoff.user_id != user_id:
        raise UnknownHandoff(handoff_id)
    return handoff


def cancel_handoff(services: Services, user_id: str, handoff_id: str) -> Handoff:
    """→ cancelled. Idempotent. Raises TooLate once the session has moved or the handoff has ended otherwise."""
    handoff = own_handoff(services, user_id, handoff_id)
    reason = Reason("cancelled", "The handoff was cancelled. The session is where it was.")
    cancelled = on_conflict(lambda: services.store.handoffs.cancel(handoff, reason, now=services.clock.now()))
    if cancelled is not None:
        return cancelled
    current = own_handoff(services, user_id, handoff_id)
    if current.state == State.CANCELLED:
        return current
    raise TooLate(handoff_id, current.state.value)
