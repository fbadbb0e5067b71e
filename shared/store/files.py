"""Files of sessions: one item each beside the bytes, and the room that they take of their user.

    expected ──(the bytes are there)──> stored ──(its time is over, or its session is deleted)──> leaving ──> removed

An item and what it counts are written and removed in one transaction, so the count is right after every crash. The bytes
are deleted while the item is leaving: nobody stores them anew in between.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.domain.files import StoredFile, safe_name, safe_type
from shared.domain.limits import Limits
from shared.domain.sessions import Session
from shared.errors import Conflict, FilesFull
from shared.ports.conditions import absent, at_least, at_most, either, equals, present
from shared.ports.tables import SESSIONS_DUE, Check, ConditionFailed, Delete, Item, Put, Table, Tables, Update, updated
from shared.store.due import FILE_SHARDS, due_items, file_shard
from shared.store.keys import FILE, file_key, meta_key, session_partition, usage_key
from shared.store.values import number_at, text_at, time_at
from shared.store.versions import VERSION, stamped

UPLOAD_TIME = 3_600_000
"""Milliseconds until a file whose bytes never came is forgotten."""


@dataclass(frozen=True)
class FileItem:
    """A file with its session. `due_at` is when the sweep removes it, or looks whether an expected one has come."""

    session_id: str
    user_id: str
    file: StoredFile
    due_at: int
    is_stored: bool = False
    is_leaving: bool = False

    @property
    def key(self) -> str:
        """Of its bytes."""
        return bytes_key(self.user_id, self.session_id, self.file.id)


def bytes_key(user_id: str, session_id: str, file_id: str) -> str:
    """The key of the bytes of a file, as the port `Files` takes it."""
    return f"{user_id}/{session_id}/{file_id}"


class SessionFiles:
    """The items of files. Every write may be repeated."""

    def __init__(self, tables: Tables, limits: Limits) -> None:
        self._tables = tables
        self._limit = limits.files_bytes

    def get(self, session_id: str, file_id: str) -> FileItem | None:
        item = self._tables.get(Table.SESSIONS, file_key(session_id, file_id))
        return _of(item) if item else None

    def of(self, session_id: str) -> list[FileItem]:
        """All files of a session."""
        return [_of(item) for item in self._tables.query(session_partition(session_id), low=FILE)]

    def due(self, *, now: int, limit: int) -> Sequence[FileItem]:
        """Files for the sweep, the earliest first. The list may lag by moments."""
        items = due_items(self._tables, SESSIONS_DUE, now=now, limit=limit, shards=FILE_SHARDS)
        return [_of(item) for item in items]

    def expect(self, session: Session, file: StoredFile, *, now: int) -> FileItem:
        """Count a file whose bytes will come. One that is there already stays as it is.

        Raises FilesFull, or Conflict if the session was deleted, the file is leaving, or others write at the same time.
        """
        found = FileItem(session.id, session.user_id, file, now + UPLOAD_TIME)
        has_room = either(absent("file_bytes"), at_most("file_bytes", self._limit - file.size))
        usage = Update(
            Table.SESSIONS,
            usage_key(session.user_id),
            when=[has_room] if self._limit else [],
            first={"v": VERSION},
            add={"file_bytes": file.size},
        )
        session_is_there = Check(
            Table.SESSIONS, meta_key(session.id), [present("pk"), equals("user_id", session.user_id)]
        )
        if self._limit and file.size > self._limit:
            raise FilesFull(self._limit)
        try:
            self._tables.transact([session_is_there, Put(Table.SESSIONS, _item(found), [absent("pk")]), usage])
        except ConditionFailed as failed:
            gone, known, full = failed.items
            if known and (earlier := _of(known)).is_leaving is False:
                return earlier
            if known:
                raise Conflict("an earlier copy of this file is being deleted") from None
            if gone is not None or full is None:
                raise Conflict(f"session {session.id} was deleted") from None
            raise FilesFull(self._limit) from None
        return found

    def stored(self, item: FileItem, *, until: int) -> bool:
        """Note that the bytes are there, and keep them `until` then. False if that was noted, or the file was removed."""
        key = file_key(item.session_id, item.file.id)
        when = [present("pk"), absent("leaving"), absent("stored")]
        return updated(self._tables, Update(Table.SESSIONS, key, when=when, set={"stored": True, "due_at": until}))

    def leave(self, item: FileItem, *, again_at: int) -> bool:
        """Let no one store or read it any more, from its state as read. `again_at`: the sweep repeats the removal."""
        when = [present("pk"), equals("due_at", item.due_at)]
        key = file_key(item.session_id, item.file.id)
        leaving = Update(Table.SESSIONS, key, when=when, set={"leaving": True, "due_at": again_at})
        return updated(self._tables, leaving)

    def remove(self, item: FileItem) -> None:
        """Forget a file that is leaving, and what it counts. Delete its bytes before."""
        removal = Delete(Table.SESSIONS, file_key(item.session_id, item.file.id), [present("leaving")])
        has_counted = at_least("file_bytes", item.file.size)
        counted = Update(
            Table.SESSIONS, usage_key(item.user_id), when=[has_counted], add={"file_bytes": -item.file.size}
        )
        try:
            self._tables.transact([removal, counted])
        except ConditionFailed as failed:
            if failed.items[0] is None:  # the user was removed, with the count
                with contextlib.suppress(ConditionFailed):
                    self._tables.delete(removal)


def moved_item(item: Item) -> Item:
    """An item of a stored file as it moves to other tables. Raises what cannot be read as one."""
    read = _of(item)
    file = replace(read.file, name=safe_name(read.file.name), media_type=safe_type(read.file.media_type))
    return {name: value for name, value in _item(replace(read, file=file)).items() if value is not None}


def _item(item: FileItem) -> Item:
    """Without `user_id` and `created_at`, which the index of sessions has."""
    values = {
        **file_key(item.session_id, item.file.id),
        "user": item.user_id,
        "name": item.file.name,
        "type": item.file.media_type,
        "size": item.file.size,
        "stored": item.is_stored or None,
        "leaving": item.is_leaving or None,
        "due_at": item.due_at,
        "due_shard": file_shard(item.file.id),
    }
    return {**stamped(values)}


def _of(item: Item) -> FileItem:
    file = StoredFile(
        item["sk"].removeprefix(FILE), text_at(item, "name", "file"), text_at(item, "type", ""), number_at(item, "size")
    )
    return FileItem(
        item["pk"].removeprefix("SESSION#"),
        text_at(item, "user", ""),
        file,
        time_at(item, "due_at"),
        is_stored=item.get("stored") is True,
        is_leaving=item.get("leaving") is True,
    )
