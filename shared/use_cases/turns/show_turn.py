"""Show a turn at work: one progress message that is edited, and its questions; at its end both are closed."""

import logging

from shared.domain.offers import Offer
from shared.domain.progress import Summary
from shared.domain.questions import Question, QuestionState
from shared.errors import NotYet, PlatformError, Rejected
from shared.ports.platforms import Platform
from shared.ports.queue import Show
from shared.services import Services
from shared.store.outbox import OutPart
from shared.use_cases.access import platform_of
from shared.use_cases.deliver import deliver

log = logging.getLogger(__name__)


def show_turn(services: Services, message: Show, *, until: int) -> None:
    """Best effort but for questions: a turn that is over is left to its settling. Raises NotYet for questions."""
    offer = services.store.turns.get(message.session_id, message.turn_id)
    if offer is None or not _is_alive(services, offer):
        return
    platform = platform_of(services, offer.place)
    for question in services.store.questions.of(offer.session_id, offer.id):
        if question.state is QuestionState.OPEN:
            deliver(services, offer.session_id, question.journal, until=until)
        elif not question.is_shown_closed:
            _show_closed(services, platform, offer, question)
    _show_progress(services, platform, offer)
    if not _is_alive(services, offer):  # it ended meanwhile, and its settling may have come before the last edit
        _shrink(services, platform, services.store.turns.get(offer.session_id, offer.id) or offer)


def close_turn(services: Services, offer: Offer) -> None:
    """Shrink the progress message of a turn that is over to one line, and close its questions. Best effort."""
    if offer.place.is_cli or (offer.progress is None and offer.runs_on is None):
        return
    try:
        platform = platform_of(services, offer.place)
    except Rejected:
        return
    for question in services.store.questions.of(offer.session_id, offer.id):
        services.store.questions.close(question)
        if not question.is_shown_closed:
            current = services.store.questions.get(
                question.session_id, question.turn_id, question.fence, question.number
            )
            _show_closed(services, platform, offer, current or question)
        services.store.questions.acknowledge(question)  # its runner has stopped
    # Read again: it may have been committed after it was read.
    _shrink(services, platform, services.store.turns.get(offer.session_id, offer.id) or offer)


def _is_alive(services: Services, offer: Offer) -> bool:
    session = services.store.sessions.get(offer.session_id)
    return session is not None and session.turn is not None and session.turn.id == offer.id


def _show_progress(services: Services, platform: Platform, offer: Offer) -> None:
    """Post the progress message once, through the outbox; then edit it."""
    if offer.progress is None or not platform.capabilities.edits:
        return
    first, *_ = platform.render(offer.progress.markdown)
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


def _show_closed(services: Services, platform: Platform, offer: Offer, question: Question) -> None:
    """Show how a question ended, and remove its buttons."""
    message_id = _message_of(services, offer, question.journal)
    try:
        if message_id is not None and platform.capabilities.edits:
            first, *_ = platform.render(question.outcome)
            platform.edit(offer.place, message_id, first)
    except PlatformError as trouble:
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
