"""Let a voice message become words, once for its row, while its row still waits for them."""

import logging
from pathlib import Path

from shared.domain.files import Spoken, Unread
from shared.errors import NotTranscribed, TooManyTurns
from shared.ports.transcriber import Recording
from shared.services import Services
from shared.store.inbox import InboxRow
from shared.use_cases.access import counted_turn
from shared.use_cases.files.wait_for_files import VOICE_LONGEST

log = logging.getLogger(__name__)
_LEAST_SECONDS = 0.5
_NOTHING = "no words were heard in it"


def transcribe(services: Services, row: InboxRow, name: str, recording: Recording) -> Spoken | Unread:
    """The words, or why there are none. It counts as a turn of its sender."""
    if services.transcriber is None:
        return Unread(name, "voice cannot be read here")
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
