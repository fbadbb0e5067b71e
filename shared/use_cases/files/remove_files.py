"""Remove files: those of a session that is deleted, and those whose time is over."""

from shared.domain.sessions import Session
from shared.ports.files import Files
from shared.services import Services
from shared.store.bundle import Store
from shared.store.files import UPLOAD_TIME, FileItem
from shared.use_cases.files.keep_file import is_there


def remove_files(store: Store, files: Files, session: Session, *, now: int) -> None:
    """Remove all files of a session. Safe to repeat: what a process that dies leaves, the sweep removes."""
    found = store.files.of(session.id)
    for item in found:
        store.files.leave(item, again_at=now)
    files.delete(f"{session.user_id}/{session.id}/")
    for item in found:
        store.files.remove(item)


def check_file(services: Services, item: FileItem) -> None:
    """Remove a file that is due; keep one whose bytes came after they were announced. Safe to run twice."""
    if not (item.is_stored or item.is_leaving) and is_there(services, item):
        return
    if services.store.files.leave(item, again_at=services.clock.now() + UPLOAD_TIME):
        services.files.delete(item.key)
        services.store.files.remove(item)
