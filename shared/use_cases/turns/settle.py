"""Settle turns that are over: deliver their replies in order, complete their handoffs, remove their offers."""

import logging

from shared.domain.handoffs import Handoff, Reason
from shared.domain.offers import Offer
from shared.domain.sessions import Session
from shared.errors import NotYet, Rejected
from shared.services import Services
from shared.use_cases.deliver import deliver, deliver_files, deliver_reply, withdraw_files
from shared.use_cases.handoffs.tell_origin import say_moved, tell_origin
from shared.use_cases.retry import on_conflict
from shared.use_cases.turns.show_turn import close_turn

log = logging.getLogger(__name__)
LOOK_AFTER_RETRY = 60_000
"""Milliseconds after a retry of a delivery is due until the sweep looks: the message that is pending comes first."""


def settle(services: Services, session_id: str, *, until: int) -> Session | None:
    """Settle all turns of a session that are over, oldest first; returns the session. Safe to repeat.

    Raises NotYet to be called again later: a delivery waits, or the time `until` is over.
    """
    offers = services.store.turns.unsettled(session_id)  # before the session: see `Turns.unsettled`
    session = services.store.sessions.get(session_id)
    alive = session.turn.id if session is not None and session.turn is not None else None
    over = [offer for offer in offers if offer.id != alive]
    if session is not None and alive is not None and alive not in {offer.id for offer in offers}:
        # Nobody can run a turn whose offer cannot be read. One that was offered since they were read has one.
        session = services.store.turns.without_unreadable(session, now=services.clock.now())
    for offer in over:
        try:
            _finish(services, offer, until=until)
        except NotYet as later:
            next_look = services.clock.now() + int(later.after * 1000) + LOOK_AFTER_RETRY
            services.store.turns.postpone(offer, until=next_look)
            raise
        close_turn(services, offer)
        services.store.turns.settled(offer)
    if not over or session is None or session.active_handoff is None or session.turn is not None:
        return session
    return services.store.sessions.get(session_id)  # completing a handoff changes the session


def _finish(services: Services, offer: Offer, *, until: int) -> None:
    if offer.runs_on is not None and offer.result is None:
        withdraw_files(services, offer)
    elif offer.runs_on is not None:
        deliver_files(services, offer, until=until)
    if offer.handoff_id is None:
        deliver_reply(services, offer, until=until)
        return
    handoff = services.store.handoffs.get(offer.handoff_id)
    if handoff is not None and handoff.is_open and handoff.confirmed:
        complete(services, handoff, until=until)


def complete(services: Services, handoff: Handoff, *, until: int) -> None:
    """Deliver a committed confirmation, then complete the handoff; it fails only if the platform rejects the delivery."""
    try:
        deliver(services, handoff.session_id, handoff.kickoff_turn, until=until)
    except Rejected as rejected:
        reason = Reason("delivery_rejected", f"The confirmation could not be posted: {rejected}.")
        now = services.clock.now()
        on_conflict(lambda: services.store.handoffs.fail(handoff, reason, now=now, rejected_delivery=True))
        log.info("handoff %s: failed (%s)", handoff.id, reason.code)
        tell_origin(services, handoff)
        return
    completed = on_conflict(lambda: services.store.handoffs.complete(handoff, now=services.clock.now()))
    log.info("handoff %s: %s", handoff.id, "completed" if completed else "ended elsewhere")
    tell_origin(services, handoff)
    if completed:
        say_moved(services, completed)
