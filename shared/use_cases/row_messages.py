"""Inbox rows as the session's agent gets them."""

from collections.abc import Sequence

from shared.domain.attachments import note_for_agent
from shared.domain.commands import unescaped
from shared.domain.messages import Message
from shared.domain.sessions import Session
from shared.domain.speakers import as_forwarded, as_said
from shared.store.inbox import InboxRow


def messages_of(session: Session, rows: Sequence[InboxRow]) -> list[Message]:
    """Rows as messages of a transcript."""
    return [
        {"role": "user", "content": text_for_agent(session, row), "id": f"{row.place.route}/{row.event_id}"}
        for row in rows
    ]


def text_for_agent(session: Session, row: InboxRow) -> str:
    """The text of a row, as the session's agent gets it: with marks on what is not the sender's, and what is missing."""
    pieces = (unescaped(row.text), as_forwarded(row.forwarded), note_for_agent(row.attachments))
    return as_said("\n".join(filter(None, pieces)), speaker=row.user_id, owner=session.user_id)
