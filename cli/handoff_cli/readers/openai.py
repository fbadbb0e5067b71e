"""OpenAI-style messages: an array, a request with "messages", or one message per line; named with --transcript."""

from dataclasses import replace
from io import BytesIO

from handoff_cli.errors import UsageProblem
from handoff_cli.readers.source import Source
from handoff_cli.transcripts.file import read_transcript
from handoff_cli.transcripts.messages import Message, Transcript

_ROLES = {"developer": "system", "function": "tool"}


def read(source: Source) -> Transcript:
    """The messages of the named file, with newer and older role names mapped to ours."""
    if source.path is None or source.session:
        raise UsageProblem("Such a file has no session ids. Use --from openai --transcript FILE.")
    transcript = read_transcript(str(source.path), BytesIO(), roles=_ROLES)
    return replace(transcript, messages=[_without_nulls(message) for message in transcript.messages])


def _without_nulls(message: Message) -> Message:
    """Client libraries write unset fields as null; only `content` may be null on purpose."""
    return {key: value for key, value in message.items() if value is not None or key == "content"}
