"""Bring a session back to the terminal, or copy it there."""

from dataclasses import replace

from shared.domain.messages import Message, canonical
from shared.domain.sessions import MAX_TITLE, Session, new_session
from shared.errors import CopyUnfinished, FilesFull, Moved
from shared.ports.queue import Notice
from shared.services import Services
from shared.use_cases.access import id_for, own_session
from shared.use_cases.files.keep_file import copy_file
from shared.use_cases.offers import wake_place
from shared.use_cases.retry import on_conflict
from shared.use_cases.sessions.append_messages import upload
from shared.use_cases.sessions.save_session import delete_session

COPY_TIME = 8_000
"""Milliseconds for the files of one request: the function that serves it has 15 s."""
COPY_BATCH = 1024 * 1024
"""Bytes of a transcript that are copied in one transaction."""


def resume_session(services: Services, user_id: str, session_id: str, *, epoch: int) -> Session:
    """Owner = terminal, epoch + 1; a handoff in flight is cancelled. Raises Moved if the session has another epoch.

    A notice in the thread says that the session has left.
    """

    def resume() -> tuple[Session, Session]:
        session = own_session(services, user_id, session_id)
        if session.epoch != epoch:
            raise Moved(session)
        return session, services.store.moves.to_terminal(session, now=services.clock.now())

    left, resumed = on_conflict(resume)
    if not left.owner.is_cli:
        text = f"This session went back to the terminal. Send `/resume {session_id}` to bring it here again."
        services.queue.send(
            Notice(left.owner, f"resumed-{session_id}-{resumed.epoch}", text),
            dedupe=f"resumed {session_id} {resumed.epoch}",
        )
    if left.turn is not None:
        wake_place(services, left.owner, session_id, why=f"resumed {left.turn.id}")
    return resumed


def fork_session(services: Services, user_id: str, session_id: str, *, idempotency_key: str | None = None) -> Session:
    """A copy of a session, its files and its transcript, owned by the terminal; the original stays where it lives.

    The same key gives the same copy and continues an interrupted one. Raises StorageFull, FilesFull, or CopyUnfinished
    for more files than one request can copy.
    """
    now = services.clock.now()
    original = own_session(services, user_id, session_id)
    copy_id = id_for(user_id, f"copy {idempotency_key}") if idempotency_key else services.new_id()
    fresh = replace(
        new_session(copy_id, user_id, now=now),
        title=f"{original.shown_title} (copy)"[:MAX_TITLE],
        source=original.source,
        cwd=original.cwd,
        model=original.model,
    )
    copy = fresh if services.store.sessions.create(fresh) else own_session(services, user_id, copy_id)
    if copy.epoch > 0 or copy.message_count >= original.message_count:
        return copy
    if not copy.message_count:  # the words come last: with the first of them all files are there
        try:
            _copy_files(services, original, copy, until=now + COPY_TIME)
        except (CopyUnfinished, FilesFull) as refused:
            if isinstance(refused, FilesFull) or idempotency_key is None:  # no request would go on with it
                delete_session(services, user_id, copy_id)
            raise
    batch: list[Message] = []
    size = 0
    for message in services.store.transcripts.load(session_id, after=copy.message_count):
        batch.append(message)
        size += len(canonical(message))
        if size > COPY_BATCH:
            copy = upload(services, copy, batch)
            batch, size = [], 0
    return upload(services, copy, batch) if batch else copy


def _copy_files(services: Services, original: Session, copy: Session, *, until: int) -> None:
    """Raises FilesFull or CopyUnfinished."""
    copied = {item.file.id for item in services.store.files.of(copy.id) if item.is_stored}
    files = [item for item in services.store.files.of(original.id) if item.file.id not in copied]
    for number, item in enumerate(files):
        if services.clock.now() > until:
            raise CopyUnfinished(len(files) - number)
        copy_file(services, item, copy)
