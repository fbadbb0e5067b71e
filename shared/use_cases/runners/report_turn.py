"""Take in a runner's report of a turn at work; the answer has the decisions and messages since."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.domain.offers import Offer
from shared.domain.progress import SHOW_EVERY, Progress, Summary
from shared.domain.questions import OPEN_FOR, Option, Question, QuestionState
from shared.domain.sessions import Session
from shared.errors import TurnSuperseded
from shared.services import Services
from shared.use_cases.offers import send_show
from shared.use_cases.questions import question_parts
from shared.use_cases.retry import on_conflict
from shared.use_cases.row_messages import text_for_agent
from shared.use_cases.runners.claim_machine_turn import Word
from shared.use_cases.runners.live_turn import TurnName, live_turn

AGAIN_EVERY = 30_000
"""Milliseconds after which an open question is looked at again: its message may not have been sent."""
DECIDED = (QuestionState.ANSWERED, QuestionState.EXPIRED)


@dataclass(frozen=True)
class Asked:
    """A question of the agent, with a number that is new at this fence."""

    number: int
    title: str
    options: Sequence[Option]
    detail: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Report:
    """A runner's report. `seq` grows with each report; `acknowledged` are ids that an earlier answer held."""

    seq: int
    said: str | None = None
    tool: str = ""
    summary: Summary | None = None
    asked: Sequence[Asked] = ()
    acknowledged: Sequence[str] = ()


@dataclass(frozen=True)
class ReportAnswer:
    """The answer to a report; it repeats what the runner has not acknowledged."""

    decided: Sequence[Question]
    steered: Sequence[Word]


def report_turn(services: Services, name: TurnName, report: Report) -> ReportAnswer:
    """Renew the lease, store the report and new questions. Safe to repeat. Raises TurnEnded or TurnSuperseded."""
    return on_conflict(lambda: _report(services, name, report))


def _report(services: Services, name: TurnName, report: Report) -> ReportAnswer:
    session, offer = live_turn(services, name)
    _renew(services, session, offer)
    services.store.machine_turns.acknowledge(offer, report.acknowledged)
    is_new_question = [_ask(services, session, offer, asked) for asked in report.asked]
    questions = _questions(services, session, offer, name.fence, report)
    if _note(services, offer, name.fence, report) or any(is_new_question):
        send_show(services, offer, why=f"{name.fence} {report.seq}")
    elif any(question.state is QuestionState.OPEN for question in questions):
        # What could not be posted is posted now; the queue drops the repeats of one half minute.
        send_show(services, offer, why=f"open {name.fence} {services.clock.now() // AGAIN_EVERY}")
    steered = _steered(services, session, offer, report)
    return ReportAnswer([question for question in questions if question.state in DECIDED], steered)


def _renew(services: Services, session: Session, offer: Offer) -> None:
    """A lease that was renewed a moment ago is left alone: a busy agent reports each second, and a renewal costs a write."""
    lease, now = services.settings.turn_lease, services.clock.now()
    if session.turn is not None and session.turn.lease_until - now > lease * 3 // 4:
        return
    if not services.store.turns.renew(session, lease_until=now + lease):
        raise TurnSuperseded(offer.id)


def _ask(services: Services, session: Session, offer: Offer, asked: Asked) -> bool:
    if not asked.options or session.turn is None:
        return False
    now = services.clock.now()
    question = Question(
        session.id,
        offer.id,
        session.turn.fence,
        asked.number,
        title=asked.title,
        options=asked.options,
        expires_at=now + OPEN_FOR,
        detail=asked.detail,
        kind=asked.kind,
    )
    parts = question_parts(services, offer.place, question)
    if not services.store.questions.ask(session, question, parts, now=now):
        raise TurnSuperseded(offer.id)
    return True


def _questions(services: Services, session: Session, offer: Offer, fence: int, report: Report) -> list[Question]:
    """The questions of this fence that the runner does not know the end of; those whose time is over expire."""
    now, known = services.clock.now(), set(report.acknowledged)
    questions = []
    for question in services.store.questions.of(session.id, offer.id, fence=fence):
        current = question
        if current.state is QuestionState.OPEN and current.expires_at <= now:
            if services.store.questions.expire(current, now=now):
                current = replace(current, state=QuestionState.EXPIRED)
                send_show(services, offer, why=f"expired {fence} {current.number}")
            else:
                current = services.store.questions.get(session.id, offer.id, fence, current.number) or current
        if f"q{current.number}" in known and current.state in DECIDED:
            services.store.questions.acknowledge(current)
        elif not current.is_acknowledged:
            questions.append(current)
    return questions


def _note(services: Services, offer: Offer, fence: int, report: Report) -> bool:
    """Store what the agent says and does, unless that was just done; True if it is to be shown."""
    if report.said is None and not report.tool:
        return False
    now, before = services.clock.now(), offer.progress
    if before is not None and before.fence == fence and now - before.at < SHOW_EVERY:
        return False
    progress = Progress(fence, report.seq, now, report.said or "", report.tool, report.summary or Summary())
    return services.store.turns.report(offer, progress)


def _steered(services: Services, session: Session, offer: Offer, report: Report) -> list[Word]:
    """Messages that the turn answers too and that the runner does not know of yet."""
    known = {*offer.acknowledged, *report.acknowledged}
    late = offer.rows[session.turn.words if session.turn else 0 :]
    found = [services.store.inbox.get(offer.place, event_id) for event_id in late if event_id not in known]
    return [
        Word(row.event_id, text_for_agent(session, row)) for row in found if row is not None and row.done_by is None
    ]
