"""Read files of sessions."""

from collections.abc import Iterator

from shared.domain.files import StoredFile
from shared.domain.sessions import Session
from shared.errors import FileMissing, UnknownFile
from shared.services import Services
from shared.store.files import FileItem, bytes_key
from shared.use_cases.access import own_session
from shared.use_cases.files.keep_file import is_readable


def find_file(services: Services, user_id: str, session_id: str, file_id: str) -> FileItem:
    """A file of a user's session whose bytes are there. Raises UnknownSession, UnknownFile."""
    own_session(services, user_id, session_id)
    item = services.store.files.get(session_id, file_id)
    if item is None or item.user_id != user_id or not is_readable(services, item):
        raise UnknownFile
    return item


def bytes_of(services: Services, item: FileItem) -> Iterator[bytes]:
    """The bytes of a file. Raises UnknownFile before the first of them if they are gone."""
    try:
        return services.files.get(item.key)
    except FileMissing:
        raise UnknownFile from None


def bytes_for_agent(services: Services, session: Session, file: StoredFile) -> bytes | None:
    """The whole of a small file for the deployment's agent; None if it is gone."""
    try:
        return b"".join(services.files.get(bytes_key(session.user_id, session.id, file.id)))
    except FileMissing:
        return None
