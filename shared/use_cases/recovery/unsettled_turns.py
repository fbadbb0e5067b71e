"""Turns that are not settled: settle one that is over, send one again that does not start, take one back from a machine."""

import logging

from shared.backoff import backoff
from shared.domain.handoffs import Reason
from shared.domain.offers import Offer
from shared.domain.sessions import Executor, Session
from shared.ports.queue import Notice, Run
from shared.services import Services
from shared.use_cases.offers import CHECK_MACHINE_AFTER, KICKOFF_WAITS, machine_for, wake_place
from shared.use_cases.recovery.give_up import end_turn, fail_kickoff, tell_not_started

log = logging.getLogger(__name__)
NUDGES = 6
FIRST_PAUSE = 60.0
LONGEST_PAUSE = 300.0
LONGEST_SETTLING_PAUSE = 900.0
NEXT_LOOK = 300_000
"""Milliseconds between two looks of the sweep at a turn that waits for its machine."""


def check_offer(services: Services, offer: Offer) -> None:
    """Look after an offer that is due. Safe to run concurrently: each write checks what was read. Raises Conflict."""
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


def check_machine_turn(services: Services, session: Session, offer: Offer) -> None:
    """Look after a turn that was offered to a user's machine. Safe to run concurrently, as `check_offer` is.

    A machine that works on it is left alone. The turn is taken back if the user chose the deployment's agent or the
    runner was revoked or is no longer the session's, and a kickoff also if the machine has not taken it up in time.
    Otherwise the user is notified once.
    """
    turn, now = session.turn, services.clock.now()
    if turn is None or turn.id != offer.id:
        return
    if turn.is_claimed and turn.lease_until > now:
        services.store.turns.postpone(offer, until=turn.lease_until)
        return
    is_kickoff = offer.handoff_id is not None
    waits_until = offer.offered_at + int(KICKOFF_WAITS * 1000)
    gave_up = is_kickoff and (turn.is_claimed or now >= waits_until)
    machine = machine_for(services, session, is_kickoff=is_kickoff)
    if gave_up or machine is None or offer.runs_on is None or machine.id != offer.runs_on.runner:
        if services.store.machine_turns.withdraw(session, now=now, marks_kickoff=gave_up):
            log.info("session %s: its turn is taken back from the machine", session.id)
            wake_place(services, offer.place, session.id, why=f"withdrawn {offer.id}")
        return
    services.store.turns.postpone(offer, until=waits_until if is_kickoff else now + NEXT_LOOK)
    if not is_kickoff and (turn.is_claimed or now >= offer.offered_at + int(CHECK_MACHINE_AFTER * 1000)):
        _tell_away(services, session, offer)


def tell_if_away(services: Services, session: Session, offer: Offer) -> None:
    """Tell the user at once where it is known that the machine is away; otherwise the check that follows does."""
    runner = machine_for(services, session)
    if runner is not None and not runner.is_online(services.clock.now()):
        _tell_away(services, session, offer)


def _tell_away(services: Services, session: Session, offer: Offer) -> None:
    """Once for each turn: the notice has the turn's id."""
    if offer.told_away or offer.runs_on is None:
        return
    runner = services.store.runners.get(session.user_id, offer.runs_on.runner)
    name = runner.name if runner else offer.runs_on.runner
    notice = (
        f"Your machine **{name}** is not answering, so your own agent has not seen this yet. "
        "Your message waits until it is back. Send `/cloud` to let the model of this service answer instead."
    )
    key = f"away-{offer.id}"
    services.queue.send(Notice(offer.place, key, notice), dedupe=key, line=f"notice {offer.place.route}")
    services.store.machine_turns.told_away(offer)
