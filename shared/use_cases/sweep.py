"""Runs each minute: expired leases, deadlines, lost queue messages, dead letters.

Safe to run concurrently: every write checks on the item what the index said, so one of two sweeps wins.
"""

import logging

from shared.domain.handoffs import Handoff, Reason, State, Step
from shared.errors import Busy, Conflict
from shared.ports.inbox import InboxRow
from shared.ports.queue import DeadTurn, InboxEvent, Kickoff, Notice
from shared.services import Services
from shared.use_cases.chat.locate_session import NotAddressed, locate_session
from shared.use_cases.handoffs.take_over import expire, take_over
from shared.use_cases.retry import on_conflict
from shared.use_cases.turns.accept_turn import release_accepted

log = logging.getLogger(__name__)
LIMIT = 200
DEAD_LIMIT = 50


def sweep(services: Services) -> int:
    """Look at everything that is due, at most `LIMIT` handoffs and `DEAD_LIMIT` dead letters; returns how many."""
    due = services.store.handoffs.due(now=services.clock.now(), limit=LIMIT)
    for handoff in due:
        try:
            _check(services, handoff)
        except Conflict:
            log.info("handoff %s: left to the next sweep", handoff.id)
        except Exception:  # one broken handoff must not block the others
            log.exception("handoff %s: left to the next sweep", handoff.id)
    return len(due) + _handle_dead_letters(services)


def _check(services: Services, handoff: Handoff) -> None:
    now = services.clock.now()
    if not handoff.is_open:
        return
    if handoff.confirmed:
        if services.store.handoffs.drive(handoff, now=now):
            _send_kickoff_again(services, handoff)
    elif now >= handoff.deadline:
        expire(services, handoff, Reason("deadline", "It was not done in time. The session is where it was before."))
    elif handoff.state == State.PENDING:
        if handoff.not_before <= now and services.store.handoffs.nudge(handoff, now=now):
            log.info("handoff %s: nudged", handoff.id)
    elif handoff.lease_until <= now:
        take_over(services, handoff)
    elif handoff.has_done(Step.KICKOFF_SENT) and services.store.handoffs.drive(handoff, now=now):
        _check_kickoff(services, handoff)


def _check_kickoff(services: Services, handoff: Handoff) -> None:
    """Send the kickoff again if no turn runs: one that died early blocks its line until the queue's long time-out."""
    session = services.store.sessions.get(handoff.session_id)
    if session is not None and not session.has_live_turn(services.clock.now()):
        log.info("handoff %s: no turn runs its kickoff, sent again", handoff.id)
        _send_kickoff_again(services, handoff)


def _send_kickoff_again(services: Services, handoff: Handoff) -> None:
    if handoff.thread is not None:
        services.queue.send(
            Kickoff(handoff.thread.place, handoff.id),
            dedupe=f"again {handoff.id} {handoff.nudges}",
            line=f"again {handoff.id}",
        )


def _handle_dead_letters(services: Services) -> int:
    """Committed turn: deliver again. Unconfirmed kickoff: fail the handoff. Unanswered message: tell the user."""
    answered = 0
    while answered < DEAD_LIMIT and (letters := services.dead_turns.receive(limit=10)):
        for dead in letters:
            answered += 1
            try:
                _handle_dead(services, dead)
            except Exception:  # it becomes visible again, for the next sweep
                log.exception("a dead letter is left to the next sweep")
                continue
            services.dead_turns.delete(dead)
    return answered


def _handle_dead(services: Services, dead: DeadTurn) -> None:
    match dead.message:
        case Kickoff(handoff_id=handoff_id):
            _handle_dead_kickoff(services, handoff_id)
        case InboxEvent(event_id=event_id):
            _handle_dead_event(services, dead, event_id)
        case Notice():
            log.info("a notice could not be posted and is dropped")


def _handle_dead_kickoff(services: Services, handoff_id: str) -> None:
    handoff = services.store.handoffs.get(handoff_id)
    if handoff is None or not handoff.is_open:
        return
    if handoff.confirmed:
        if services.store.handoffs.drive(handoff, now=services.clock.now()):
            _send_kickoff_again(services, handoff)
        return
    reason = Reason("turn_failed", "The agent's turn failed several times. The session is where it was before.")
    on_conflict(lambda: services.store.handoffs.fail(handoff, reason, now=services.clock.now()))
    log.info("handoff %s: failed, its kickoff became a dead letter", handoff.id)


def _handle_dead_event(services: Services, dead: DeadTurn, event_id: str) -> None:
    place = dead.message.place
    row = services.store.inbox.get(place, event_id)
    if row is None:
        return
    line = f"again {place.route} {event_id}"  # what waits in the place's own line must not wait behind a dead letter
    if row.done_by is not None:
        services.queue.send(dead.message, dedupe=f"dead {dead.handle[-64:]}", line=line)
        return
    if _is_addressed(services, row):
        text = "I could not answer your last message: every attempt failed. Please send it again."
        # The notice goes first: if the sweep dies here it is sent again (once, by its key), but never lost.
        notice = Notice(place, f"dead-{event_id}", text)
        services.queue.send(notice, dedupe=f"dead {place.route} {event_id}", line=line)
    services.store.inbox.close([row], by="dead letter")
    release_accepted(services, row)


def _is_addressed(services: Services, row: InboxRow) -> bool:
    """Whether the sender has a session or a home at the place of the message; other chats are not written to."""
    try:
        return not isinstance(locate_session(services, row), NotAddressed)
    except Busy:
        return False
