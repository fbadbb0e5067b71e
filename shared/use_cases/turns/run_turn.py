"""Run one message of the Turns queue: the inbox of a place, the end of a turn, a handoff to look after, or a notice."""

import contextlib
import logging
import math

from shared.backoff import backoff
from shared.domain.handoffs import Handoff, State
from shared.domain.routes import Place
from shared.errors import Busy, Conflict, NewerVersion, NotYet, Rejected
from shared.ports.queue import InboxEvent, Kickoff, Notice, Ready, Show, TurnMessage, WakeUp
from shared.services import Services
from shared.use_cases.budgets import watch_budget
from shared.use_cases.deliver import say
from shared.use_cases.files.wait_for_files import seconds_to_wait
from shared.use_cases.recovery.abandoned_handoffs import take_over
from shared.use_cases.retry import on_conflict
from shared.use_cases.turns.answer_inbox import answer_inbox, kickoff_comes_first, look_at_inbox
from shared.use_cases.turns.budget import TurnBudget
from shared.use_cases.turns.settle import settle
from shared.use_cases.turns.show_turn import show_turn

log = logging.getLogger(__name__)
DELIVERY_SECONDS = 40
CONFLICT_PAUSE = 1
UNREADABLE_PAUSE = 2.0
UNREADABLE_LONGEST = 300.0


def run_turn(services: Services, message: TurnMessage, budget: TurnBudget) -> bool:
    """Run a message. True: done, delete it. False: leave it in the queue; it becomes visible again when it is due.

    No agent is waited for. Raises unexpected errors only; the queue retries those too.
    """
    try:
        _dispatch(services, message, budget)
    except Busy as busy:
        # The other worker is mostly done long before its claim ends, so look soon and then less often.
        budget.visibility.set(math.ceil(backoff(budget.tries, first=1.0, longest=busy.after)))
        return False
    except NotYet as later:
        budget.visibility.set(math.ceil(later.after))
        return False
    except Conflict:
        budget.visibility.set(CONFLICT_PAUSE)
        return False
    return True


def leave_to_newer(budget: TurnBudget, message_id: str) -> bool:
    """Leave a message that this version cannot read in the queue, soon visible again: a newer worker can read it.

    Nothing is done for it here. If no newer worker comes, it becomes a dead letter, which is kept for two weeks.
    """
    log.error("queue message %s cannot be read by this version", message_id)
    budget.visibility.set(math.ceil(backoff(budget.tries, first=UNREADABLE_PAUSE, longest=UNREADABLE_LONGEST)))
    return False


def _dispatch(services: Services, message: TurnMessage, budget: TurnBudget) -> None:
    match message:
        case InboxEvent():
            answer_inbox(services, message, budget)
        case WakeUp(place, session_id):
            _wake_up(services, place, session_id, budget)
        case Ready(place):
            pause = seconds_to_wait(services, message)
            look_at_inbox(services, place, budget, expected=message.event_id)
            if pause is not None:
                raise NotYet(pause)
        case Show():
            with contextlib.suppress(Rejected):
                show_turn(services, message, until=budget.deadline)
        case Kickoff(handoff_id=handoff_id):
            _look_after(services, handoff_id, budget)
        case Notice(place, event_id, text):
            with contextlib.suppress(Rejected):  # a notice that the platform refuses for good is dropped
                say(services, place, text, key=f"notice-{event_id}")


def _wake_up(services: Services, place: Place, session_id: str, budget: TurnBudget) -> None:
    """Settle what is over, then look at the inbox, whatever the wake-up was sent for."""
    session = settle(services, session_id, until=budget.deadline)
    if session is not None and session.turn is None and session.owner == place:
        kickoff_comes_first(services, session)
    if session is not None and session.owner == place:
        on_conflict(lambda: _watch_budget(services, session_id))
    look_at_inbox(services, place, budget)


def _watch_budget(services: Services, session_id: str) -> None:
    session = services.store.sessions.get(session_id)
    if session is not None:
        watch_budget(services, session)


def _look_after(services: Services, handoff_id: str, budget: TurnBudget) -> None:
    """Look after a handoff: one that has moved its session is woken, one that waits is checked when it is due."""
    handoff = services.store.handoffs.get(handoff_id)
    if handoff is None or not handoff.is_open:
        return
    if handoff.is_newer:
        raise NewerVersion(f"handoff {handoff.id}")
    if handoff.is_bound and handoff.thread is not None:
        _wake_up(services, handoff.thread.place, handoff.session_id, budget)
    else:
        _wake_when_due(services, handoff)


def _wake_when_due(services: Services, handoff: Handoff) -> None:
    """Check a handoff whose session has not moved yet: it waits for a rate limit, or its process has died.

    A due one is put on the stream again, one with an expired lease is taken over. Raises NotYet before that.
    """
    now = services.clock.now()
    due = handoff.not_before if handoff.state is State.PENDING else handoff.lease_until
    if due > now:
        raise NotYet((due - now) / 1000)
    if handoff.state is State.PENDING:
        services.store.handoffs.nudge(handoff, now=now)
    else:
        take_over(services, handoff)
