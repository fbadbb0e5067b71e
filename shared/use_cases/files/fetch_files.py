"""Read the files of a message from its platform, and keep them with the session that answers it."""

import hashlib
import logging
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO

from shared.domain.attachments import VOICE
from shared.domain.files import ANY_TYPE, MOST_FILES, PICTURES, ChatFile, Read, StoredFile, Unread, safe_name, safe_type
from shared.domain.orders import Order
from shared.domain.sessions import Session
from shared.errors import Conflict, FilesFull, FileTooLarge, PlatformError, Rejected, RequestRefused
from shared.ports.metrics import Metric
from shared.ports.queue import Fetch, InboxEvent
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.access import platform_of
from shared.use_cases.files.keep_file import keep_file
from shared.use_cases.files.transcribe import ENDINGS, hear, heard, recording_at
from shared.use_cases.files.wait_for_files import shown_name

log = logging.getLogger(__name__)
DEADLINE = 45_000
"""Milliseconds for all files of a message."""
LEASE = 50_000
TRIES = 3
FIRST_PAUSE = 2.0
_CHUNK = 256 * 1024
_HEAD = 16
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
_HEADS = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


class _OutOfTime(Exception):
    """The platform sends too slowly."""


def fetch_files(services: Services, message: Fetch) -> None:
    """Read the files of a row that a session has asked for, and wake its place. Safe to run twice and at the same time.

    A platform that does not answer is asked again, a few times. What cannot be read gets its reason.
    """
    now = services.clock.now()
    row = services.store.inbox.get(message.place, message.event_id)
    session = services.store.sessions.get(message.session_id)
    if row is None or session is None or row.read_for != session.id or row.done_by is not None:
        return
    # Each order for words that ends lets this run once more.
    most = TRIES + sum(file.kind == VOICE for file in row.files)
    if not services.store.inbox.begin_read(row, now=now, until=now + LEASE, most=most):
        return
    found = [
        (file.kind == VOICE and heard(services, session, row, file))
        or _read(services, session, row, file, now + DEADLINE)
        for file in row.files[:MOST_FILES]
    ]
    read = [one for one in found if not isinstance(one, Order)]
    if orders := [one for one in found if isinstance(one, Order)]:
        services.store.inbox.end_read(row, None)
        # The end of an order lets this run again, but not while it runs: what has ended by now was not seen.
        if not all(_is_open(services, order) for order in orders):
            services.runs.send(message)
        return
    tries = row.tries + 1
    if None in read and tries < TRIES:
        services.store.inbox.end_read(row, None)
        services.runs.send(message, delay=FIRST_PAUSE * tries)
        return
    left = [Unread(shown_name(file), f"a message has at most {MOST_FILES} files") for file in row.files[MOST_FILES:]]
    gone = [
        one or Unread(shown_name(file), "the platform did not send it")
        for one, file in zip(read, row.files, strict=False)
    ]
    if services.store.inbox.end_read(row, [*gone, *left]) and None in read:
        services.metrics.put((Metric.FILES_UNREAD, read.count(None)), platform=row.place.platform)
    services.queue.send(
        InboxEvent(row.place, row.event_id), dedupe=f"read {row.place.route} {row.event_id} {session.id}"
    )


def _is_open(services: Services, order: Order) -> bool:
    now = services.store.orders.get(order.user_id, order.runner_id, order.id)
    return now is not None and now.is_open


def _read(services: Services, session: Session, row: InboxRow, file: ChatFile, deadline: int) -> Read | Order | None:
    """The stored file, or its words, or why there is none; an order for its words; None if another try may succeed."""
    limit = services.settings.file_bytes
    name = shown_name(file)
    if file.size is not None and file.size > limit:
        return Unread(name, _too_large(limit))
    try:
        content = platform_of(services, row.place).fetch_file(row.place, file, limit=limit)
        with tempfile.NamedTemporaryFile(suffix=_suffix(file)) as whole:
            is_late = partial(_is_late, services, deadline)
            digest, size, head = _spool(content, whole, limit=limit, is_late=is_late)
            media_type = _media_type(file, head)
            if file.kind == VOICE:
                whole.flush()
                recording = recording_at(Path(whole.name), file.name or "voice", media_type)
                return hear(services, session, row, file, recording)
            found = StoredFile(digest, _name(file, media_type), media_type, size)
            keep_file(services, session, found, _pieces(whole))
            return found
    except FileTooLarge:
        return Unread(name, _too_large(limit))
    except FilesFull as full:
        return Unread(name, f"your files take as much room as they may ({full.extra['limit'] // 1_000_000} MB)")
    except Rejected as rejected:
        services.metrics.put((Metric.FILES_UNREAD, 1), platform=row.place.platform)
        return Unread(name, str(rejected).rstrip(".") or "the platform refused it")
    except (PlatformError, RequestRefused, Conflict, _OutOfTime) as error:
        log.warning("%s: a file could not be read: %s", row.place.platform, type(error).__name__)
        return None


def _spool(
    content: Iterator[bytes], whole: IO[bytes], *, limit: int, is_late: Callable[[], bool]
) -> tuple[str, int, bytes]:
    """Write what comes; its digest, its size and how it begins. Raises FileTooLarge, _OutOfTime."""
    digest, size, head = hashlib.sha256(), 0, b""
    for chunk in content:
        size += len(chunk)
        if size > limit:
            raise FileTooLarge(limit)
        if is_late():
            raise _OutOfTime
        digest.update(chunk)
        whole.write(chunk)
        head = (head + chunk)[:_HEAD] if len(head) < _HEAD else head
    return digest.hexdigest(), size, head


def _is_late(services: Services, deadline: int) -> bool:
    return services.clock.now() > deadline


def _suffix(file: ChatFile) -> str:
    """An ending by which programs tell the format of a recording."""
    return ENDINGS.get(safe_type(file.media_type), ".ogg") if file.kind == VOICE else ""


def _name(file: ChatFile, media_type: str) -> str:
    return safe_name(file.name) if file.name else f"{file.kind}.{_ENDINGS.get(media_type, 'bin')}"


def _media_type(file: ChatFile, head: bytes) -> str:
    """The announced type; but what is called a picture must be one, because models refuse others."""
    announced = safe_type(file.media_type)
    is_webp = head[:4] == b"RIFF" and head[8:12] == b"WEBP"
    seen = "image/webp" if is_webp else next((kind for start, kind in _HEADS if head.startswith(start)), None)
    if seen and (announced in PICTURES or announced == ANY_TYPE):
        return seen
    return ANY_TYPE if announced in PICTURES else announced


def _pieces(whole: IO[bytes]) -> Iterator[bytes]:
    whole.seek(0)
    while piece := whole.read(_CHUNK):
        yield piece


def _too_large(limit: int) -> str:
    return f"it is larger than {limit // 1_000_000} MB"
