"""Close what was said before a command that moves the session."""

from shared.services import Services
from shared.store.inbox import InboxRow

WAITING = 100


def close_earlier(services: Services, row: InboxRow) -> str:
    """Close messages of the sender before the command `row`; returns what to say about them. Safe to repeat."""
    waiting = services.store.inbox.new(row.place, limit=WAITING)
    earlier = [
        other
        for other in waiting
        if other.event_id < row.event_id and other.user_id == row.user_id and not other.command
    ]
    services.store.inbox.close(earlier, by="moved")
    return " What you said before it was not answered: send it again if it still matters." if earlier else ""
