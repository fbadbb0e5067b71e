"""Transcripts: packed chunks beside the session, each written once."""

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from shared.domain.messages import Message
from shared.domain.sessions import Session
from shared.errors import Conflict, NewerVersion
from shared.ports.conditions import absent, equals
from shared.ports.tables import Check, ConditionFailed, Put, Table, Tables, Update
from shared.store.keys import chunk_key, meta_key, session_partition
from shared.store.versions import is_newer, stamped

MAX_CHUNKS_BYTES = 3 * 1024 * 1024
"""The chunks of one transaction, which takes 4 MB; everything beside them is far below the difference."""
MAX_CHUNK_BYTES = 350 * 1024
_RAW_TARGET = 1024 * 1024  # compressed at once; text shrinks to a quarter or less


def chunk_puts(session_id: str, first: int, messages: Sequence[Message]) -> list[Put]:
    """The writes that store `messages` from sequence number `first` on. A chunk is never rewritten."""
    puts = []
    for count, data in pack(messages):
        item = {**chunk_key(session_id, first), "count": count, "data": data}
        puts.append(Put(Table.SESSIONS, stamped(item), [absent("pk")]))
        first += count
    return puts


def _transactions(chunks: Sequence[Put]) -> Iterator[Sequence[Put]]:
    """The chunks in runs that fit into a transaction; at least one run, because an empty append is a change too."""
    run: list[Put] = []
    size = 0
    for chunk in chunks:
        if run and size + len(chunk.item["data"]) > MAX_CHUNKS_BYTES:
            yield run
            run, size = [], 0
        run.append(chunk)
        size += len(chunk.item["data"])
    yield run


class Transcripts:
    """The ordered messages of sessions, stored in chunks that are never rewritten."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def append(
        self,
        session: Session,
        messages: Sequence[Message],
        *,
        now: int,
        uploaded: int = 0,
        checks: Sequence[Check] = (),
    ) -> Session:
        """Add messages behind those that `session` had when it was read. Raises Conflict if it changed since.

        `uploaded` bytes of them count towards the user's limit. `checks` must hold, too.

        One transaction for as many chunks as fit. A conflict between two of them leaves a shorter, intact transcript.
        """
        chunks = chunk_puts(session.id, session.message_count, messages)
        for run in _transactions(chunks):
            session = self._append(session, run, now=now, uploaded=uploaded, checks=checks)
            uploaded = 0  # noted with the first transaction
        return session

    def _append(
        self, session: Session, chunks: Sequence[Put], *, now: int, uploaded: int, checks: Sequence[Check]
    ) -> Session:
        count = sum(chunk.item["count"] for chunk in chunks)
        grown = replace(
            session,
            message_count=session.message_count + count,
            version=session.version + 1,
            updated_at=now,
            uploaded_bytes=session.uploaded_bytes + uploaded,
            # What a terminal uploads is what the user's own agent there has seen.
            native_seen=session.message_count + count
            if session.runs_on and session.owner.is_cli
            else session.native_seen,
        )
        as_read = equals("version", session.version)
        meta = Update(
            Table.SESSIONS,
            meta_key(session.id),
            when=[as_read],
            set={
                "message_count": grown.message_count,
                "version": grown.version,
                "updated_at": now,
                **({"native_seen": grown.native_seen} if grown.native_seen != session.native_seen else {}),
            },
            add={"uploaded_bytes": uploaded} if uploaded else {},
        )
        try:
            self._tables.transact([meta, *chunks, *checks])
        except ConditionFailed:
            raise Conflict(f"session {session.id} changed since it was read") from None
        return grown

    def load(self, session_id: str, *, after: int = 0, limit: int | None = None) -> Iterator[Message]:
        """The messages behind the first `after`, in order."""
        partition, start = session_partition(session_id), chunk_key(session_id, 0)["sk"]
        if after:
            up_to = chunk_key(session_id, after)["sk"]
            holder = next(self._tables.query(partition, low=start, high=up_to, backwards=True, page=1), None)
            start = holder["sk"] if holder else start
        left = limit
        for row in self._tables.query(partition, low=start, high="CHUNK#~"):
            if is_newer(row):
                raise NewerVersion(f"the transcript of session {session_id}")
            first = int(row["sk"].removeprefix("CHUNK#"))
            for message in unpack(row["data"])[max(0, after - first) :]:
                if left is not None:
                    if left <= 0:
                        return
                    left -= 1
                yield message


def pack(messages: Sequence[Message]) -> list[tuple[int, bytes]]:
    """Split messages into runs and compress each: (how many, the bytes). No chunk is over the limit."""
    chunks: list[tuple[int, bytes]] = []
    run: list[bytes] = []
    size = 0
    for message in messages:
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        if run and size + len(line) > _RAW_TARGET:
            chunks += _fit(run)
            run, size = [], 0
        run.append(line)
        size += len(line) + 1
    return chunks + (_fit(run) if run else [])


def unpack(data: bytes) -> list[Message]:
    """The messages of one chunk."""
    text = zlib.decompress(data).decode("utf-8", "surrogatepass")
    return [json.loads(line) for line in text.split("\n")]


def _fit(lines: list[bytes]) -> list[tuple[int, bytes]]:
    data = zlib.compress(b"\n".join(lines), level=6)
    if len(data) <= MAX_CHUNK_BYTES or len(lines) == 1:
        return [(len(lines), data)]
    middle = len(lines) // 2
    return _fit(lines[:middle]) + _fit(lines[middle:])
