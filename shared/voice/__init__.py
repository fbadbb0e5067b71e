"""Transcribers: words of voice messages from a server, or from a program on the service's own machine."""

import shlex
from collections.abc import Mapping

from shared.ports.secrets import Secrets
from shared.ports.transcriber import Transcriber
from shared.settings import Settings
from shared.voice.command import CommandTranscriber
from shared.voice.openai import OpenAITranscriber

NONE = "Voice messages cannot be read: no transcriber is set up (docs/voice.md)."
COMMAND = "HANDOFF_VOICE_COMMAND"
"""Names the program, in words as a shell splits them."""


def server_of(settings: Settings, secrets: Secrets) -> Transcriber | None:
    """The server of the settings; None if there is none."""
    return OpenAITranscriber(settings.voice_url, settings.voice_model, secrets) if settings.voice_model else None


def transcriber_of(settings: Settings, secrets: Secrets, environ: Mapping[str, str]) -> Transcriber | None:
    """The same on one machine: a program there goes first, with this environment. Raises ValueError for open quotes."""
    command = shlex.split(environ.get(COMMAND, ""))
    return CommandTranscriber(command, environ) if command else server_of(settings, secrets)


def summary(transcriber: Transcriber | None, settings: Settings) -> str:
    """One sentence for doctor."""
    if isinstance(transcriber, CommandTranscriber):
        return "Voice messages are transcribed by a program on the machine of the service."
    if transcriber:
        return f"Voice messages are transcribed by {settings.voice_model}."
    return NONE
