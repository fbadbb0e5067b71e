"""Inbox rows as the session's agent gets them."""

from collections.abc import Sequence

from shared.domain.attachments import note_for_agent
from shared.domain.commands import unescaped
from shared.domain.files import Read, StoredFile, note_on_files
from shared.domain.messages import Message
from shared.domain.sessions import Session
from shared.domain.speakers import as_forwarded, as_said
from shared.store.inbox import InboxRow


def messages_of(session: Session, rows: Sequence[InboxRow]) -> list[Message]:
    """Rows as messages of a transcript."""
    return [_message_of(session, row) for row in rows]


def _message_of(session: Session, row: InboxRow) -> Message:
    files = [file.value() for file in files_for_agent(session, row)]
    message = {"role": "user", "content": text_for_agent(session, row), "id": f"{row.place.route}/{row.event_id}"}
    return {**message, "files": files} if files else message


def files_for_agent(session: Session, row: InboxRow) -> list[StoredFile]:
    """The files of a row that the session has."""
    return [file for file in _read(session, row) if isinstance(file, StoredFile)]


def text_for_agent(session: Session, row: InboxRow) -> str:
    """The text of a row, as the session's agent gets it.

    With marks on what is not the sender's, and with lines on its files and on what is missing.
    """
    notes = (note_on_files(_read(session, row)), note_for_agent(row.attachments))
    pieces = (unescaped(row.text), as_forwarded(row.forwarded), *notes)
    return as_said("\n".join(filter(None, pieces)), speaker=row.user_id, owner=session.user_id)


def _read(session: Session, row: InboxRow) -> Sequence[Read]:
    return row.read if row.read is not None and row.read_for == session.id else ()
