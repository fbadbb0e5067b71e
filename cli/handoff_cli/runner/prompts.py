"""Prompts for the agent: the user's messages, those that it missed, and a note after an interruption."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from handoff_cli.errors import CliError
from handoff_cli.readers import READERS
from handoff_cli.readers.read import read_session
from handoff_cli.readers.source import Source
from handoff_cli.transcripts.messages import Message
from handoff_cli.ui.messages import text_of

MISSED_LIMIT = 128 * 1024
_MISSED_MESSAGE = 8 * 1024
_MISSED_TOOL = 300

GO_ON = (
    "[Handoff: you were interrupted while you answered my last message. Go on where you stopped. Check what is done "
    "already before you repeat a step, then answer.]"
)
INTERRUPTED = (
    "[Handoff: you were interrupted earlier, and a step may have been done already. Check before you repeat one. "
    "My message:]"
)
MISSED = "[Handoff: this was said in the chat while another model answered there in your place; you have not seen it:]"
MISSED_CUT = "[… earlier messages are left out]"
END_OF_MISSED = "[Handoff: end of what you missed. My message:]"

Word = Mapping[str, Any]


def first_prompt(
    words: Sequence[Word],
    *,
    missed: Sequence[Message],
    given: Sequence[bool],
    interrupted: bool,
    answers: Sequence[Word] = (),
) -> str:
    """The prompt for claimed words. `given` says for each word whether the native session has it already.

    `answers` are those to questions of an interrupted run, some of them words of the claim.
    """
    notes = {answer["words"]: note_of(answer) for answer in answers if answer.get("words")}
    new = [
        "\n\n".join(filter(None, (notes.get(word["id"]), str(word["text"]))))
        for word, known in zip(words, given, strict=True)
        if not known
    ]
    parts: list[str] = []
    if missed:
        parts += [MISSED, _missed(missed), END_OF_MISSED]
    if interrupted:
        parts += [note_of(answer) for answer in answers if not answer.get("words")]
        parts.append(INTERRUPTED if new else GO_ON)
    return "\n\n".join([*parts, *new])


def note_of(answer: Word) -> str:
    """What the agent is told of an answer to a question that it asked before it was interrupted."""
    if answer.get("words"):
        return f"[Handoff: my next words answer your question “{answer['question']}”, which you asked before that:]"
    return f"[Handoff: you asked me “{answer['question']}” before that. My answer: {answer['answer']}]"


def already_given(words: Sequence[Word], said: Sequence[str], *, since: int = 0) -> list[bool]:
    """Which words are in what the user said last in the native session: each as one paragraph or more, in order.

    `since`: how often the user may have said something else after them. A request to go on holds no words, so it pushes
    none out of sight: an agent may be interrupted more than once.
    """
    spoken = [text for text in said if not text.rstrip().endswith(GO_ON)]
    last = [f"\n\n{text.strip()}\n\n" for text in spoken[-(len(words) + since) :]] if words else []
    found: list[bool] = []
    at = 0
    for word in words:
        mark = f"\n\n{str(word['text']).strip()}\n\n"
        place = next((index for index in range(at, len(last)) if mark in last[index]), None)
        found.append(place is not None)
        at = at if place is None else place
    return found


def said_by_user(agent: str, native_id: str, directory: Path, environ: Mapping[str, str]) -> list[str] | None:
    """The user's messages in the native session, as the agent stored them; None if it cannot be read."""
    if agent not in READERS:
        return None
    try:
        transcript = read_session(agent, Source(directory, environ, session=native_id))
    except (CliError, OSError):
        return None
    return [text_of(message.get("content")) for message in transcript.messages if message["role"] == "user"]


def _missed(messages: Sequence[Message]) -> str:
    """The newest messages that fit, each with its role."""
    lines: list[str] = []
    room = MISSED_LIMIT
    for message in reversed(messages):
        line = _line(message)
        room -= len(line.encode("utf-8", "replace")) + 2
        if room < 0:
            lines.append(MISSED_CUT)
            break
        lines.append(line)
    return "\n\n".join(reversed(lines))


def _line(message: Message) -> str:
    role = {"user": "Me", "assistant": "The other model", "tool": "A tool"}.get(str(message.get("role")), "Note")
    limit = _MISSED_TOOL if message.get("role") == "tool" else _MISSED_MESSAGE
    text = text_of(message.get("content")).strip() or "(used tools)"
    return f"{role}: {text if len(text) <= limit else text[:limit] + ' [… cut]'}"
