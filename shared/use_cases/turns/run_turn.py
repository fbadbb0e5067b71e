"""Run one message of the Turns queue: a kickoff, the inbox of a place, or a notice."""

import contextlib
import math

from shared.errors import Busy, Conflict, NotYet, Rejected
from shared.ports.queue import InboxEvent, Kickoff, Notice, TurnMessage
from shared.services import Services
from shared.use_cases.backoff import backoff
from shared.use_cases.turns.answer_inbox import answer_inbox
from shared.use_cases.turns.budget import TurnBudget
from shared.use_cases.turns.deliver import say
from shared.use_cases.turns.hold_turn import hold_seconds
from shared.use_cases.turns.run_kickoff import run_kickoff

CONFLICT_PAUSE = 1


def run_turn(services: Services, message: TurnMessage, budget: TurnBudget) -> bool:
    """Run a message. True: done, delete it. False: leave it in the queue; it becomes visible again when it is due.

    The visibility time-out is shortened first, so that the message of a killed turn comes back soon, not at the
    function's limit. Raises unexpected errors only; the queue retries those too.
    """
    budget.visibility.set(hold_seconds(services))
    try:
        _dispatch(services, message, budget)
    except Busy as busy:
        # The other worker is mostly done long before its lease ends, so look soon and then less often.
        budget.visibility.set(math.ceil(backoff(budget.tries, first=1.0, longest=busy.after)))
        return False
    except NotYet as later:
        budget.visibility.set(math.ceil(later.after))
        return False
    except Conflict:
        budget.visibility.set(CONFLICT_PAUSE)
        return False
    return True


def _dispatch(services: Services, message: TurnMessage, budget: TurnBudget) -> None:
    match message:
        case Kickoff(handoff_id=handoff_id):
            run_kickoff(services, handoff_id, budget)
        case InboxEvent():
            answer_inbox(services, message, budget)
        case Notice(place, event_id, text):
            with contextlib.suppress(Rejected):  # a notice that the platform refuses for good is dropped
                say(services, place, text, key=f"notice-{event_id}")
