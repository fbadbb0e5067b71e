"""Run one message of the Turns queue: a kickoff, the inbox of a place, or a notice."""

import contextlib
import logging
import math
from dataclasses import replace

from shared.errors import Busy, Conflict, NotYet, Rejected
from shared.ports.queue import InboxEvent, Kickoff, Notice, TurnMessage
from shared.services import Services
from shared.use_cases.backoff import backoff
from shared.use_cases.turns.answer_inbox import answer_inbox
from shared.use_cases.turns.budget import MessageHold, TurnBudget
from shared.use_cases.turns.deliver import say
from shared.use_cases.turns.hold_turn import hold_seconds
from shared.use_cases.turns.run_kickoff import run_kickoff

log = logging.getLogger(__name__)
CONFLICT_PAUSE = 1
UNREADABLE_PAUSE = 2.0
UNREADABLE_LONGEST = 300.0


def run_turn(services: Services, message: TurnMessage, budget: TurnBudget) -> bool:
    """Run a message. True: done, delete it. False: leave it in the queue; it becomes visible again when it is due.

    The visibility time-out is shortened first, so that the message of a killed turn comes back soon, not at the
    function's limit. Raises unexpected errors only; the queue retries those too.
    """
    hold = MessageHold(budget.visibility)
    hold.set(hold_seconds(services))
    try:
        _dispatch(services, message, replace(budget, visibility=hold))
    except Busy as busy:
        # The other worker is mostly done long before its lease ends, so look soon and then less often.
        hold.end(backoff(budget.tries, first=1.0, longest=busy.after))
        return False
    except NotYet as later:
        hold.end(later.after)
        return False
    except Conflict:
        hold.end(CONFLICT_PAUSE)
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
        case Kickoff(handoff_id=handoff_id):
            run_kickoff(services, handoff_id, budget)
        case InboxEvent():
            answer_inbox(services, message, budget)
        case Notice(place, event_id, text):
            with contextlib.suppress(Rejected):  # a notice that the platform refuses for good is dropped
                say(services, place, text, key=f"notice-{event_id}")
