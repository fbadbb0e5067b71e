"""Cancel a handoff whose session has not moved yet."""

from shared.domain.handoffs import Handoff, Reason, State
from shared.errors import TooLate
from shared.services import Services
from shared.use_cases.access import own_handoff
from shared.use_cases.handoffs.tell_origin import tell_origin
from shared.use_cases.retry import on_conflict


def cancel_handoff(services: Services, user_id: str, handoff_id: str) -> Handoff:
    """→ cancelled. Idempotent. Raises TooLate once the session has moved or the handoff has ended otherwise."""
    handoff = own_handoff(services, user_id, handoff_id)
    reason = Reason("cancelled", "You cancelled the handoff. The session stayed where it was.")
    cancelled = on_conflict(lambda: services.store.handoffs.cancel(handoff, reason, now=services.clock.now()))
    current = cancelled or own_handoff(services, user_id, handoff_id)
    if current.state == State.CANCELLED:
        tell_origin(services, current)
        return current
    raise TooLate(handoff_id, current.state.value)
