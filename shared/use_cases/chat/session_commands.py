"""`/title`, `/retry` and `/close`: about the session that lives here."""

from dataclasses import replace

from shared.domain.commands import escaped
from shared.domain.files import Read, StoredFile, Unread, files_of, note_on_files
from shared.domain.messages import Message
from shared.domain.question_text import as_code
from shared.domain.sessions import MAX_TITLE, Session
from shared.errors import PlatformError, UnknownSession
from shared.ports.queue import InboxEvent
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.access import platform_of
from shared.use_cases.chat.close_earlier import close_earlier
from shared.use_cases.chat.executor_commands import NO_SESSION, own_session_at
from shared.use_cases.files.keep_file import is_readable
from shared.use_cases.offers import wake_place
from shared.use_cases.retry import on_conflict
from shared.use_cases.sessions.save_session import change_session

QUOTED = 120
LOOKED_THROUGH = 400
AGAIN = "again"


def set_title(services: Services, row: InboxRow, argument: str) -> str:
    """`/title WORDS`. Safe to repeat."""
    title = " ".join(argument.split())
    session = own_session_at(services, row)
    if session is None:
        return NO_SESSION
    if not title:
        return f"This session is **{session.shown_title}**. Send `/title` with another title to change that."
    if len(title) > MAX_TITLE:
        return f"A title has at most {MAX_TITLE} characters. Nothing was changed."
    try:
        change_session(services, row.user_id, session.id, {"title": title})
    except UnknownSession:
        return NO_SESSION
    return f"This session is **{title}** now."


def retry(services: Services, row: InboxRow, _: str) -> str:
    """`/retry`: the last words of the transcript as a message of their own, in the place's line. One row leads to one.

    Their files are those that the session has stored: none is fetched again.
    """
    session = own_session_at(services, row)
    if session is None:
        return NO_SESSION
    words, files = _last_words(services, session)
    if not words and not files:
        return "Nothing was said to the agent here yet."
    again = replace(
        row,
        event_id=f"{row.event_id}-{AGAIN}",
        text=escaped(words),
        done_by=None,
        files=(),
        read_for=session.id if files else None,
        read=tuple(_kept(services, session, file) for file in files) or None,
    )
    services.store.inbox.put(again)
    event = InboxEvent(again.place, again.event_id)
    services.queue.send(event, dedupe=f"said {again.place.route} {again.event_id}")
    shown = words if len(words) <= QUOTED else f"{words[: QUOTED - 1]}…"
    named = ", ".join(as_code(file.name) for file in files)
    return f"Said again: {' with '.join(filter(None, [f'“{shown}”' if shown else '', named]))}"


def close(services: Services, row: InboxRow, _: str) -> str:
    """`/close`: the session goes back to the terminal, then the thread is closed where the platform can. Safe to repeat."""

    def leave() -> Session | None:
        """The session in its terminal, also if an earlier try has moved it."""
        session_id = services.store.sessions.at(row.place)
        session = services.store.sessions.get(session_id) if session_id else None
        if session is None or session.user_id != row.user_id or session.owner not in (row.place, session.cli):
            return None
        if session.owner.is_cli:
            return session
        moved = services.store.moves.to_terminal(session, now=services.clock.now())
        if session.turn is not None:
            wake_place(services, row.place, session.id, why=f"closed {moved.epoch}")
        return moved

    left = close_earlier(services, row) if own_session_at(services, row) else ""
    moved = on_conflict(leave)
    if moved is None:
        return NO_SESSION
    return (
        f"**{moved.shown_title}** is back in your terminal, and saved. Send `/resume {moved.id}` to bring it here "
        f"again.{left}"
    )


def close_thread(services: Services, row: InboxRow) -> None:
    """After the answer of `/close` is posted: best effort, and harmless to repeat."""
    try:
        platform_of(services, row.place).close_thread(row.place)
    except PlatformError:
        return


def _last_words(services: Services, session: Session) -> tuple[str, list[StoredFile]]:
    """What the person said last, and its files, without the line that names them: no prompt of the service's own."""
    last = max(0, session.message_count - LOOKED_THROUGH)
    said = [message for message in services.store.transcripts.load(session.id, after=last) if _is_said(message)]
    last_said = said[-1] if said else {}
    content, files = last_said.get("content"), files_of(last_said)
    lines = content.split("\n") if isinstance(content, str) else []
    note = note_on_files(files)
    return "\n".join(line for line in lines if not files or line != note), files


def _kept(services: Services, session: Session, file: StoredFile) -> Read:
    """The file, if the session still has it: it is kept for a time."""
    item = services.store.files.get(session.id, file.id)
    if item is None or not is_readable(services, item):
        return Unread(file.name, "it is not kept any more; send it again")
    return file


def _is_said(message: Message) -> bool:
    return message.get("role") == "user" and not message.get("internal")
