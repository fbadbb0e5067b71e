"""Commands that decide what the user's own agent asks: `/approve`, `/deny`, `/answer`, `/skip`."""

import re

from shared.domain.questions import Given, Question
from shared.domain.sessions import Session
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.chat.executor_commands import NO_SESSION, own_session_at
from shared.use_cases.questions.decide import answer, open_questions, skip, told
from shared.use_cases.questions.show import note_shown

CLOCKS_DIFFER = 1000
"""Milliseconds by which the time of a platform may be behind ours. Some count in seconds."""
MAX_WORDS = 4000


def approve(services: Services, row: InboxRow, number: str) -> str:
    """`/approve N`: allow it once."""
    return _decide(services, row, number, allow=True)


def deny(services: Services, row: InboxRow, number: str) -> str:
    """`/deny N`: refuse it."""
    return _decide(services, row, number, allow=False)


def answer_question(services: Services, row: InboxRow, argument: str) -> str:
    """`/answer N 2`, `/answer N 1 3` or `/answer N words`."""
    number, _, rest = argument.strip().partition(" ")
    session = own_session_at(services, row)
    if session is None:
        return NO_SESSION
    asked = open_questions(services, session)
    question = _named(asked, number, row.said_at) if number else None
    if question is None:
        return _over(services, session, number) or _which(asked, number)
    if not question.is_choice:
        return _permission(question)
    given = _given(question, rest.strip())
    return given if isinstance(given, str) else _answered(services, session, row, question, given)


def skip_question(services: Services, row: InboxRow, number: str) -> str:
    """`/skip N`: the agent goes on without an answer."""
    session = own_session_at(services, row)
    if session is None:
        return NO_SESSION
    asked = [question for question in open_questions(services, session) if number or question.is_choice]
    question = _named(asked, number, row.said_at)
    if question is None:
        return _over(services, session, number) or _which(asked, number)
    if not question.is_choice:
        return _permission(question)
    return f"{question.named}\n{skip(services, session, question)}"


def _permission(question: Question) -> str:
    return f"This asks for a permission: send `/approve {question.shown_as}` or `/deny {question.shown_as}`."


def _given(question: Question, text: str) -> Given | str:
    """The answer that the words after the number mean, or what is wrong with them."""
    most, usage = len(question.options), f"Send `/answer {question.shown_as}` and your answer."
    if re.fullmatch(r"[0-9]{1,3}(?:[ ,]+[0-9]{1,3})*", text) and most:
        numbers = list(dict.fromkeys(int(number) for number in re.findall(r"[0-9]+", text)))
        if not all(1 <= number <= most for number in numbers):
            return f"It has the options 1 to {most}."
        if len(numbers) > 1 and not question.several:
            return "Only one of its options can be chosen."
        return Given(tuple(question.options[number - 1].id for number in numbers))
    if not text or not question.free:
        return f"{usage} It has the options 1 to {most}." if most else usage
    return Given(words=text) if len(text) <= MAX_WORDS else f"An answer has at most {MAX_WORDS} characters."


def _answered(services: Services, session: Session, row: InboxRow, question: Question, given: Given) -> str:
    note_shown(services, question)
    said = answer(services, session, question, given, said_at=row.said_at + CLOCKS_DIFFER)
    return f"{question.named}\n{said}"


def _decide(services: Services, row: InboxRow, number: str, *, allow: bool) -> str:
    session = own_session_at(services, row)
    if session is None:
        return NO_SESSION
    asked = [question for question in open_questions(services, session) if number or not question.is_choice]
    question = _named(asked, number, row.said_at)
    if question is None:
        return _over(services, session, number) or _which(asked, number)
    option = question.option_for(allow=allow)
    if question.is_choice:
        return f"This asks for a choice: send `/answer {question.shown_as}` and your answer, or `/skip {question.shown_as}`."
    if option is None:
        return question.reason or "The agent offers no such answer. Use the buttons of the question."
    said_at = row.said_at
    if number.strip():  # no other question ever has it
        note_shown(services, question)
        said_at += CLOCKS_DIFFER
    said = answer(services, session, question, Given((option.id,)), said_at=said_at)
    return f"{question.named}\n{said}"


def _named(asked: list[Question], number: str, said_at: int) -> Question | None:
    """The question with this number; without a number, the only one that the user had seen."""
    wanted = number.strip().lstrip("#")
    if not wanted:
        seen = [question for question in asked if question.shown_at is not None and question.shown_at <= said_at]
        return seen[0] if len(seen) == 1 else None
    return next((question for question in asked if str(question.shown_as) == wanted), None)


def _over(services: Services, session: Session, number: str) -> str:
    """How the question with this number ended; empty if it is not known. A first run of the command may have died."""
    wanted = number.strip().lstrip("#")
    known = [one for one in services.store.questions.all(session.id) if str(one.shown_as) == wanted]
    return f"{known[0].named}\n{told(services, session, known[0])}" if known else ""


def _which(asked: list[Question], number: str) -> str:
    if not asked:
        return "Nothing is asked right now."
    listed = "\n".join(f"- {question.named}" for question in asked)
    return f"{'No such question is open' if number.strip() else 'Say which one'}. Open questions:\n{listed}"
