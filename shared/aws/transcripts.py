"""Transcripts in DynamoDB: packed chunks below the session, each written once."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from shared.aws.chunks import pack, unpack
from shared.aws.tables import Tables, chunk_key, meta_key
from shared.aws.writes import Put, Refusal, Update, Write, absent, equals, transact
from shared.domain.messages import Message
from shared.domain.sessions import Session
from shared.errors import Conflict


def chunk_puts(table: str, session_id: str, first: int, messages: Sequence[Message]) -> list[Put]:
    """The writes that store `messages` behind the first `first`; each chunk is added if absent, never rewritten."""
    puts = []
    for count, data in pack(messages):
        item = {**chunk_key(session_id, first), "count": count, "data": data}
        puts.append(Put(table, item, [absent("pk")]))
        first += count
    return puts


class DynamoTranscripts:
    """The `Transcripts` port."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def append(self, session: Session, messages: Sequence[Message], *, now: int) -> Session:
        """One transaction: META still as read (version), its count grown, the chunks added."""
        grown = replace(
            session, message_count=session.message_count + len(messages), version=session.version + 1, updated_at=now
        )
        meta = Update(
            self._tables.sessions,
            meta_key(session.id),
            when=[equals("version", session.version)],
            set={"message_count": grown.message_count, "version": grown.version, "updated_at": now},
        )
        chunks = chunk_puts(self._tables.sessions, session.id, session.message_count, messages)
        writes: list[Write] = [meta, *chunks]
        try:
            transact(self._tables.client, writes)
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
