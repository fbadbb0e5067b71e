"""The models of the deployment's agent: the operator lists them, and a person chooses one for a session."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from shared.domain.buttons import button_id
from shared.domain.dials import is_now, offered
from shared.domain.orders import VOID_TEXTS, Choice, Moment, Void
from shared.domain.sessions import Executor, Session
from shared.ports.inbound import Pressed
from shared.services import Services
from shared.settings import Settings
from shared.store.inbox import InboxRow
from shared.use_cases.access import session_at
from shared.use_cases.dials import LISTED_FOR, answer_parts, choose_by_press
from shared.use_cases.questions.decide import NO_LONGER_ASKED
from shared.use_cases.retry import on_conflict

SERVICE_MODEL_BUTTON = "m"
NO_CHOICE = "The model of this service answers here, and it has no {} to choose."


def service_models(settings: Settings) -> tuple[str, ...]:
    """The models that the operator lets people choose, the deployment's own first; none where there is no choice."""
    named = (name.strip() for name in (settings.agent_model, *settings.agent_models.split(",")))
    models = tuple(dict.fromkeys(filter(None, named)))
    return models if settings.agent_model and len(models) > 1 else ()


def service_model(settings: Settings, session: Session) -> str:
    """The model that answers a session: the chosen one as long as the operator lists it, else the deployment's own."""
    is_listed = session.service_model in service_models(settings)
    return session.service_model if session.service_model and is_listed else settings.agent_model


def choose_service_model(services: Services, row: InboxRow, session: Session, wanted: str) -> str:
    """Set the model that answers a session, or list them; returns what to tell the user. Safe to repeat."""
    models = service_models(services.settings)
    if not models:
        return NO_CHOICE.format("model")
    named = [model for model in models if model.casefold() == wanted.casefold()]
    if not named:
        return _list(services, row, session, "The operator offers no such model.\n\n" if wanted else "")

    def choose() -> str:
        current = session_at(services, row.place)
        if current is not None and (current.id, current.epoch) == (session.id, session.epoch):
            moment = Moment(row.event_id, row.received_at, current.epoch)
            if current.has_chosen_since("service_model", moment):
                return VOID_TEXTS[Void.CHOSEN_AGAIN]
            chosen = replace(current, service_model=named[0], chosen=current.choosing("service_model", moment))
            services.store.sessions.replace(current, replace(chosen, updated_at=services.clock.now()))
        return f"{is_now('model', named[0])}, from the next message on."

    return on_conflict(choose)


def press_service_model(services: Services, session: Session, fields: Sequence[str], pressed: Pressed) -> str:
    """Choose what the button of the list says: the same as its command, typed now. A redelivery is the same command."""
    named = [model for model in service_models(services.settings) if _short(model) == fields[-1]]
    now = services.clock.now() // LISTED_FOR
    in_time = [_fields(session, hour) for hour in (now, now - 1)]
    if not named or tuple(fields[:-1]) not in in_time or session.answers is not Executor.CLOUD:
        return NO_LONGER_ASKED
    choose_by_press(services, session, pressed, "model", named[0])
    return f"{is_now('model', named[0])}."


def _list(services: Services, row: InboxRow, session: Session, refused: str) -> str:
    """The answer is in the outbox then, with a button for each model; the journal keeps the first one."""
    models = service_models(services.settings)
    said = refused + offered(
        "model", service_model(services.settings, session), [Choice(name, name) for name in models]
    )
    listed_at = _fields(session, services.clock.now() // LISTED_FOR)
    buttons = [(button_id(SERVICE_MODEL_BUTTON, *listed_at, _short(name)), name) for name in models]
    parts = answer_parts(services, row.place, f"told-{row.event_id}", said, buttons)
    services.store.outbox.post(parts, now=services.clock.now())
    return said


def _fields(session: Session, hour: int) -> tuple[str, ...]:
    return str(session.epoch), str(hour)


def _short(model: str) -> str:
    """A name that fits into a button's id, whatever the operator lists by then."""
    return hashlib.sha256(model.encode()).hexdigest()[:16]
