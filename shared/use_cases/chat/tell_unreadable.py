"""Tell people at a place what of their messages cannot be read."""

import contextlib
from collections.abc import Sequence

from shared.domain.attachments import VOICE, Attachment, cannot_read, counted
from shared.domain.files import ChatFile
from shared.domain.routes import notices_at
from shared.errors import Rejected
from shared.ports.inbound import Inbound
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.access import session_at
from shared.use_cases.deliver import say
from shared.use_cases.files.transcribe import can_hear


def readable_files(services: Services, inbound: Inbound) -> tuple[ChatFile, ...]:
    """The files of a message that the agent can be given, a voice message as words."""
    if all(file.kind != VOICE for file in inbound.files) or can_hear(services, session_at(services, inbound.place)):
        return inbound.files
    return tuple(file for file in inbound.files if file.kind != VOICE)


def unreadable_of(inbound: Inbound, readable: Sequence[ChatFile]) -> tuple[Attachment, ...]:
    """What else a message carries."""
    return (*inbound.attachments, *counted(file.kind for file in inbound.files if file not in readable))


def tell_unreadable(services: Services, row: InboxRow) -> None:
    """Say what cannot be read of a row: one line for a message or an album, and one a minute at a place.

    Safe to repeat: the line of a message is posted once, however often this runs. Raises NotYet.
    """
    place = row.place
    subject = f"album {row.album}" if row.album else row.event_id
    key = f"unread-{place.route}-{subject}"
    is_begun = bool(services.store.outbox.journal(notices_at(place), key))
    if is_begun or services.store.inbox.take_unreadable(place, subject, now=services.clock.now()):
        with contextlib.suppress(Rejected):
            say(services, place, cannot_read(row.attachments, has_text=not row.is_unreadable), key=key)
