"""Let a voice message become words, once for its row, while its row still waits for them.

The user's machine goes first, if it answers here and its runner has a program for it: an order names the recording, which
is stored for some minutes, and the order's end lets the row be read once more. Else the service's own transcriber does it.
"""

import hashlib
import logging
from functools import partial
from pathlib import Path

from shared.domain.files import ChatFile, Spoken, StoredFile, Unread
from shared.domain.orders import TRANSCRIBE, Order, OrderState
from shared.domain.question_text import as_plain
from shared.domain.runners import Runner
from shared.domain.sessions import Session
from shared.errors import NotTranscribed, TooManyTurns
from shared.ports.transcriber import Recording, checked_words
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.access import counted_turn, id_for
from shared.use_cases.files.keep_file import keep_file
from shared.use_cases.files.wait_for_files import VOICE_LONGEST, shown_name
from shared.use_cases.offers import machine_for

log = logging.getLogger(__name__)
_LEAST_SECONDS = 0.5
_NOTHING = "no words were heard in it"
_CHUNK = 256 * 1024
_KEPT = 120_000
"""Milliseconds in which a machine may fetch a recording; then the sweep removes it."""
_LONGEST_REASON = 100
_ODD = "the transcriber's answer cannot be read"
_NOWHERE = "voice cannot be read here"
_AWAY = "the machine that transcribes is away"


def can_hear(services: Services, session: Session | None) -> bool:
    """Whether voice messages for this session become words."""
    return services.transcriber is not None or machine_with_ears(services, session) is not None


def machine_with_ears(services: Services, session: Session | None) -> Runner | None:
    """The machine that transcribes for a session, as its runner has said: the one that answers it."""
    runner = machine_for(services, session) if session is not None else None
    return runner if runner is not None and TRANSCRIBE in runner.orders else None


def heard(services: Services, session: Session, row: InboxRow, file: ChatFile) -> Spoken | Unread | Order | None:
    """What the user's machine has made of a voice message; its order while that is open, None if it was not asked."""
    runner = machine_with_ears(services, session)
    order = runner and services.store.orders.get(session.user_id, runner.id, _order_id(session, row, file))
    if not order or order.is_open:
        return order or None
    name = shown_name(file)
    if order.state is not OrderState.DONE or order.is_refused:
        reason = as_plain(" ".join(order.said.split())[:_LONGEST_REASON]).rstrip(".")
        return Unread(name, reason or "the machine that transcribes did not do it")
    words = checked_words(order.said)
    if words is None:
        return Unread(name, _ODD)
    return Spoken(words) if words else Unread(name, _NOTHING)


def hear(
    services: Services, session: Session, row: InboxRow, file: ChatFile, recording: Recording
) -> Spoken | Unread | Order:
    """The words of a recording, or why there are none; the order for them if the user's machine is asked.

    Safe to repeat: a voice message leads to one order. Raises FileTooLarge, FilesFull, FileMismatch, Conflict.
    """
    machine = machine_with_ears(services, session)
    if machine and machine.is_online(services.clock.now()):
        return _ask(services, session, row, file, _kept(services, session, file, recording))
    return _transcribe(services, row, shown_name(file), recording, _AWAY if machine else _NOWHERE)


def _kept(services: Services, session: Session, file: ChatFile, recording: Recording) -> StoredFile:
    with recording.path.open("rb") as content:
        stored = StoredFile(
            hashlib.file_digest(content, "sha256").hexdigest(),
            shown_name(file),
            recording.media_type,
            recording.path.stat().st_size,
        )
        content.seek(0)
        pieces = iter(partial(content.read, _CHUNK), b"")
        keep_file(services, session, stored, pieces, until=services.clock.now() + _KEPT)
    return stored


def _ask(services: Services, session: Session, row: InboxRow, file: ChatFile, stored: StoredFile) -> Order:
    runs_on = session.runs_on
    assert runs_on is not None  # noqa: S101 - it has a machine
    order = Order(
        _order_id(session, row, file),
        session.user_id,
        runs_on.runner,
        TRANSCRIBE,
        f"{stored.id}{ENDINGS.get(stored.media_type, '.ogg')}",
        row.place,
        row.event_id,
        services.clock.now(),
        session_id=session.id,
        epoch=session.epoch,
        agent=runs_on.agent,
        native_id=runs_on.native_id,
    )
    return services.store.orders.create(order, row, session)


def _order_id(session: Session, row: InboxRow, file: ChatFile) -> str:
    return id_for(session.user_id, f"voice\n{session.id}\n{row.place.route}\n{row.event_id}\n{file.reference}")


def _transcribe(services: Services, row: InboxRow, name: str, recording: Recording, without: str) -> Spoken | Unread:
    """The words from the service's own transcriber; `without` is why there are none if it has none.

    It counts as a turn of its sender.
    """
    if services.transcriber is None:
        return Unread(name, without)
    now = services.clock.now()
    seconds = (row.asked_at + VOICE_LONGEST - now) / 1000
    if seconds < _LEAST_SECONDS:
        return Unread(name, "it could not be read in time")
    try:
        services.store.usage.take_turn(row.user_id, f"voice-{counted_turn(row)}", now=now)
        words = services.transcriber.words(recording, seconds=seconds)
    except TooManyTurns:
        return Unread(name, "your turns of this hour are used up")
    except NotTranscribed as why:
        log.warning("a voice message was not transcribed: %s", why)
        return Unread(name, str(why))
    return Spoken(words) if words else Unread(name, _NOTHING)


def recording_at(path: Path, name: str, media_type: str) -> Recording:
    """A recording with an ending in its name, by which servers tell its format."""
    return Recording(path, name if "." in name else f"{name}{ENDINGS.get(media_type, '.ogg')}", media_type)


ENDINGS = {
    "audio/ogg": ".ogg",
    "audio/mpeg": ".mp3",
    "audio/mp4": ".m4a",
    "audio/x-m4a": ".m4a",
    "audio/aac": ".m4a",
    "audio/webm": ".webm",
    "audio/wav": ".wav",
    "audio/x-wav": ".wav",
    "audio/flac": ".flac",
}
