"""Try a transcriber with a second of silence."""

import tempfile
import wave
from pathlib import Path

from shared.errors import NotTranscribed
from shared.ports.transcriber import Recording, Transcriber

_RATE = 16_000


def why_not_working(transcriber: Transcriber, *, seconds: float) -> str | None:
    """Why it does not work; None if it answers, with whatever words."""
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        with wave.open(file, "wb") as silence:
            silence.setnchannels(1)
            silence.setsampwidth(2)
            silence.setframerate(_RATE)
            silence.writeframes(bytes(2 * _RATE))
        file.flush()
        try:
            transcriber.words(Recording(Path(file.name), "silence.wav", "audio/wav"), seconds=seconds)
        except NotTranscribed as why:
            return str(why)
    return None
