"""Claim an offered turn, or end one that cannot go on."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.domain.handoffs import Handoff, Reason
from shared.domain.offers import Offer
from shared.domain.sessions import Executor, Session
from shared.errors import NewerVersion, Rejected
from shared.ports.queue import Run
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.access import platform_of
from shared.use_cases.offers import wake_place
from shared.use_cases.recovery.give_up import end_turn, fail_kickoff, suspend, tell_interrupted
from shared.use_cases.recovery.unsettled_turns import check_machine_turn
from shared.use_cases.retry import on_conflict

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Claimed:
    """A turn with what it answers: messages (`rows`), or the kickoff of `handoff`."""

    session: Session
    offer: Offer
    rows: Sequence[InboxRow]
    handoff: Handoff | None


def claim_turn(services: Services, run: Run) -> Claimed | None:
    """Claim and begin the turn of a run; None if there is nothing to do for it. Safe to run twice.

    A turn that another executor works on is looked at again when its lease is over. One whose rows were closed is ended,
    one that was interrupted too often is given up, one that is over and not settled wakes its place.
    """
    claim_id = services.new_id()
    try:
        return on_conflict(lambda: _claim(services, run, claim_id))
    except NewerVersion as newer:
        log.info("session %s: its turn is left to a newer version", run.session_id)
        services.runs.send(run, delay=newer.after)
        return None


def _claim(services: Services, run: Run, claim_id: str) -> Claimed | None:
    offer = services.store.turns.get(run.session_id, run.turn_id)  # before the session: see `Turns.unsettled`
    session = services.store.sessions.get(run.session_id)
    if offer is None or session is None:
        return None
    if session.turn is None or session.turn.id != run.turn_id:  # over and not settled: its end may have woken no place
        wake_place(services, offer.place, session.id, why=f"end {offer.id}")
        return None
    if session.turn.by is Executor.MACHINE:
        check_machine_turn(services, session, offer)
        return None
    now = services.clock.now()
    if not session.turn.may_be_claimed(now) and session.turn.claim_id != claim_id:
        services.runs.send(run, delay=(session.turn.lease_until - now) / 1000)
        return None
    handoff = services.store.handoffs.get(offer.handoff_id) if offer.handoff_id else None
    if handoff is not None and handoff.is_newer:
        raise NewerVersion(f"handoff {handoff.id}")
    found = Claimed(session, offer, new_rows(services, offer), handoff)
    if not _may_go_on(services, found):
        return None
    lease_until = now + services.settings.turn_lease
    if now >= offer.offered_at + services.settings.turn_lease:
        # The copy that was sent with the offer is used up, perhaps by this very run: let another one watch.
        services.runs.send(run, delay=services.settings.turn_lease / 1000)
    claimed = services.store.turns.claim(session, found.rows, claim_id=claim_id, now=now, lease_until=lease_until)
    return replace(found, session=claimed)


def new_rows(services: Services, offer: Offer) -> list[InboxRow]:
    """The rows that are still new. Raises NewerVersion for one that only a newer worker can answer."""
    found = [services.store.inbox.get(offer.place, event_id) for event_id in offer.rows]
    if any(row is not None and row.is_newer for row in found):
        raise NewerVersion("an inbox row")
    return [row for row in found if row is not None and row.done_by is None]


def _may_go_on(services: Services, found: Claimed) -> bool:
    """Whether the turn can be run; if not, it is over now and its place is woken. Raises Conflict."""
    session, offer, handoff = found.session, found.offer, found.handoff
    if len(found.rows) < len(offer.rows) or (offer.handoff_id and (handoff is None or not handoff.is_open)):
        end_turn(services, session, offer)
        return False
    try:
        if not offer.place.is_cli:
            platform_of(services, offer.place)  # before the agent is asked for a reply that could not be delivered
    except Rejected as rejected:
        log.warning("session %s: its turn is not run: %s", session.id, rejected)
        if handoff is not None:
            text = f"{rejected}. The session is where it was before."
            fail_kickoff(services, session, handoff, Reason("platform_not_configured", text))
        else:
            services.store.inbox.close(found.rows, by="platform removed")
            end_turn(services, session, offer)
        return False
    strikes = services.settings.strikes
    if session.turn is None or session.turn.begun < strikes:
        return True
    if handoff is not None:
        text = f"The agent's turn was interrupted {strikes} times. The session is where it was before."
        fail_kickoff(services, session, handoff, Reason("turn_failed", text))
    elif session.runs_on is not None:  # a new session here would not have the user's own agent
        tell_interrupted(services, session, offer, found.rows, strikes)
    else:
        suspend(services, session, offer, found.rows)
    return False
