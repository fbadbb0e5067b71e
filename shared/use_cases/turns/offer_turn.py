"""Offer a turn to the executors. None of them is waited for: the end of the turn wakes the place."""

import contextlib
import logging
from collections.abc import Sequence

from shared.domain.handoffs import Handoff
from shared.domain.sessions import Session
from shared.errors import Rejected, TooManyTurns
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.access import counted_turn
from shared.use_cases.budgets import watch_budget
from shared.use_cases.deliver import say
from shared.use_cases.offers import kickoff_offer, machine_for, rows_offer, send_turn
from shared.use_cases.recovery.unsettled_turns import tell_if_away

log = logging.getLogger(__name__)
HOUR = 3_600_000


def offer_words(services: Services, session: Session, rows: Sequence[InboxRow]) -> None:
    """Offer a turn that answers `rows`, without those of users whose limit of this hour is reached. Raises Conflict.

    The turn counts for each user who speaks in it. While the session's budget is spent, none is offered: rows wait.
    """
    if watch_budget(services, session):
        return
    limited = {user for user in {row.user_id for row in rows} if not _is_within_limit(services, _of(user, rows))}
    rows = [row for row in rows if row.user_id not in limited]
    if not rows:
        return
    offer = rows_offer(services, session, tuple(row.event_id for row in rows))
    services.store.turns.offer(session, offer, rows=rows)
    send_turn(services, offer)
    log.info("session %s: a turn is offered for %d message(s) to the %s", session.id, len(rows), offer.executor.value)
    if offer.runs_on is not None:
        tell_if_away(services, session, offer)


def offer_kickoff(services: Services, session: Session, handoff: Handoff) -> None:
    """Offer the kickoff of a handoff whose session has moved without one. Raises Conflict."""
    runs_on = session.runs_on if machine_for(services, session, is_kickoff=True) else None
    offer = kickoff_offer(services, handoff, session.owner, epoch=session.epoch, runs_on=runs_on)
    services.store.turns.offer(session, offer, handoff=handoff)
    send_turn(services, offer)


def _of(user_id: str, rows: Sequence[InboxRow]) -> list[InboxRow]:
    return [row for row in rows if row.user_id == user_id]


def _is_within_limit(services: Services, rows: Sequence[InboxRow]) -> bool:
    """Count the turn. Over the limit the messages are refused, and the user is notified once in this hour at this place.

    A terminal's turn was counted when it was accepted.
    """
    first, now = rows[0], services.clock.now()
    if first.place.is_cli:
        return True
    try:
        services.store.usage.take_turn(first.user_id, counted_turn(first), now=now)
    except TooManyTurns as limit:
        text = f"{limit.message} Until then messages here are not answered and not kept: send them again afterwards."
        with contextlib.suppress(Rejected):
            say(services, first.place, text, key=f"limit-{first.user_id}-{first.place.route}-{now // HOUR}")
        services.store.inbox.close(rows, by="limited")
        return False
    return True
