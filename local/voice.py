"""The question of `handoff setup` about voice messages: what turns them into words, if anything."""

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from local.chats.set_up import TRIES, Person
from shared.domain.orders import WORDS_WITHIN
from shared.ports.transcriber import Transcriber
from shared.use_cases.files.try_transcriber import why_not_working
from shared.voice import COMMAND
from shared.voice.command import CommandTranscriber
from shared.voice.openai import KEY, OpenAITranscriber

MODEL, URL = "HANDOFF_VOICE_MODEL", "HANDOFF_VOICE_URL"
NAMES = (MODEL, URL, COMMAND)
_SECONDS = WORDS_WITHIN / 1000
_USUAL = "whisper-1"
_QUESTION = """
Voice messages can become words for the agent. By what?
  1. nothing: one line says that voice cannot be read
  2. a server with OpenAI's API of transcriptions, which gets the recordings
  3. a program on {machine}, which gets the path of a recording and prints the words"""


@dataclass(frozen=True)
class Voice:
    """What a person chose: variables of the service, and the key of a server."""

    settings: Mapping[str, str]
    key: str = field(default="", repr=False)

    def get(self, name: str) -> str | None:
        """As the `Secrets` port."""
        return self.key if name == KEY else None


def ask_about_voice(person: Person, machine: str, *, tries_program: bool = True) -> Voice | None:
    """What to store; None if voice stays as it is. A script is not asked. What is chosen is tried before it counts.

    `tries_program`: the program is to run on this machine.
    """
    if not person.may_ask:
        return None
    person.say(_QUESTION.format(machine=machine))
    for _ in range(TRIES):
        chosen = person.line("Number [1]: ")
        if chosen not in ("2", "3"):
            return None
        voice = (
            _server(person)
            if chosen == "2"
            else Voice({COMMAND: person.line("Command, such as whisper-file --language en: ")})
        )
        problem = next(_problems(voice, tries_program=tries_program), None)
        if problem is None:
            return voice
        person.say(f"  ✗ {problem}. Choose again, or 1 to leave it.")
    return None


def _server(person: Person) -> Voice:
    model = person.line(f"Model [{_USUAL}]: ") or _USUAL
    url = person.line("Base URL of the server [OpenAI's]: ")
    key = person.hidden("Key, if it needs one (it is not shown): ")
    return Voice({MODEL: model, **({URL: url} if url else {})}, key)


def _problems(voice: Voice, *, tries_program: bool) -> Iterator[str]:
    url, command = voice.settings.get(URL, ""), voice.settings.get(COMMAND)
    if url and not url.startswith(("http://", "https://")):
        yield "The base URL must begin with http:// or https://"
    transcriber: Transcriber = OpenAITranscriber(url, voice.settings.get(MODEL, ""), voice)
    if command is not None:
        try:
            words = shlex.split(command)
        except ValueError:
            words = []
        if not words:
            yield "That is no command, or has a quote that is not closed"
        if not tries_program:
            return
        transcriber = CommandTranscriber(words, os.environ)
    if problem := why_not_working(transcriber, seconds=_SECONDS):
        yield f"It was tried with a second of silence: {problem}"
