"""Transcripts in DynamoDB: packed chunks below the session, each written once."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shared.aws.chunks import pack, unpack
from shared.aws.tables import Tables, chunk_key, meta_key
from shared.aws.writes import Put, Refusal, Update, absent, equals, transact
from shared.domain.messages import Message
from shared.domain.sessions import Session
from shared.errors import Conflict

MAX_TRANSACTION_BYTES = 3 * 1024 * 1024
"""DynamoDB takes 4 MB; what is counted beside the chunks' data is far below the difference."""


def chunk_puts(table: str, session_id: str, first: int, messages: Sequence[Message]) -> list[Put]:
    """The writes that store `messages` behind the first `first`; each chunk is added if absent, never rewritten."""
    puts = []
    for count, data in pack(messages):
        item = {**chunk_key(session_id, first), "count": count, "data": data}
        puts.append(Put(table, item, [absent("pk")]))
        first += count
    return puts


def _transactions(chunks: Sequence[Put]) -> Iterator[Sequence[Put]]:
    """The chunks in runs that a transaction takes; at least one run, because an empty append still is a change."""
    run: list[Put] = []
    size = 0
    for chunk in chunks:
        if run and size + len(chunk.item["data"]) > MAX_TRANSACTION_BYTES:
            yield run
            run, size = [], 0
        run.append(chunk)
        size += len(chunk.item["data"])
    yield run


class DynamoTranscripts:
    """The `Transcripts` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def append(self, session: Session, messages: Sequence[Message], *, now: int) -> Session:
        """A transaction each for as many chunks as fit into one; a conflict between two leaves a shorter transcript whole."""
        chunks = chunk_puts(self._tables.sessions, session.id, session.message_count, messages)
        for batch in _transactions(chunks):
            session = self._append(session, batch, now=now)
        return session

    def _append(self, session: Session, chunks: Sequence[Put], *, now: int) -> Session:
        """META still as read (version), its count grown, the chunks added."""
        count = sum(chunk.item["count"] for chunk in chunks)
        grown = replace(
            session, message_count=session.message_count + count, version=session.version + 1, updated_at=now
        )
        meta = Update(
            self._tables.sessions,
            meta_key(session.id),
            when=[equals("version", session.version)],
            set={"message_count": grown.message_count, "version": grown.version, "updated_at": now},
        )
        try:
            transact(self._tables.client, [meta, *chunks])
        except Refusal:
            raise Conflict(f"session {session.id} changed meanwhile") from None
        return grown

    def load(self, session_id: str, *, after: int = 0, limit: int | None = None) -> Iterator[Message]:
        partition, start = f"SESSION#{session_id}", chunk_key(session_id, 0)["sk"]
        if after:
            upto = chunk_key(session_id, after)["sk"]
            holder = next(self._tables.query(partition, low=start, high=upto, backwards=True, limit=1), None)
            start = holder["sk"] if holder else start
        left = limit
        for row in self._tables.query(partition, low=start, high="CHUNK#~"):
            first = int(row["sk"].removeprefix("CHUNK#"))
            for message in unpack(row["data"])[max(0, after - first) :]:
                if left is not None:
                    if left <= 0:
                        return
                    left -= 1
                yield message
