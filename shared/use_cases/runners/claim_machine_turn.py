"""Claim a turn for a runner, and begin it."""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.domain.files import StoredFile
from shared.domain.handoffs import Handoff, Reason
from shared.domain.messages import Message, canonical
from shared.domain.offers import Offer
from shared.domain.questions import Question, QuestionState
from shared.domain.sessions import Session
from shared.errors import TurnEnded, TurnSuperseded, TurnTaken
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.offers import send_show
from shared.use_cases.recovery.give_up import end_turn, fail_kickoff, tell_interrupted
from shared.use_cases.retry import on_conflict
from shared.use_cases.row_messages import files_for_agent, text_for_agent
from shared.use_cases.runners.live_turn import TurnName, live_turn, offered_turn, refuse_over
from shared.use_cases.runners.register import own_runner
from shared.use_cases.turns.claim_turn import new_rows
from shared.use_cases.turns.execute_turn import kickoff_message
from shared.use_cases.unattended import end_sharing

MOST_UNSEEN = 256 * 1024
"""Bytes of messages that a claim returns; the runner fetches the rest."""


@dataclass(frozen=True)
class Word:
    """One input of the agent: a message of the user, or the prompt of a kickoff."""

    id: str
    text: str
    files: Sequence[StoredFile] = ()


def word_of(session: Session, row: InboxRow) -> Word:
    """A row as an input of the agent."""
    return Word(row.event_id, text_for_agent(session, row), files_for_agent(session, row))


@dataclass(frozen=True)
class MachineClaim:
    """A claimed turn. `unseen` is what was said without the user's own agent; more follows after `unseen_next`.

    `answers` are choices of the user that an interrupted run has not got.
    """

    session: Session
    offer: Offer
    words: Sequence[Word]
    unseen: Sequence[Message] = ()
    unseen_next: int | None = None
    handoff: Handoff | None = None
    answers: Sequence[Question] = ()


def claim_machine_turn(
    services: Services, name: TurnName, *, claim_id: str, previous_fence: int | None
) -> MachineClaim:
    """Claim a turn that was offered to this runner. The same `claim_id` gets the same answer, at the same fence.

    Nothing has begun yet. Raises TurnTaken, TurnEnded (also for a turn that cannot go on: it is over then), UnknownTurn.
    """
    claimed = on_conflict(lambda: _claim(services, name, claim_id, previous_fence))
    services.store.runners.seen(
        own_runner(services, name.user_id, name.runner_id), now=services.clock.now(), ran_turn=True
    )
    return claimed


def _claim(services: Services, name: TurnName, claim_id: str, previous_fence: int | None) -> MachineClaim:
    runner = own_runner(services, name.user_id, name.runner_id)
    session, offer = offered_turn(services, name)
    try:
        refuse_over(session, offer)
    except TurnEnded:
        services.store.runners.remove_pointer(name.user_id, name.runner_id, offer.id)
        raise
    turn, now = session.turn, services.clock.now()
    is_mine = session.runs_on is not None and session.runs_on.runner == name.runner_id
    if turn is None or not is_mine:
        raise TurnTaken(offer.id)
    is_repeat = turn.claim_id == claim_id
    may_claim = turn.may_be_claimed(now) or (previous_fence is not None and previous_fence == turn.fence)
    if not may_claim and not is_repeat:
        raise TurnTaken(offer.id)
    handoff = services.store.handoffs.get(offer.handoff_id) if offer.handoff_id else None
    rows = new_rows(services, offer)
    if not is_repeat:
        _refuse_hopeless(services, session, offer, rows, handoff)
        is_unattended = offer.runs_on is not None and offer.runs_on.agent in runner.unattended
        if is_unattended and session.shared:
            end_sharing(services, session, offer)
            raise TurnEnded(offer.id)
        session = services.store.machine_turns.claim(
            session,
            rows,
            runner,
            claim_id=claim_id,
            now=now,
            lease_until=now + services.settings.turn_lease,
            previous_fence=previous_fence,
            is_unattended=is_unattended,
        )
    words = _words(session, offer, rows, handoff)
    unseen, following = _unseen(services, session)
    answers = _earlier_answers(services, session, offer)
    return MachineClaim(session, offer, words, unseen, following, handoff, answers)


def _earlier_answers(services: Services, session: Session, offer: Offer) -> list[Question]:
    """Choices that were answered at an earlier fence, and that no agent has got. What is open there is closed.

    The process that asked is gone: its agent asks again. A permission is never passed on.
    """
    if session.turn is None or not session.questions:
        return []
    earlier = [one for one in services.store.questions.of(session.id, offer.id) if one.fence < session.turn.fence]
    for question in earlier:
        if services.store.questions.close(question):
            send_show(services, offer, why=f"closed {question.fence} {question.number}")
    return [one for one in earlier if one.is_choice and one.state is QuestionState.ANSWERED and not one.is_acknowledged]


def _refuse_hopeless(
    services: Services, session: Session, offer: Offer, rows: Sequence[InboxRow], handoff: Handoff | None
) -> None:
    """End a turn whose rows were closed, whose handoff has ended, or that was interrupted too often. Raises TurnEnded.

    One that was interrupted too often ends when its lease is over: TurnTaken before that.
    """
    if len(rows) < len(offer.rows) or (offer.handoff_id and (handoff is None or not handoff.is_open)):
        end_turn(services, session, offer)
        raise TurnEnded(offer.id)
    strikes = services.settings.strikes
    if session.turn is None or session.turn.begun < strikes:
        return
    if not session.turn.may_be_claimed(services.clock.now()):  # a restart may claim it, but not for one run more
        raise TurnTaken(offer.id)
    if handoff is not None:
        text = f"Your agent was interrupted {strikes} times. The session is where it was before."
        fail_kickoff(services, session, handoff, Reason("turn_failed", text))
    else:
        tell_interrupted(services, session, offer, rows, strikes)
    raise TurnEnded(offer.id)


def _words(session: Session, offer: Offer, rows: Sequence[InboxRow], handoff: Handoff | None) -> list[Word]:
    if handoff is not None:
        prompt = kickoff_message(session, handoff)
        return [Word(str(prompt["id"]), str(prompt["content"]))]
    given = offer.rows[: session.turn.words] if session.turn else ()  # rows that were added since are steered
    return [word_of(session, row) for row in rows if row.event_id in given]


def _unseen(services: Services, session: Session) -> tuple[list[Message], int | None]:
    """The messages that the user's own agent has not seen, cut to a size that one answer takes."""
    if session.native_seen >= session.message_count:
        return [], None
    found: list[Message] = []
    size = 0
    for message in services.store.transcripts.load(session.id, after=session.native_seen):
        size += len(canonical(message))
        if found and size > MOST_UNSEEN:
            return found, session.native_seen + len(found)
        found.append(message)
    return found, None


def begin_turn(services: Services, name: TurnName) -> None:
    """Count a run before the agent is prompted. Once per fence. Raises TurnEnded or TurnSuperseded."""

    def begin() -> None:
        session, offer = live_turn(services, name)
        if not services.store.machine_turns.begin(
            session, lease_until=services.clock.now() + services.settings.turn_lease
        ):
            raise TurnSuperseded(offer.id)

    on_conflict(begin)
