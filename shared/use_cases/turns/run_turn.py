"""One wake-up from the Turns queue: run a kickoff, answer a place's inbox, or post words of ours."""

from shared.errors import Rejected
from shared.ports.queue import TurnMessage, Visibility
from shared.services import Services
from shared.use_cases.turns.answer_inbox import answer_inbox
from shared.use_cases.turns.deliver import say
from shared.use_cases.turns.hold_turn import hold_seconds
from shared.use_cases.turns.run_kickoff import run_kickoff


def run_turn(services: Services, message: TurnMessage, *, visibility: Visibility, deadline: int, tries: int) -> None:
    """Do what the wake-up asks. `deadline` is when the agent must have answered, `tries` how often it was received.

    The queue's hold is shortened first, so that a killed turn is tried again soon, not at the function's limit.
    Raises NotYet(after) or Conflict to be woken again; whatever else it raises, the queue tries again too.
    """
    visibility.set(hold_seconds(services))
    if message.handoff_id is not None:
        run_kickoff(services, message.handoff_id, visibility=visibility, deadline=deadline, tries=tries)
    elif message.notice is not None:
        try:
            say(services, message.place, message.notice, key=f"notice-{message.event_id}")
        except Rejected:
            return
    elif message.event_id is not None:
        answer_inbox(services, message, visibility=visibility, deadline=deadline, tries=tries)
