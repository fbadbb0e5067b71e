"""A file with many sessions, handoffs and messages, as years of use leave it; written without the service, to be quick."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.server.directory import DataDirectory
from shared.domain.handoffs import Handoff, State, Step
from shared.domain.routes import Place
from shared.domain.sessions import new_session
from shared.ports.tables import MAX_WRITES, Put, Table
from shared.sqlite.database import Database
from shared.sqlite.tables import SqliteTables
from shared.store.handoff_items import item_of as handoff_item
from shared.store.keys import back_route_key, chunk_key, route_key
from shared.store.session_items import item_of as session_item
from shared.store.transcripts import pack
from shared.store.versions import stamped

NOW = 1_750_000_000_000
USER = "owner"


@dataclass(frozen=True)
class Size:
    sessions: int
    messages_each: int = 10

    @property
    def messages(self) -> int:
        return self.sessions * self.messages_each

    def __str__(self) -> str:
        return f"a file with {self.sessions:,} sessions and {self.messages:,} messages"


SMALL, LARGE = Size(10_000), Size(100_000)


def fill(directory: Path, size: Size) -> None:
    """All of them belong to one user, and each session lives in a thread."""
    data = DataDirectory(directory)
    data.create()
    database = Database(data.database)
    words = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"message {n} " * 20} for n in range(10)]
    (chunk,) = pack(words[: size.messages_each])
    tables = SqliteTables(database)
    writes = (write for number in range(size.sessions) for write in _writes(number, chunk))
    while batch := list(itertools.islice(writes, MAX_WRITES)):
        tables.transact(batch)
    database.close()


def _writes(number: int, chunk: tuple[int, bytes]) -> Iterator[Put]:
    yield Put(Table.HANDOFFS, _handoff(number))
    for item in _session(number, chunk):
        yield Put(Table.SESSIONS, item)


def _place(number: int) -> Place:
    return Place("telegram", "7001", str(1_000_000 + number))


def _session(number: int, chunk: tuple[int, bytes]) -> Iterator[Mapping[str, Any]]:
    count, data = chunk
    session_id, place = f"filler-{number:07}", _place(number)
    session = new_session(session_id, USER, now=NOW + number)
    yield {**session_item(session), "title": f"Session {number}", "owner": place.route, "message_count": count}
    yield stamped({**chunk_key(session_id, 0), "count": count, "data": data})
    yield stamped({**route_key(place), "session_id": session_id})
    yield stamped(back_route_key(session_id, place))


def _handoff(number: int) -> Mapping[str, Any]:
    at = NOW + number
    handoff = Handoff(
        id=f"filler-{number:07}",
        session_id=f"filler-{number:07}",
        user_id=USER,
        platform="telegram",
        target=Place("telegram", "7001"),
        origin=_place(number),
        request_epoch=0,
        body_hash="",
        state=State.COMPLETED,
        deadline=at + 900_000,
        created_at=at,
        updated_at=at,
        steps={step.value: at for step in Step},
    )
    return {**handoff_item(handoff, due_at=at), "due_shard": None, "due_at": None}
