"""Upload a transcript, in pieces below the service's limit for a request."""

import json
from collections.abc import Callable, Iterable, Iterator

from handoff_cli.api.client import Service
from handoff_cli.api.transport import Json
from handoff_cli.transcripts.messages import Message, encode

_PIECE_BYTES = 384 * 1024
_PIECE_MESSAGES = 500


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


def pieces(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """The messages in groups of that size."""
    for piece in _pieces(list(messages)):
        yield [json.loads(message) for message in piece]


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
