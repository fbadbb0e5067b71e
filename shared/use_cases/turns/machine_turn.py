"""Look after a turn that was offered to a user's machine: say that it is away, or take the turn back."""

import logging

from shared.domain.offers import Offer
from shared.domain.sessions import Session
from shared.ports.queue import Notice
from shared.services import Services
from shared.use_cases.offers import CHECK_MACHINE_AFTER, KICKOFF_WAITS, machine_for, wake_place

log = logging.getLogger(__name__)
NEXT_LOOK = 300_000
"""Milliseconds between two looks of the sweep at a turn that waits for its machine."""


def check_machine_turn(services: Services, session: Session, offer: Offer) -> None:
    """Safe to run concurrently: each write checks what was read. Raises Conflict.

    A machine that works on it is left alone. The turn is taken back if the user chose the deployment's agent or the
    runner was revoked or is no longer the session's, and a kickoff also if the machine has not taken it up in time.
    Otherwise the user is told once.
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
