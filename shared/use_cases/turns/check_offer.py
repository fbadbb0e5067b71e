"""Look after an offer that is due: settle a turn that is over, send one again that does not start, at last give it up."""

import logging

from shared.backoff import backoff
from shared.domain.handoffs import Reason
from shared.domain.offers import Offer
from shared.domain.sessions import Executor, Session
from shared.ports.queue import Run
from shared.services import Services
from shared.use_cases.offers import machine_for, wake_place
from shared.use_cases.turns.claim_turn import end_turn
from shared.use_cases.turns.give_up import fail_kickoff, tell_not_started
from shared.use_cases.turns.machine_turn import check_machine_turn

log = logging.getLogger(__name__)
NUDGES = 6
FIRST_PAUSE = 60.0
LONGEST_PAUSE = 300.0
LONGEST_SETTLING_PAUSE = 900.0


def check_offer(services: Services, offer: Offer) -> None:
    """Safe to run concurrently: each write checks what was read. Raises Conflict."""
    session = services.store.sessions.get(offer.session_id)
    if session is None:
        services.store.turns.settled(offer)
    elif session.turn is None or session.turn.id != offer.id:
        if _nudge(services, offer, fence=-1, longest=LONGEST_SETTLING_PAUSE):
            wake_place(services, offer.place, session.id, why=f"settle {offer.id} {offer.nudged_fence} {offer.nudges}")
    elif session.turn.by is Executor.MACHINE:
        check_machine_turn(services, session, offer)
    elif not session.turn.may_be_claimed(services.clock.now()):
        services.store.turns.postpone(offer, until=session.turn.lease_until)
    elif _is_for_machine(services, session, offer):
        if services.store.machine_turns.withdraw(session, now=services.clock.now()):
            wake_place(services, offer.place, session.id, why=f"withdrawn {offer.id}")
    elif offer.nudges_at(session.turn.fence) < NUDGES:
        if _nudge(services, offer, fence=session.turn.fence, longest=LONGEST_PAUSE):
            services.runs.send(Run(session.id, offer.id))
            log.info("session %s: its turn has not started, sent again", session.id)
    else:
        _give_up(services, session, offer)


def _is_for_machine(services: Services, session: Session, offer: Offer) -> bool:
    """Whether the user has chosen the own machine since the turn was offered to the deployment's agent."""
    if offer.place.is_cli:
        return False
    return machine_for(services, session, is_kickoff=offer.handoff_id is not None) is not None


def _nudge(services: Services, offer: Offer, *, fence: int, longest: float) -> bool:
    """Count a message of the sweep; one of several sweeps succeeds."""
    pause = backoff(offer.nudges_at(fence) + 1, first=FIRST_PAUSE, longest=longest)
    until = services.clock.now() + int(pause * 1000)
    return services.store.turns.postpone(offer, until=until, nudged_fence=fence)


def _give_up(services: Services, session: Session, offer: Offer) -> None:
    handoff = services.store.handoffs.get(offer.handoff_id) if offer.handoff_id else None
    if handoff is not None:
        reason = Reason("turn_failed", "The agent did not start. The session is where it was before.")
        fail_kickoff(services, session, handoff, reason)
        return
    found = [services.store.inbox.get(offer.place, event_id) for event_id in offer.rows]
    rows = [row for row in found if row is not None and row.done_by is None]
    if len(rows) < len(offer.rows) or not rows:
        end_turn(services, session, offer)
    else:
        tell_not_started(services, session, offer, rows)
