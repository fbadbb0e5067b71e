"""Upload a session and its transcript, in pieces below the service's limit for a request."""

import uuid
from collections.abc import Callable, Iterator

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.transcripts.messages import Message, Transcript, encode

_PIECE_BYTES = 384 * 1024
_PIECE_MESSAGES = 500


def new_session(
    service: Service,
    transcript: Transcript,
    *,
    title: str | None,
    cwd: str,
    session_id: str | None = None,
    runs_on: Json | None = None,
) -> Json:
    """Create an empty session for the transcript; `runs_on` names the machine and agent that answer in it."""
    about = {
        "title": title,
        "source": transcript.source or "cli",
        "cwd": (transcript.cwd or cwd)[:4096],
        "model": transcript.model[:200] if transcript.model else None,
        "runs_on": runs_on,
    }
    return service.put_session(
        session_id or uuid.uuid4().hex, {key: value for key, value in about.items() if value is not None}
    )


def upload(service: Service, session: Json, messages: list[Message], *, progress: Callable[[int], None]) -> Json:
    """Store all messages in order and return the updated session. Retries store nothing twice."""
    stored = int(session["message_count"])
    answer: Json = {}
    for piece in _pieces(messages):
        body = b'{"epoch":%d,"after":%d,"messages":[%s]}' % (session["epoch"], stored, b",".join(piece))
        answer = service.append(session["id"], body)
        stored += len(piece)
        progress(stored)
    return {**session, **answer}


def _pieces(messages: list[Message]) -> Iterator[list[bytes]]:
    """Encoded messages in groups far below the service's limit of 1 MiB."""
    piece: list[bytes] = []
    total = 0
    for encoded in map(encode, messages):
        if piece and (total + len(encoded) > _PIECE_BYTES or len(piece) >= _PIECE_MESSAGES):
            yield piece
            piece, total = [], 0
        piece.append(encoded)
        total += len(encoded) + 1
    if piece:
        yield piece
