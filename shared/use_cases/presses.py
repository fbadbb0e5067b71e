"""Presses of buttons: one table of kinds, for everything that is pressed."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from shared.domain.buttons import read_button
from shared.domain.questions import QUESTION_BUTTON
from shared.domain.sessions import Session
from shared.ports.inbound import Pressed
from shared.services import Services
from shared.use_cases.access import session_at
from shared.use_cases.budgets import BUDGET_BUTTON, press_budget
from shared.use_cases.dials import DIAL_BUTTON, press_dial
from shared.use_cases.lists import LIST_BUTTON, press_list
from shared.use_cases.questions.decide import NO_LONGER_ASKED, press_question
from shared.use_cases.service_models import SERVICE_MODEL_BUTTON, press_service_model

NOT_YOURS = "Only the person whose session this is can decide."

Handler = Callable[[Services, Session, Sequence[str], Pressed], str]
"""Does what the fields of a button say for the session that lives where it was pressed, and returns what to tell the user.

It was pressed by the session's user. The handler refuses a button whose time is over, and a repeat changes nothing.
"""

KINDS: Mapping[str, Handler] = MappingProxyType(
    {
        QUESTION_BUTTON: lambda services, session, fields, _: press_question(services, session, fields),
        BUDGET_BUTTON: lambda services, session, fields, _: press_budget(services, session, fields),
        DIAL_BUTTON: press_dial,
        SERVICE_MODEL_BUTTON: press_service_model,
    }
)


def press(services: Services, user_id: str, pressed: Pressed) -> str:
    """Do what a button says, for the user whose session lives there; returns what to tell the user. Safe to repeat."""
    named, session = read_button(pressed.button), session_at(services, pressed.place)
    if named is not None and named.kind == LIST_BUTTON:  # a list is its user's, whatever lives there
        return press_list(services, user_id, named.fields, pressed)
    if named is None or named.kind not in KINDS or session is None:
        return NO_LONGER_ASKED
    if session.user_id != user_id:
        return NOT_YOURS
    return KINDS[named.kind](services, session, named.fields, pressed)
