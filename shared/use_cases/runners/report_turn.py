"""Take in a runner's report of a turn at work; the answer has the decisions and messages since."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shared.domain.offers import Offer
from shared.domain.progress import SHOW_EVERY, Progress, Summary
from shared.domain.questions import DECIDED, OPEN_FOR, Option, Question, QuestionState
from shared.domain.sessions import Session
from shared.domain.usage import TurnUsage, day_of
from shared.errors import TurnEnded, TurnSuperseded
from shared.services import Services
from shared.use_cases.offers import send_show
from shared.use_cases.questions.show import TOO_LONG, postable_file, question_parts
from shared.use_cases.retry import on_conflict
from shared.use_cases.row_messages import text_for_agent
from shared.use_cases.runners.claim_machine_turn import Word, word_of
from shared.use_cases.runners.live_turn import TurnName, live_turn, offered_turn
from shared.use_cases.runners.send_file import Send, Sent, send_file

AGAIN_EVERY = 30_000
"""Milliseconds after which an open question is looked at again: its message may not have been sent."""


@dataclass(frozen=True)
class Asked:
    """A question of the agent, with a number that is new at this fence. `plan` is what it is about, in Markdown.

    `file` has the whole text of one that is too long: it is posted before the buttons, or nothing can be allowed.
    """

    number: int
    title: str
    options: Sequence[Option]
    detail: str = ""
    kind: str = ""
    reason: str = ""
    plan: str = ""
    several: bool = False
    free: bool = False
    blocks: bool = True
    file: str | None = None


@dataclass(frozen=True)
class Report:
    """A runner's report. `seq` grows with each report.

    `acknowledged` are ids of what has reached the agent: words that an earlier answer held, decisions, and answers of the
    claim. `given` and `waiting` count the words that came while it works. `tokens` are those of a turn that was stopped,
    once its agent has told them.
    """

    seq: int
    said: str | None = None
    tool: str = ""
    summary: Summary | None = None
    asked: Sequence[Asked] = ()
    acknowledged: Sequence[str] = ()
    given: int = 0
    waiting: int = 0
    sends: Sequence[Send] = ()
    tokens: int = 0


@dataclass(frozen=True)
class ReportAnswer:
    """The answer to a report; it repeats what the runner has not acknowledged. `sent` is about the files in the report.

    `texts` are the words of messages that have answered questions, by the number of the question.
    """

    decided: Sequence[Question]
    steered: Sequence[Word]
    texts: Mapping[int, str] = field(default_factory=dict)
    sent: Sequence[Sent] = ()


def report_turn(services: Services, name: TurnName, report: Report) -> ReportAnswer:
    """Renew the lease, store the report and new questions. Safe to repeat. Raises TurnEnded or TurnSuperseded.

    The tokens of a turn that was stopped are counted once, though it has ended.
    """
    return on_conflict(lambda: _report(services, name, report))


def _report(services: Services, name: TurnName, report: Report) -> ReportAnswer:
    try:
        session, offer = live_turn(services, name)
    except TurnEnded:
        _count_stopped(services, name, report)
        raise
    _renew(services, session, offer)
    for asked in report.asked:
        session = _ask(services, session, offer, asked)
    sent = [send_file(services, session, offer, send) for send in report.sends]
    known = services.store.questions.of(session.id, offer.id, fence=name.fence)
    # Before the questions: words that have answered one must not be given once more when it is gone.
    services.store.machine_turns.acknowledge(offer, [*report.acknowledged, *_rows_of_acknowledged(known, report)])
    _acknowledge_earlier(services, session, offer, report)
    questions = _questions(services, offer, known, report)
    if _note(services, offer, name.fence, report) or report.asked or any(one.is_new for one in sent):
        send_show(services, offer, why=f"{name.fence} {report.seq}")
    elif any(question.state is QuestionState.OPEN for question in questions) or any(
        one.state == "waiting" for one in sent
    ):
        # What could not be posted is posted now; the queue drops the repeats of one half minute.
        send_show(services, offer, why=f"open {name.fence} {services.clock.now() // AGAIN_EVERY}")
    steered = _steered(services, session, offer, report, answering={one.row for one in known})
    decided = [question for question in questions if question.state in DECIDED]
    return ReportAnswer(decided, steered, _texts(services, session, offer, decided), sent)


def _count_stopped(services: Services, name: TurnName, report: Report) -> None:
    """The cost needs no count: it is the agent's sum, and comes with its next result."""
    session, offer = offered_turn(services, name)
    if report.tokens:
        usage = session.usage.after(TurnUsage(report.tokens), day_of(services.clock.now()))
        services.store.machine_turns.count_stopped(session, offer, usage)


def _renew(services: Services, session: Session, offer: Offer) -> None:
    """A lease that was renewed a moment ago is left alone: a busy agent reports each second, and a renewal costs a write."""
    lease, now = services.settings.turn_lease, services.clock.now()
    if session.turn is not None and session.turn.lease_until - now > lease * 3 // 4:
        return
    if not services.store.turns.renew(session, lease_until=now + lease):
        raise TurnSuperseded(offer.id)


def _ask(services: Services, session: Session, offer: Offer, asked: Asked) -> Session:
    if session.turn is None or not (asked.options or asked.free):
        return session
    now = services.clock.now()
    file = postable_file(services, session, offer.place, asked.file)
    if asked.file and file is None:
        refusing = [option for option in asked.options if not option.kind.startswith("allow")]
        asked = replace(asked, options=refusing, reason=TOO_LONG)
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
        reason=asked.reason,
        shown_as=session.questions + 1,
        several=asked.several,
        free=asked.free,
        blocks=asked.blocks,
        epoch=session.epoch,
    )
    parts = question_parts(services, offer.place, question, plan=asked.plan, file=file)
    after = services.store.questions.ask(session, question, parts, now=now)
    if after is None:
        raise TurnSuperseded(offer.id)
    return after


def _rows_of_acknowledged(known: Sequence[Question], report: Report) -> list[str]:
    """The words that have answered a question, once the agent has the answer."""
    return [one.row for one in known if one.row and one.acknowledgement in report.acknowledged]


def _acknowledge_earlier(services: Services, session: Session, offer: Offer, report: Report) -> None:
    """Answers of an earlier claim that the agent has got with the first prompt of this one."""
    if any("@" in name for name in report.acknowledged):
        for question in services.store.questions.of(session.id, offer.id):
            if question.later_acknowledgement in report.acknowledged:
                services.store.questions.acknowledge(question)


def _questions(services: Services, offer: Offer, known: Sequence[Question], report: Report) -> list[Question]:
    """The questions that the runner does not know the end of; those whose time is over expire."""
    now, acknowledged = services.clock.now(), set(report.acknowledged)
    questions = []
    for question in known:
        current = question
        if current.state is QuestionState.OPEN and current.expires_at <= now:
            if services.store.questions.expire(current, now=now):
                current = replace(current, state=QuestionState.EXPIRED)
                send_show(services, offer, why=f"expired {current.fence} {current.number}")
            else:
                found = services.store.questions.get(offer.session_id, offer.id, current.fence, current.number)
                current = found or current
        if current.acknowledgement in acknowledged and current.state in DECIDED:
            services.store.questions.acknowledge(current)
        elif not current.is_acknowledged:
            questions.append(current)
    return questions


def _texts(services: Services, session: Session, offer: Offer, decided: Sequence[Question]) -> Mapping[int, str]:
    rows = {one.number: services.store.inbox.get(offer.place, one.row) for one in decided if one.row}
    return {number: text_for_agent(session, row) for number, row in rows.items() if row is not None}


def _note(services: Services, offer: Offer, fence: int, report: Report) -> bool:
    """Store what the agent says and does, unless that was just done; True if it is to be shown."""
    if report.said is None and not report.tool:
        return False
    now, before = services.clock.now(), offer.progress
    if before is not None and before.fence == fence and now - before.at < SHOW_EVERY:
        return False
    summary = report.summary or Summary()
    said, given, waiting = report.said or "", report.given, report.waiting
    progress = Progress(fence, report.seq, now, said, report.tool, summary, given=given, waiting=waiting)
    return services.store.turns.report(offer, progress)


def _steered(
    services: Services, session: Session, offer: Offer, report: Report, *, answering: Collection[str | None]
) -> list[Word]:
    """Messages that the turn answers too and that the agent has not got; those that answer a question come with that."""
    known = {*offer.acknowledged, *report.acknowledged, *answering}
    late = offer.rows[session.turn.words if session.turn else 0 :]
    found = [services.store.inbox.get(offer.place, event_id) for event_id in late if event_id not in known]
    return [word_of(session, row) for row in found if row is not None and row.done_by is None]
