"""Continue at once what a dead process left, in a process that knows that it is alone. The sweep would find it later."""

import logging
from collections.abc import Callable

from shared.domain.handoffs import Handoff, Reason, State
from shared.domain.offers import Offer
from shared.ports.queue import Run
from shared.services import Services
from shared.use_cases.offers import wake_place

log = logging.getLogger(__name__)
ANY_TIME = 2**53
LIMIT = 100_000


def take_up(services: Services, process: Callable[[str, str], None]) -> int:
    """Look at all open handoffs and unsettled turns; returns how many.

    `process` gets the id and the platform of each pending handoff.

    The leases of the dead process must be void already. Safe to repeat.
    """
    handoffs = services.store.handoffs.due(now=ANY_TIME, limit=LIMIT)
    for handoff in handoffs:
        _continue(services, handoff, process)
    offers = services.store.turns.due(now=ANY_TIME, limit=LIMIT)
    for offer in offers:
        _send_again(services, offer)
    return len(handoffs) + len(offers)


def _continue(services: Services, handoff: Handoff, process: Callable[[str, str], None]) -> None:
    """Give a claim back without counting an attempt: a restart is not a failure. A bound handoff has an offer."""
    if handoff.is_newer or handoff.is_bound:
        return
    if handoff.state is State.RUNNING:
        now, reason = services.clock.now(), Reason("interrupted", "The service was restarted.")
        services.store.handoffs.back_to_pending(handoff, reason, now=now, not_before=now, counts=False)
        log.info("handoff %s: taken up again", handoff.id)
    process(handoff.id, handoff.platform)


def _send_again(services: Services, offer: Offer) -> None:
    """Send again what the dead process may not have sent: the run of a turn that is offered, the wake-up of one that is over."""
    session = services.store.sessions.get(offer.session_id)
    if session is None:
        return
    if session.turn is None or session.turn.id != offer.id:
        wake_place(services, offer.place, session.id, why=f"start {services.new_id()}")
    elif session.turn.may_be_claimed(services.clock.now()):
        services.runs.send(Run(session.id, offer.id))
