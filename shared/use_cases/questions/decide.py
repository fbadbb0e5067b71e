"""Decide questions: by a button, by a command, by words. Each is safe to repeat."""

from collections.abc import Sequence
from dataclasses import replace

from shared.domain.buttons import number_in
from shared.domain.questions import DONE, OFF, ON, SKIP, Given, Question, QuestionState
from shared.domain.routes import Place
from shared.domain.sessions import Session
from shared.errors import Conflict
from shared.ports.queue import InboxEvent
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.offers import send_show
from shared.use_cases.questions.show import note_shown
from shared.use_cases.retry import on_conflict

NO_LONGER_ASKED = "This is no longer asked."
NOT_ALL_SHOWN = "Not all of it had been sent when you answered. Read it, then answer again."
CHANGED = "What is chosen has changed since. Look at it, then press again."
NOTHING_CHOSEN = "Nothing is chosen yet. Choose first, or press Skip."


def press_question(services: Services, session: Session, fields: Sequence[str]) -> str:
    """Do what a button of a question says; returns what to tell the user.

    Its buttons are below its last message, so a press comes after all of it.
    """
    question = _named(services, session, fields)
    if question is None:
        return NO_LONGER_ASKED
    note_shown(services, question, is_pressed=True)
    now = services.clock.now()
    match fields[3:]:
        case [index] if index == SKIP and question.is_choice:
            return skip(services, session, question)
        case [done, revision] if done == DONE and question.several:
            given = Given(question.marked)
            if number_in(revision) != question.revision:
                return told(services, session, question, CHANGED)
            if not given.options and question.state is QuestionState.OPEN:
                return NOTHING_CHOSEN
            return answer(services, session, question, given, said_at=now, revision=question.revision)
        case [index, state, count] if state in (ON, OFF) and question.several:
            return _mark(services, session, fields, _index(question, index), number_in(count), on=state == ON)
        case [index] if not question.several and (at := _index(question, index)) is not None:
            return answer(services, session, question, Given((question.options[at].id,)), said_at=now)
    return NO_LONGER_ASKED


def answer(
    services: Services,
    session: Session,
    question: Question,
    given: Given,
    *,
    said_at: int,
    revision: int | None = None,
) -> str:
    """Answer a question, if it is still asked and all of it was shown before; returns what to tell the user.

    After its turn, the answer to one that does not block is a message for the agent.
    """
    now, questions = services.clock.now(), services.store.questions
    if _is_at_work(session, question):
        is_done = questions.answer(session, question, given, said_at=said_at, now=now, revision=revision)
        if not is_done and not question.blocks:
            current = services.store.sessions.get(session.id)
            if current is not None and not _is_at_work(current, question):  # the turn has ended meanwhile
                return answer(services, current, question, given, said_at=said_at, revision=revision)
    elif question.blocks:
        return NO_LONGER_ASKED
    else:
        row = late_row(services, session, session.owner, [_with(question, given)], key=f"q{question.shown_as}")
        is_done = questions.answer_late(question, given, row, said_at=said_at, now=now)
    if is_done:
        _show(services, question, "answered")
        _wake(services, session, question)
        return f"{_with(question, given).answer}."
    return told(services, session, question, said_at=said_at)


def skip(services: Services, session: Session, question: Question) -> str:
    """The agent goes on without an answer; returns what to tell the user."""
    if (question.blocks and not _is_at_work(session, question)) or not services.store.questions.decline(
        question, now=services.clock.now()
    ):
        return told(services, session, question)
    _show(services, question, "skipped")
    return "Skipped."


def open_questions(services: Services, session: Session) -> list[Question]:
    """The questions that can be answered: those of the turn at work, and those that did not block an earlier one."""
    now = services.clock.now()
    return [
        question
        for question in services.store.questions.all(session.id)
        if question.state is QuestionState.OPEN
        and question.expires_at > now
        and (_is_at_work(session, question) or (not question.blocks and question.epoch == session.epoch))
    ]


def question_for_words(services: Services, session: Session, row: InboxRow) -> Question | None:
    """The question that a message answers: of those that take words and were shown before it, the first one.

    Forwarded words, those of a guest and what has a picture answer none.
    """
    if row.user_id != session.user_id or row.forwarded or row.attachments or row.queued or session.turn is None:
        return None
    now, turn = services.clock.now(), session.turn
    asked = services.store.questions.of(session.id, turn.id, fence=turn.fence) if session.questions else ()
    shown = [
        question
        for question in asked
        if question.free
        and question.state is QuestionState.OPEN
        and question.expires_at > now
        and question.shown_at is not None
        and question.shown_at <= row.said_at
    ]
    return min(shown, key=lambda question: (question.shown_at, question.shown_as), default=None)


def late_row(services: Services, session: Session, place: Place, answered: Sequence[Question], *, key: str) -> InboxRow:
    """Answers that the agent has not got, as a message of the user that comes after all others at the place."""
    text = "\n".join(f"To your question “{question.title}”: {question.answer}" for question in answered)
    event_id = f"{services.store.inbox.newest(place)}~{key}"
    return InboxRow(place, event_id, "", text, services.clock.now(), session.user_id)


def told(
    services: Services,
    session: Session,
    question: Question,
    otherwise: str = NO_LONGER_ASKED,
    *,
    said_at: int | None = None,
) -> str:
    """Why a question cannot be decided. An answer that came after its turn is sent on again."""
    current = services.store.questions.get(session.id, question.turn_id, question.fence, question.number)
    if current is None or (current.blocks and not _is_at_work(session, current)):
        return NO_LONGER_ASKED
    now = services.clock.now()
    match current.state:
        case QuestionState.ANSWERED:
            _wake(services, session, current)
            return f"Already answered: {current.answer or 'with your message'}."
        case QuestionState.DECLINED:
            return "This was skipped."
        case QuestionState.OPEN if current.expires_at > now:
            is_unseen = current.shown_at is None or (said_at is not None and current.shown_at > said_at)
            return NOT_ALL_SHOWN if is_unseen else otherwise
        case QuestionState.EXPIRED | QuestionState.OPEN:
            if not current.blocks and services.store.questions.expire(current, now=now):
                _show(services, current, "expired")
            return f"This was not answered in time, so it counts as {'skipped' if current.is_choice else 'refused'}."
    return NO_LONGER_ASKED


def _mark(
    services: Services, session: Session, fields: Sequence[str], index: int | None, count: int | None, *, on: bool
) -> str:
    """Mark an option or unmark it, if it was pressed as often as the button says: a repeated press changes nothing."""

    def mark() -> str:
        question = _named(services, session, fields)
        if question is None or index is None:
            return NO_LONGER_ASKED
        marks = question.marks_with(index)
        if marks[index] - 1 != count or on is question.is_marked(index):
            is_same = question.is_marked(index) is on and question.state is QuestionState.OPEN
            return "" if is_same else told(services, session, question, CHANGED)
        if not services.store.questions.mark(session, question, marks, now=services.clock.now()):
            current = _named(services, session, fields)
            if current is not None and current.revision != question.revision:
                raise Conflict("another option was marked at the same time")
            return told(services, session, question)
        _show(services, question, f"marked {sum(marks)}")
        return f"{'☑' if on else '☐'} {question.options[index].name}"

    return on_conflict(mark)


def _named(services: Services, session: Session, fields: Sequence[str]) -> Question | None:
    turn_id, *numbers = fields[:3]
    fence, number = [*map(number_in, numbers), None, None][:2]
    if fence is None or number is None:
        return None
    return services.store.questions.get(session.id, turn_id, fence, number)


def _index(question: Question, field: str) -> int | None:
    return number_in(field, most=len(question.options) - 1) if question.options else None


def _is_at_work(session: Session, question: Question) -> bool:
    turn = session.turn
    return turn is not None and turn.id == question.turn_id and turn.fence == question.fence


def _with(question: Question, given: Given) -> Question:
    return replace(question, chosen=given.options, option=None, words=given.words)


def _show(services: Services, question: Question, why: str) -> None:
    offer = services.store.turns.get(question.session_id, question.turn_id)
    if offer is not None:
        send_show(services, offer, why=f"{why} {question.fence} {question.number}")


def _wake(services: Services, session: Session, question: Question) -> None:
    """Let an answer that came after its turn reach the agent. Its process may have died before it sent this."""
    current = services.store.questions.get(session.id, question.turn_id, question.fence, question.number)
    row = services.store.inbox.get(session.owner, current.row) if current and current.row else None
    if row is not None and row.done_by is None:
        place = session.owner
        services.queue.send(InboxEvent(place, row.event_id), dedupe=f"said {place.route} {row.event_id}")
