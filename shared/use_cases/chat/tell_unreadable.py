"""Tell people at a place what of their messages cannot be read."""

import contextlib

from shared.domain.attachments import cannot_read
from shared.domain.routes import notices_at
from shared.errors import Rejected
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.deliver import say


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
