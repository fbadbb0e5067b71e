"""Notify the chat that a session left, or was about to leave, of the end of its handoff."""

from shared.domain.handoffs import Handoff
from shared.ports.queue import InboxEvent, Notice
from shared.services import Services
from shared.use_cases.offers import wake_place


def tell_origin(services: Services, handoff: Handoff) -> None:
    """For every end of a handoff, right after it; one that a terminal asked for is told there. Safe to repeat.

    The command that asked for it tells the chat, and looks by itself from time to time: this only saves the wait.
    """
    if handoff.command is not None:
        message = InboxEvent(handoff.command_place, handoff.command)
        services.queue.send(message, dedupe=f"ended {handoff.id}", line=f"ended {handoff.id}")
        return
    if handoff.origin.is_cli:
        return
    wake_place(services, handoff.origin, handoff.session_id, why=f"ended {handoff.id}")


def say_moved(services: Services, handoff: Handoff) -> None:
    """Leave a link in the chat that a completed handoff has moved its session from, if a terminal asked for it."""
    if handoff.origin.is_cli or handoff.command is not None:
        return
    notice = Notice(handoff.origin, f"left-{handoff.id}", moved_text(handoff))
    services.queue.send(notice, dedupe=f"left {handoff.id}", line=f"ended {handoff.id}")


def moved_text(handoff: Handoff) -> str:
    """The notice of a completed handoff in the old chat."""
    where = f": {handoff.thread.url}" if handoff.thread and handoff.thread.url else "."
    return (
        f"This session moved to {handoff.platform}{where}\n"
        f"Continue there, or send `/resume {handoff.session_id}` to bring it back here."
    )
