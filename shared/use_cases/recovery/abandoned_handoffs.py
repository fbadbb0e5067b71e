"""Handoffs whose process died or hangs, or whose time is over: another attempt, or the end."""

import logging

from shared.domain.handoffs import MAX_ATTEMPTS, Handoff, Reason, State
from shared.services import Services
from shared.use_cases.handoffs.tell_origin import tell_origin
from shared.use_cases.offers import wake_place
from shared.use_cases.retry import on_conflict

log = logging.getLogger(__name__)


def check_handoff(services: Services, handoff: Handoff) -> None:
    """Look after an open handoff that is due. Safe to run concurrently: one of several succeeds. Raises Conflict."""
    now = services.clock.now()
    if handoff.confirmed:
        services.store.handoffs.drive(handoff, now=now)
    elif now >= handoff.deadline:
        expire(services, handoff, Reason("deadline", "It was not done in time. The session is where it was before."))
        if handoff.thread is not None:
            wake_place(services, handoff.thread.place, handoff.session_id, why=f"expired {handoff.id}")
    elif handoff.state == State.PENDING:
        if handoff.not_before <= now and services.store.handoffs.nudge(handoff, now=now):
            log.info("handoff %s: nudged", handoff.id)
    elif handoff.lease_until <= now:
        take_over(services, handoff)


def take_over(services: Services, handoff: Handoff) -> None:
    """End an attempt whose lease has expired: back to pending, or failed once all attempts are used. Safe to run twice."""
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
