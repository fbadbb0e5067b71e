"""Questions of an agent in its thread: asked as a message with buttons, decided by the session's user, then shown so."""

from shared.domain.questions import Option, Press, Question, QuestionState
from shared.domain.routes import Place
from shared.domain.sessions import Session
from shared.ports.platforms import Button, Part, Style
from shared.services import Services
from shared.store.outbox import OutPart
from shared.use_cases.access import platform_of, session_at
from shared.use_cases.offers import send_show

NO_LONGER_ASKED = "This is no longer asked."
NOT_YOURS = "Only the person whose session this is can decide."
MAX_LABEL = 40


def question_parts(services: Services, place: Place, question: Question) -> list[OutPart]:
    """The message of a question for the outbox, with a button for each option. Raises Rejected."""
    platform = platform_of(services, place)
    first, *_ = platform.render(question.asked(buttons=platform.capabilities.buttons))
    buttons = tuple(
        Button(question.button(index), _label(option), _style(option)) for index, option in enumerate(question.options)
    )
    shown = Part(first.text, first.extra, buttons if platform.capabilities.buttons else ())
    return [OutPart(question.session_id, question.journal, 0, place, shown)]


def decide(services: Services, user_id: str, place: Place, press: Press) -> str:
    """Decide a question as a user pressed; returns what to tell the user. Safe to repeat."""
    session = session_at(services, place)
    if session is None:
        return NO_LONGER_ASKED
    if session.user_id != user_id:
        return NOT_YOURS
    question = services.store.questions.get(session.id, press.turn_id, press.fence, press.number)
    if question is None or press.index >= len(question.options):
        return NO_LONGER_ASKED
    return answer(services, session, question, question.options[press.index])


def answer(services: Services, session: Session, question: Question, option: Option) -> str:
    """Answer a question, if it is still asked; returns what to tell the user."""
    now = services.clock.now()
    turn = session.turn
    is_asked = turn is not None and turn.id == question.turn_id and turn.fence == question.fence
    if is_asked and services.store.questions.answer(session, question, option.id, now=now):
        offer = services.store.turns.get(session.id, question.turn_id)
        if offer is not None:
            send_show(services, offer, why=f"answered {question.fence} {question.number}")
        return f"{option.name}."
    current = services.store.questions.get(session.id, question.turn_id, question.fence, question.number)
    if current is None or not is_asked:
        return NO_LONGER_ASKED
    if current.state is QuestionState.ANSWERED:
        chosen = current.chosen()
        return f"Already answered: {chosen.name if chosen else 'another option'}."
    if current.state is QuestionState.EXPIRED or current.expires_at <= now:
        return "This was not answered in time, so it counts as refused."
    return NO_LONGER_ASKED


def open_questions(services: Services, session: Session) -> list[Question]:
    """The questions that the session's agent waits for."""
    if session.turn is None:
        return []
    now = services.clock.now()
    asked = services.store.questions.of(session.id, session.turn.id, fence=session.turn.fence)
    return [question for question in asked if question.state is QuestionState.OPEN and question.expires_at > now]


def _label(option: Option) -> str:
    name = option.name.strip() or option.kind.replace("_", " ").capitalize() or "Choose"
    return name if len(name) <= MAX_LABEL else f"{name[: MAX_LABEL - 1]}…"


def _style(option: Option) -> Style:
    return "primary" if option.kind == "allow_once" else "danger" if option.kind.startswith("reject") else "default"
