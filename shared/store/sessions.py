"""Sessions: one META item each, beside its chunks and journal."""

import base64
import contextlib
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from shared.domain.routes import Place
from shared.domain.runners import Runner
from shared.domain.sessions import Session
from shared.errors import Conflict
from shared.ports.conditions import absent, equals
from shared.ports.tables import SESSIONS_BY_USER, ConditionFailed, Item, Put, Table, Tables, Update
from shared.store.deletion import delete_contents, delete_handoffs
from shared.store.keys import meta_key, route_key
from shared.store.runners import unattended_as_read
from shared.store.session_items import item_of, readable_session

_CURSOR = re.compile(r"([0-9]{1,15}) ([A-Za-z0-9_-]{1,64})")


@dataclass(frozen=True)
class SessionPage:
    """Some sessions, newest first, and the cursor of the next page."""

    sessions: Sequence[Session]
    cursor: str | None


class Sessions:
    """Sessions without their transcripts. Reads are strongly consistent, except `list`, which may lag by moments.

    A client of the tables may retry a write whose answer was lost; the retry then fails on its own first write. So each
    whole write of a session carries a random `write_id`, and a failed write that finds its own id has succeeded.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def create(self, session: Session) -> bool:
        """Write a new session; False if its id is taken."""
        write_id = secrets.token_hex(8)
        item = {**item_of(session), "write_id": write_id}
        try:
            self._tables.put(Put(Table.SESSIONS, item, [absent("pk")]))
        except ConditionFailed as failed:
            return _was_written(failed, write_id)
        return True

    def get(self, session_id: str) -> Session | None:
        item = self._tables.get(Table.SESSIONS, meta_key(session_id))
        return readable_session(item) if item else None

    def replace(self, before: Session, after: Session, *, runner: Runner | None = None) -> Session:
        """Write `after` if the session is still as `before`; returns it with its new version. Raises Conflict.

        With a `runner`: also if the same agents of it are unattended as when it was read.

        Writes the difference only: what another version has stored beside it stays.
        """
        written = replace(after, version=before.version + 1)
        write_id = secrets.token_hex(8)
        old = item_of(before)
        changes = {name: value for name, value in item_of(written).items() if value != old[name]}
        write = Update(
            Table.SESSIONS,
            meta_key(before.id),
            when=[equals("version", before.version)],
            set={**changes, "write_id": write_id},
        )
        try:
            if runner is None:
                self._tables.update(write)
            else:
                self._tables.transact([write, unattended_as_read(runner)])
        except ConditionFailed as failed:
            if not _was_written(failed, write_id):
                raise Conflict(f"session {before.id} changed since it was read") from None
        return written

    def list(self, user_id: str, *, limit: int, cursor: str | None = None) -> SessionPage:
        after = _position(user_id, cursor) if cursor else None
        page = self._tables.index(SESSIONS_BY_USER, user_id, backwards=True, limit=limit, after=after)
        items = self._tables.get_many(Table.SESSIONS, [Table.SESSIONS.key_of(row) for row in page.rows])
        return SessionPage(
            sessions=[session for item in items if (session := readable_session(item)) and session.user_id == user_id],
            cursor=_cursor(page.next) if page.next else None,
        )

    def delete(self, session: Session, *, with_files: bool = False) -> None:
        """Remove the session and all its data. Safe to repeat. Raises Conflict if it changed since it was read.

        Its files stay, because they count for their user, unless the user goes `with_files`.

        The epoch grows first, so that writers in flight fail; META goes last, so that a crash can be repeated.
        """
        self._end(session)
        delete_contents(self._tables, session, with_files=with_files)
        delete_handoffs(self._tables, session.user_id, session=session)
        self._tables.delete_all(Table.SESSIONS, [meta_key(session.id)])

    def delete_all_of(self, user_id: str) -> None:
        """Remove every session of a user with all its data, whatever is under way, and all handoffs. Safe to repeat.

        Pass by pass until none is found: a request that was accepted before may still create one.
        """
        while found := list(self._all_of(user_id)):
            for session in found:
                with contextlib.suppress(Conflict):  # found again by the next pass
                    self.delete(session, with_files=True)
        delete_handoffs(self._tables, user_id)

    def _end(self, session: Session) -> None:
        try:
            self.replace(session, replace(session, epoch=session.epoch + 1, owner=session.cli, turn=None))
        except Conflict:
            if self.get(session.id) is not None:
                raise

    def _all_of(self, user_id: str) -> Iterator[Session]:
        cursor: str | None = None
        while True:
            page = self.list(user_id, limit=100, cursor=cursor)
            yield from page.sessions
            if (cursor := page.cursor) is None:
                return

    def at(self, place: Place) -> str | None:
        """The id of the session that this place's route points to; the session may live elsewhere (see its owner)."""
        item = self._tables.get(Table.SESSIONS, route_key(place))
        return item["session_id"] if item else None


def _was_written(failed: ConditionFailed, write_id: str) -> bool:
    current = failed.items[0]
    return current is not None and current.get("write_id") == write_id


def _cursor(row: Item) -> str:
    """A position in the `by_user` index, without the user: it is of no use to another user."""
    session_id = row["pk"].removeprefix("SESSION#")
    return base64.urlsafe_b64encode(f"{row['created_at']} {session_id}".encode()).decode()


def _position(user_id: str, cursor: str) -> Item:
    """The position that a cursor stands for. Raises ValueError for a text that is not a cursor."""
    named = _CURSOR.fullmatch(base64.urlsafe_b64decode(cursor).decode())
    if named is None:
        raise ValueError("not a cursor")
    return {**meta_key(named[2]), "user_id": user_id, "created_at": int(named[1])}
