"""End an attempt whose lease has expired, because its process died or hangs."""

import logging

from shared.domain.handoffs import MAX_ATTEMPTS, Handoff, Reason
from shared.services import Services
from shared.use_cases.handoffs.tell_origin import tell_origin
from shared.use_cases.retry import on_conflict

log = logging.getLogger(__name__)


def take_over(services: Services, handoff: Handoff) -> None:
    """Back to pending for another attempt, or failed once all attempts are used. Safe to run twice."""
    now = services.clock.now()
    reason = Reason("interrupted", "An attempt was interrupted.")
    if handoff.attempt + 1 >= MAX_ATTEMPTS:
        reason = Reason("interrupted", f"It was interrupted {MAX_ATTEMPTS} times. The session is where it was before.")
        expire(services, handoff, reason)
    elif services.store.handoffs.back_to_pending(handoff, reason, now=now, not_before=now, counts=True, abandoned=True):
        log.info("handoff %s: back to pending", handoff.id)


def expire(services: Services, handoff: Handoff, reason: Reason) -> None:
    """Fail a handoff, unless it has ended already."""
    if on_conflict(lambda: services.store.handoffs.expire(handoff, reason, now=services.clock.now())):
        log.info("handoff %s: expired", handoff.id)
        tell_origin(services, handoff)
