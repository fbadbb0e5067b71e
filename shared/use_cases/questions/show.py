"""A question as messages: all of its text, and below the last one its buttons."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from shared.domain.files import StoredFile
from shared.domain.question_text import code_block, may_hide, pieces
from shared.domain.questions import Option, Question, QuestionState
from shared.domain.routes import Place
from shared.domain.sessions import Session
from shared.ports.platforms import Button, Capabilities, Part, Platform, Style
from shared.services import Services
from shared.store.outbox import OutPart
from shared.use_cases.access import platform_of
from shared.use_cases.files.keep_file import is_there

MAX_LABEL = 40
_AROUND = 700
"""Room for what surrounds the detail in a message: title, reason, commands, and the mark of a repeat."""
_LEAST_ROOM = 100


TOO_LONG = "It is too long to show here, so it cannot be allowed here."


def question_parts(
    services: Services, place: Place, question: Question, *, plan: str = "", file: StoredFile | None = None
) -> list[OutPart]:
    """The messages of a question for the outbox, after those of the plan that it is about. Raises Rejected.

    A `file` with the whole text comes before the last one, which has the buttons.
    """
    platform = platform_of(services, place)
    *before, last = [*(plan_parts(platform, plan) if plan else ()), *rendered(platform, question)]
    attached = [(Part(""), file)] if file else []
    parts: list[tuple[Part, StoredFile | None]] = [*((part, None) for part in before), *attached, (last, None)]
    return [
        OutPart(question.session_id, question.journal, number, place, part, file=one)
        for number, (part, one) in enumerate(parts)
    ]


def postable_file(services: Services, session: Session, place: Place, file_id: str | None) -> StoredFile | None:
    """A stored file that the platform takes; None if there is none. Raises Rejected."""
    item = services.store.files.get(session.id, file_id) if file_id else None
    if item is None or not is_there(services, item):
        return None
    return item.file if item.file.size <= platform_of(services, place).capabilities.file_limit else None


def decline_unsent(services: Services, question: Question) -> bool:
    """Decline a question of which the file did not arrive for sure: nobody may allow what was not shown whole."""
    parts = services.store.outbox.journal(question.session_id, question.journal)
    is_lost = any(part.state == "doubtful" or (part.state == "rejected" and part.reason) for part in parts)
    return is_lost and services.store.questions.decline(question, now=services.clock.now())


def plan_parts(platform: Platform, plan: str) -> Sequence[Part]:
    """A plan as it is meant to look, or as code where that could show less of it."""
    if not may_hide(plan):
        return platform.render(plan)
    length = platform.capabilities.length
    return _fitting(platform, lambda room: [code_block(piece) for piece in pieces(plan, room, length)])


def rendered(platform: Platform, question: Question) -> list[Part]:
    """All of a question in as many parts as it takes; while it is open, the last one has its buttons."""
    can = platform.capabilities
    buttons = _buttons(question, can) if question.state is QuestionState.OPEN else []
    *others, last = _fitting(platform, lambda room: question.messages(room, can.length, buttons=bool(buttons)))
    return [*others, replace(last, buttons=tuple(buttons))]


def _fitting(platform: Platform, texts: Callable[[int], Sequence[str]]) -> list[Part]:
    """The texts for some room, of which each fits one part."""
    can = platform.capabilities
    room = max(can.limit // 4, can.limit - _AROUND)
    while True:
        messages = [platform.render(text) for text in texts(room)]
        if all(len(parts) == 1 for parts in messages) or room < _LEAST_ROOM:
            return [part for parts in messages for part in parts]
        room = room * 3 // 4  # the platform's own marks take room, too


def note_shown(services: Services, question: Question, *, is_pressed: bool = False) -> None:
    """Note that a question can be decided, once all of its messages were sent. A press proves that the last one was."""
    if question.shown_at is not None:
        return
    parts = services.store.outbox.journal(question.session_id, question.journal)
    is_sent = [part.state == "sent" or (is_pressed and part is parts[-1] and part.state == "sending") for part in parts]
    if parts and all(is_sent):
        services.store.questions.shown(question, now=services.clock.now())


def _buttons(question: Question, can: Capabilities) -> list[Button]:
    """None where the platform has too few, or cannot show what is marked: there numbers are sent."""
    if not can.buttons or (question.several and not can.edits):
        return []
    buttons = [
        Button(question.button(index), _label(question, index, option), _style(option))
        for index, option in enumerate(question.options)
    ]
    if question.is_choice:
        buttons += [Button(question.done_button, "Done", "primary")] if question.several else []
        buttons.append(Button(question.skip_button, "Skip"))
    return buttons if len(buttons) <= can.most_buttons else []


def _label(question: Question, index: int, option: Option) -> str:
    name = option.name.strip() or option.kind.replace("_", " ").capitalize() or "Choose"
    if question.is_choice:
        mark = ("☑ " if question.is_marked(index) else "☐ ") if question.several else ""
        name = f"{mark}{index + 1} {name}"
    return name if len(name) <= MAX_LABEL else f"{name[: MAX_LABEL - 1]}…"


def _style(option: Option) -> Style:
    return "primary" if option.kind == "allow_once" else "danger" if option.kind.startswith("reject") else "default"
