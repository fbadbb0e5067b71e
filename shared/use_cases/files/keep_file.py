"""Store files of sessions: announced by a client that uploads them, or read by the service itself."""

import contextlib
from collections.abc import Iterable

from shared.domain.files import StoredFile
from shared.domain.sessions import Session
from shared.errors import FileMismatch, FileMissing, FileTooLarge
from shared.ports.files import Upload
from shared.services import Services
from shared.store.files import FileItem
from shared.use_cases.access import own_session
from shared.use_cases.retry import on_conflict

DAY = 86_400_000


def announce_file(services: Services, user_id: str, session_id: str, file: StoredFile) -> Upload | None:
    """Count a file of a user's session, and say how to upload its bytes; None if the session has them. Safe to repeat.

    A digest is known only within its session. Raises UnknownSession, FileTooLarge, FilesFull, FileMismatch for a size
    that an earlier file with this digest does not have.
    """
    return announced(services, own_session(services, user_id, session_id), file)


def announced(services: Services, session: Session, file: StoredFile) -> Upload | None:
    """As `announce_file`, for a session whose caller is known."""
    item = _expected(services, session, file)
    if is_there(services, item):
        return None
    now = services.clock.now()
    return services.files.upload(item.key, size=file.size, media_type=file.media_type, now=now)


def keep_file(
    services: Services, session: Session, file: StoredFile, content: Iterable[bytes], *, until: int | None = None
) -> None:
    """Store a file that the service has read, as long as all files or `until` then. Safe to repeat.

    Raises FileTooLarge, FilesFull, FileMismatch.
    """
    item = _expected(services, session, file)
    if not item.is_stored:
        services.files.put(item.key, content, size=file.size, media_type=file.media_type)
        _stored(services, item, until=until or _end(services))


def copy_file(services: Services, item: FileItem, copy: Session) -> None:
    """Give the copy of a session its own bytes of a file, until the time of the original is over. Safe to repeat.

    Raises FilesFull.
    """
    if not is_there(services, item):
        return
    target = on_conflict(lambda: services.store.files.expect(copy, item.file, now=services.clock.now()))
    if not target.is_stored:
        with contextlib.suppress(FileMissing):  # removed a moment ago: the sweep forgets that it was expected
            services.files.copy(item.key, target.key)
            _stored(services, target, until=item.due_at if item.is_stored else _end(services))


def is_there(services: Services, item: FileItem) -> bool:
    """Whether the bytes of a file have come. Notes it the first time."""
    if not is_readable(services, item):
        return False
    if not item.is_stored:
        services.store.files.stored(item, until=_end(services))
    return True


def is_readable(services: Services, item: FileItem) -> bool:
    """Whether the bytes of a file can be read. Writes nothing."""
    return not item.is_leaving and (item.is_stored or services.files.size(item.key) == item.file.size)


def _stored(services: Services, item: FileItem, *, until: int) -> None:
    """Note that the bytes were stored. They go if the session was deleted while they were: nothing else would know of them."""
    if not services.store.files.stored(item, until=until) and not services.store.files.get(
        item.session_id, item.file.id
    ):
        services.files.delete(item.key)


def _expected(services: Services, session: Session, file: StoredFile) -> FileItem:
    if file.size > services.settings.file_bytes:
        raise FileTooLarge(services.settings.file_bytes)
    item = on_conflict(lambda: services.store.files.expect(session, file, now=services.clock.now()))
    if item.file.size != file.size:
        raise FileMismatch
    return item


def _end(services: Services) -> int:
    return services.clock.now() + services.settings.file_days * DAY
