"""Show a turn at work: one progress message that is edited, and its questions; at its end both are closed."""

import contextlib
import logging
from dataclasses import replace

from shared.domain.offers import Offer
from shared.domain.progress import Progress, Summary
from shared.domain.questions import DECIDED, Question, QuestionState
from shared.domain.sessions import Session
from shared.errors import NotYet, PlatformError, Rejected
from shared.ports.platforms import Platform
from shared.ports.queue import Show
from shared.services import Services
from shared.store.outbox import OutPart
from shared.use_cases.access import platform_of
from shared.use_cases.deliver import deliver, deliver_files, say
from shared.use_cases.questions.show import decline_unsent, note_shown, rendered

log = logging.getLogger(__name__)


def show_turn(services: Services, message: Show, *, until: int) -> None:
    """Best effort but for questions and files: a turn that is over is left to its settling. Raises NotYet for these."""
    offer = services.store.turns.get(message.session_id, message.turn_id)
    if offer is None:
        return
    if not _is_alive(services, offer):
        _close_late(services, offer)
        return
    platform = platform_of(services, offer.place)
    for question in services.store.questions.of(offer.session_id, offer.id):
        if question.state is QuestionState.OPEN:
            try:
                deliver(services, offer.session_id, question.journal, until=until)
            except Rejected:
                if not decline_unsent(services, question):
                    raise
            decline_unsent(services, question)
            note_shown(services, question)
            _show_marks(services, platform, offer, question)
        elif not question.is_shown_closed:
            _show_closed(services, platform, offer, question)
    deliver_files(services, offer, until=until)
    _show_progress(services, platform, offer)
    if not _is_alive(services, offer):  # it ended meanwhile, and its settling may have come before the last edit
        _shrink(services, platform, services.store.turns.get(offer.session_id, offer.id) or offer)


def close_turn(services: Services, offer: Offer) -> None:
    """Shrink the progress message of a turn that is over to one line, and close its questions. Best effort.

    A question that did not block stays open after an answer of the agent, if it was shown and the session has not moved.
    """
    if offer.place.is_cli or (offer.progress is None and offer.runs_on is None):
        return
    try:
        platform = platform_of(services, offer.place)
    except Rejected:
        return
    session = services.store.sessions.get(offer.session_id)
    for question in services.store.questions.of(offer.session_id, offer.id):
        if _stays_open(services, session, offer, question):
            continue
        services.store.questions.close(question)
        if not question.is_shown_closed:
            current = services.store.questions.get(
                question.session_id, question.turn_id, question.fence, question.number
            )
            _show_closed(services, platform, offer, current or question)
        services.store.questions.acknowledge(question)  # its runner has stopped
    # Read again: it may have been committed after it was read.
    _shrink(services, platform, services.store.turns.get(offer.session_id, offer.id) or offer)


def _stays_open(services: Services, session: Session | None, offer: Offer, question: Question) -> bool:
    if question.blocks or question.state is not QuestionState.OPEN or offer.result is None or session is None:
        return False
    note_shown(services, question)
    current = services.store.questions.get(question.session_id, question.turn_id, question.fence, question.number)
    is_shown = current is not None and current.shown_at is not None
    is_in_time = question.expires_at > services.clock.now()
    return is_shown and is_in_time and (session.epoch, session.owner) == (question.epoch, offer.place)


def _close_late(services: Services, offer: Offer) -> None:
    """Show how questions ended that were answered after their turn, or what is marked of them."""
    late = [one for one in services.store.questions.of(offer.session_id, offer.id) if not one.blocks]
    if not late or not offer.is_settled:
        return
    platform = platform_of(services, offer.place)
    for question in late:
        if question.state is QuestionState.OPEN:
            _show_marks(services, platform, offer, question)
        elif question.state in DECIDED:
            _show_closed(services, platform, offer, question)
            services.store.questions.acknowledge(question)


def _show_marks(services: Services, platform: Platform, offer: Offer, question: Question) -> None:
    """Show what is marked of a question that takes several options. Best effort."""
    parts = services.store.outbox.journal(offer.session_id, question.journal) if question.revision else ()
    message_id = parts[-1].message_id if parts else None
    try:
        if message_id is not None and platform.capabilities.edits:
            platform.edit(offer.place, message_id, rendered(platform, question)[-1])
    except PlatformError as trouble:
        log.info("session %s: marks are not shown (%s)", offer.session_id, type(trouble).__name__)


def _is_alive(services: Services, offer: Offer) -> bool:
    session = services.store.sessions.get(offer.session_id)
    return session is not None and session.turn is not None and session.turn.id == offer.id


def _show_progress(services: Services, platform: Platform, offer: Offer) -> None:
    """Post the progress message once, through the outbox; then edit it."""
    if offer.progress is None:
        return
    progress = replace(offer.progress, waiting=offer.progress.waiting + len(offer.waiting))
    if not platform.capabilities.edits:
        _say_waiting(services, offer, progress)
        return
    first, *_ = platform.render(progress.markdown)
    try:
        if not services.store.outbox.journal(offer.session_id, offer.progress_journal):
            part = OutPart(offer.session_id, offer.progress_journal, 0, offer.place, first)
            services.store.outbox.post([part], now=services.clock.now())
            deliver(services, offer.session_id, offer.progress_journal)
            return
        if message_id := _message_of(services, offer, offer.progress_journal):
            platform.edit(offer.place, message_id, first)
    except (PlatformError, NotYet) as trouble:
        log.info("session %s: progress is not shown (%s)", offer.session_id, type(trouble).__name__)


def _say_waiting(services: Services, offer: Offer, progress: Progress) -> None:
    """Where no message can be edited, say once in a turn that messages wait."""
    if progress.waiting:
        with contextlib.suppress(PlatformError, NotYet):
            say(services, offer.place, "Your message waits until this answer is done.", key=f"waits-{offer.id}")


def _show_closed(services: Services, platform: Platform, offer: Offer, question: Question) -> None:
    """Show below the question how it ended, in place of its buttons.

    Where no message can be edited, say so if the user has not been answered: for words, and for time that is over.
    """
    parts = services.store.outbox.journal(offer.session_id, question.journal)
    message_id = parts[-1].message_id if parts else None
    try:
        if message_id is not None and platform.capabilities.edits:
            platform.edit(offer.place, message_id, rendered(platform, question)[-1])
        elif question.is_choice and (question.row or question.state is QuestionState.EXPIRED):
            said = f"{question.named}\n{question.outcome}"
            say(services, offer.place, said, key=f"closed-{question.journal}")
    except (PlatformError, NotYet) as trouble:
        log.info("session %s: a question is not shown as closed (%s)", offer.session_id, type(trouble).__name__)
        return
    services.store.questions.shown_closed(question)


def _shrink(services: Services, platform: Platform, offer: Offer) -> None:
    message_id = _message_of(services, offer, offer.progress_journal)
    if message_id is None or not platform.capabilities.edits:
        return
    summary = (offer.result.summary if offer.result else None) or (
        offer.progress.summary if offer.progress else Summary()
    )
    done = summary.line if summary.steps or summary.files else f"Answered in {summary.line}."
    first, *_ = platform.render(done if _is_answered(services, offer) else f"Stopped after {summary.line}.")
    try:
        platform.edit(offer.place, message_id, first)
    except PlatformError as trouble:
        log.info("session %s: progress is not closed (%s)", offer.session_id, type(trouble).__name__)


def _is_answered(services: Services, offer: Offer) -> bool:
    """Whether a reply was committed. The deployment's agent leaves no result, but its reply is in the outbox."""
    if offer.runs_on is not None:
        return offer.result is not None
    return bool(services.store.outbox.journal(offer.session_id, offer.journal))


def _message_of(services: Services, offer: Offer, journal: str) -> str | None:
    parts = services.store.outbox.journal(offer.session_id, journal)
    return parts[0].message_id if parts else None
